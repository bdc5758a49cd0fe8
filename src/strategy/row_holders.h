/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_ROW_HOLDERS_H
#define RLK_STRATEGY_ROW_HOLDERS_H

/*
 * The holders of rows of business_lock, as the server reports them: MySQL all
 * of them, to an account that may read performance_schema; MariaDB those that
 * somebody waits for, to one that has PROCESS.
 */

#include "db/conn.h"

/** A transaction that has locked the row of @name. */
struct rlk_row_holder {
	char *name;
	char *host;
	char *since; /* UTC; "" if the server does not tell */
	uint64_t held_ms;
	uint64_t connection; /* its number on the server */
};

struct rlk_row_holders {
	struct rlk_row_holder *list; /* in the order of names */
	size_t count;
	size_t size;
	bool complete; /* what is not here nobody has locked */
	bool no_memory;
};

/**
 * Ask the server. Fills @ret_holders, which was all zero. An account that may
 * not ask gets no holders: RLK_DONE. No mutex held, may block until @conn's
 * deadline.
 */
enum rlk_fault rlk_row_holders_read(struct rlk_conn *conn,
				    struct rlk_row_holders *ret_holders,
				    struct rowlock_errinfo *reterr);

/** NULL if no known transaction has locked it. */
const struct rlk_row_holder *rlk_row_holders_find(
    const struct rlk_row_holders *holders, const char *name);

/** The name in a row as InnoDB shows it, the host of a connection as the server
 *  does; to be freed. NULL: no memory, or the name is not shown whole. */
char *rlk_row_shown_name(const struct rlk_value *shown);
char *rlk_shown_host(const struct rlk_value *shown);

/** Also for _cleanup_. */
void rlk_row_holders_fini(struct rlk_row_holders *holders);

#endif
