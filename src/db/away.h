/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_AWAY_H
#define RLK_DB_AWAY_H

/*
 * The errors by which a server says that it does not serve now. They pass by
 * themselves, or by what somebody does to the server: nothing of the
 * statement, the account or the tables has to change.
 */

#include <stdbool.h>

#include "db/fault.h"

/**
 * Does @number say that the server is away for now?
 *
 * @ret_fault  the class of it: RLK_REFUSED, or RLK_UNKNOWN where the connection
 *             ends, or the statement may have been done
 * @ret_code   ROWLOCK_ECONNECT, or ROWLOCK_EREADONLY of one that only reads
 */
bool rlk_away(unsigned int number, enum rlk_fault *ret_fault, int *ret_code);

#endif
