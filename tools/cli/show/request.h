/* SPDX-License-Identifier: MIT */
#ifndef CLI_REQUEST_SHOWN_H
#define CLI_REQUEST_SHOWN_H

/*
 * Shows a request to give a lease back (rowlock_revoke()), and its answer.
 */

#include <rowlock/admin.h>
#include <stdbool.h>

/** An answer in words, as of "the holder ...". */
const char *request_word(enum rowlock_answer answer);

/** Is @asked a request for the hold of @entry? */
bool request_is_for(const struct rowlock_revocation *asked,
		    const struct rowlock_entry *entry);

/** The request as a member of a JSON object on stdout, behind a comma. */
void request_put_json(const struct rowlock_revocation *asked);

/** The request as "key: value" lines on stdout. */
void request_put_lines(const struct rowlock_revocation *asked);

#endif
