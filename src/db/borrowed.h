/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_BORROWED_H
#define RLK_DB_BORROWED_H

/*
 * A connection of the application's, for the time of one call: runs texts on
 * it, with a deadline. Its state is unknown, and none of it is ours.
 *
 * One thread at a time, the application's.
 */

#include <rowlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "db/fault.h"

struct rlk_script;
struct st_mysql;

/** Ends what is waited for before the connection has to be ended. */
struct rlk_interrupter {
	int wake; /* a descriptor: when it can be read, it is time */
	/* Called then, or at the deadline, and again whenever the time has come
	 * that it has returned; 0: the connection is to be closed. */
	int64_t (*interrupt)(void *arg);
	void *arg;
};

struct rlk_borrowed {
	struct st_mysql *mysql;
	const struct rlk_clock *clock;
	int64_t until_ms;
	const struct rlk_interrupter *interrupter; /* NULL: none */
	bool *rows_stay; /* set by a rollback of which the server warns that it
			    is none for some tables; NULL: nobody asks */
	bool *closed;    /* set when it is closed on this side, as after an
			    answer that did not come; NULL: nobody asks */
};

/** Can the connection take statements? It is connected, and nothing is under
 *  way. Makes it ready for calls with a deadline. Returns 0, or
 *  ROWLOCK_ECONNECT, ROWLOCK_EINVAL, ROWLOCK_ENOMEM. Sends nothing. */
int rlk_borrowed_ready(const struct rlk_borrowed *on,
		       struct rowlock_errinfo *reterr);

/** The state that statements meet on it. */
struct rlk_borrowed_state {
	bool in_transaction;
	bool autocommits; /* outside of one, each statement commits by itself */
};

/** Read the state from the last answer. Returns false if the driver does not
 *  have the flags of that answer (an error, or one whose flags it does not
 *  read) but those of an earlier one: call rlk_borrowed_look() then. */
bool rlk_borrowed_recall(const struct rlk_borrowed *on,
			 struct rlk_borrowed_state *ret_state);

/** Does the driver reconnect by itself? The next statements then run in another
 *  session, outside of all transactions. */
bool rlk_borrowed_reconnects(const struct rlk_borrowed *on);

/** Let it, or do not. Sends nothing. */
void rlk_borrowed_let_reconnect(const struct rlk_borrowed *on, bool let);

/** Its number on the server: another one after a reconnect. */
uint64_t rlk_borrowed_id(const struct rlk_borrowed *on);

/** Did the server warn of @number with its last answer? A round trip if it did
 *  of anything. */
bool rlk_borrowed_warned(const struct rlk_borrowed *on, unsigned int number);

/** How many rows its last statement has changed, and what came beside that
 *  answer as LAST_INSERT_ID(): 0 where the table has a trigger, whatever the
 *  statement has said. */
uint64_t rlk_borrowed_affected(const struct rlk_borrowed *on);
uint64_t rlk_borrowed_insert_id(const struct rlk_borrowed *on);

/** Are texts of UTF-8 read as such on it? As the driver knows: not where the
 *  application has said SET NAMES by itself. */
bool rlk_borrowed_speaks_utf8(const struct rlk_borrowed *on);

/** The server, as messages call it. */
const char *rlk_borrowed_host(const struct rlk_borrowed *on);

/** Allow several statements in one text, or forbid them. A round trip. */
enum rlk_fault rlk_borrowed_allow_several(const struct rlk_borrowed *on,
					  bool allow,
					  struct rowlock_errinfo *reterr);

/**
 * Run @text, one or more statements, and read all answers. *@ret_answered
 * counts those that were no errors. @ret_numbers has the first column of the
 * first row of the first @most of them (0: no row).
 *
 * RLK_DONE if none was an error, else the fault of the first that was; the
 * statements after it were not executed. RLK_UNKNOWN: no answer in time, and
 * the connection is closed. @reterr says "<words> on <host>".
 */
enum rlk_fault rlk_borrowed_run(const struct rlk_borrowed *on, const char *text,
				uint64_t *ret_numbers, size_t most,
				size_t *ret_answered,
				struct rowlock_errinfo *reterr);

/** Close it as the server would: its next statement fails. */
void rlk_borrowed_close(const struct rlk_borrowed *on);

/** The value of autocommit after a rollback. */
enum rlk_autocommit {
	RLK_AUTOCOMMIT_OFF,
	RLK_AUTOCOMMIT_ON,
	RLK_AUTOCOMMIT_AS_IT_IS, /* it was never changed */
};

/** Run a script of one statement as the application would: it blocks as long as
 *  the connection's own time-outs allow. *@ret_number is the first column of
 *  the first row, 0 if there is no row. The script is empty afterwards. */
enum rlk_fault rlk_borrowed_say_script(const struct rlk_borrowed *on,
				       struct rlk_script *script,
				       uint64_t *ret_number,
				       struct rowlock_errinfo *reterr);

#endif
