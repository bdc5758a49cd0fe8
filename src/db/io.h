/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_IO_H
#define RLK_DB_IO_H

/* Calls of Connector/C that wait, up to a deadline. */

#include "db/conn_private.h"

/**
 * Start @call, or resume it if it is suspended. True: it has finished. False:
 * the deadline or an interrupt has come, and it is suspended. A resumed call
 * always reads the data that is there already.
 */
bool rlk_io_run(struct rlk_conn *conn, enum rlk_call call);

/** End a suspended call without waiting and without sending anything. */
void rlk_io_abandon(struct rlk_conn *conn);

/** Sleep for @ms, at most until the deadline or an interrupt (false). */
bool rlk_io_sleep(struct rlk_conn *conn, int ms);

/** Once per process, before the first connection. */
void rlk_io_init(void);

/** The connection whose call runs on this thread, NULL if none does. */
struct rlk_conn *rlk_io_current(void);

/** Leave nothing in OpenSSL's queue of errors of this thread, neither for our
 *  other connections nor for the application's. */
void rlk_io_forget_errors(const struct rlk_conn *conn);

/** Let Connector/C's own waits (the TLS handshake) follow our deadlines. False:
 * out of memory. */
bool rlk_io_hook(MYSQL *mysql);

#endif
