/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_WAITING_H
#define RLK_STRATEGY_WAITING_H

/*
 * The lines of the server, for people: which connections wait, for which bell
 * or row, since when. A bell does not tell its name: for that the caller makes
 * the bells of the names that it knows (rlk_bell_named()).
 *
 * A statement that may wait tells its program by a comment (stmt.h), and
 * MariaDB shows a bell by the text of rlk_bell_wait() only: there the statement
 * has to be said as a text, and to begin with the bell.
 */

#include <stdio.h>

#include "db/conn.h"

/** A connection that waits, or has a bell. */
struct rlk_standing {
	char *line;    /* a bell, or that of rlk_waiting_row() */
	size_t order;  /* in which the server told of it */
	bool has_bell; /* it does not wait in this line */
	char *program; /* "" if unknown, */
	char *host;    /* else as the program calls it, not the server */
	unsigned int pid;
	char *since; /* UTC; "" if the server does not tell */
	uint64_t waited_ms;
	uint64_t connection;
};

/** Why a list may lack some. */
enum rlk_waiting_blind {
	RLK_WAITING_SEEN = 0,
	RLK_WAITING_DENIED,  /* others are not shown to this account */
	RLK_WAITING_OFF,     /* the server does not record it */
	RLK_WAITING_UNNAMED, /* for a row whose name is not shown whole */
};

struct rlk_waiting {
	struct rlk_standing *list; /* by line, then in order */
	size_t count;
	size_t size;
	enum rlk_waiting_blind blind; /* the list may lack some */
	bool no_memory;
};

/** Ask the server. Fills @ret_waiting, which was all zero. No mutex held, may
 *  block until @conn's deadline. */
enum rlk_fault rlk_waiting_read(struct rlk_conn *conn,
				struct rlk_waiting *ret_waiting,
				struct rowlock_errinfo *reterr);

/** Who has @bell, where the list leaves that out? *@ret_owner, to be ended by
 *  rlk_standing_fini(), has no connection if nobody has it or this account is
 *  not told. */
enum rlk_fault rlk_waiting_owner(struct rlk_conn *conn, const char *bell,
				 struct rlk_standing *ret_owner,
				 struct rowlock_errinfo *reterr);

/** Room for the line of a row. */
struct rlk_row_line {
	char text[1 + 100 * 4 + 1];
};

/** No name of a row is a bell. */
static inline struct rlk_row_line rlk_waiting_row(const char *name)
{
	struct rlk_row_line line;

	snprintf(line.text, sizeof(line.text), "=%s", name);
	return line;
}

/** The first of @line, and their number. */
size_t rlk_waiting_find(const struct rlk_waiting *waiting, const char *line,
			const struct rlk_standing **ret_first);

/** Also for _cleanup_. */
void rlk_standing_fini(struct rlk_standing *standing);
void rlk_waiting_fini(struct rlk_waiting *waiting);

#endif
