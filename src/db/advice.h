/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_ADVICE_H
#define RLK_DB_ADVICE_H

/* The advice that a refusal gets. */

#include <stdbool.h>
#include <stddef.h>

struct rlk_conn;
struct rowlock_errinfo;

/** The server has refused what a client needs, by @code. Ask it on @conn for
 *  the reason, and write a better advice to @reterr. Returns @code. */
int rlk_advise(struct rlk_conn *conn, int code, struct rowlock_errinfo *reterr);

/** Has the account a role that is not active? Write its name to @role, of
 *  @size bytes, if the server says so. */
bool rlk_idle_role(struct rlk_conn *conn, char *role, size_t size);

/** Is it one that each server has, for itself? */
bool rlk_is_servers_database(const char *name);

#endif
