/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_BORROWED_H
#define RLK_DB_BORROWED_H

/*
 * A connection of the application's, for the time of one call: texts are said
 * on it, with a deadline. Of its state nothing is known and nothing is ours.
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
};

/** Can statements be said on it? It is connected, and nothing is under way.
 *  Makes it ready for calls with a deadline. 0, or ROWLOCK_ECONNECT,
 *  ROWLOCK_EINVAL, ROWLOCK_ENOMEM. Sends nothing. */
int rlk_borrowed_ready(const struct rlk_borrowed *on,
		       struct rowlock_errinfo *reterr);

/** What statements meet on it. */
struct rlk_borrowed_state {
	bool in_transaction;
	bool autocommits; /* outside of one, each statement commits by itself */
};

/** What its last answer said. False: the driver does not have the flags of that
 *  answer, since it was an error, or one whose flags the driver does not read,
 *  and these are of an earlier one: rlk_borrowed_look() asks then. */
bool rlk_borrowed_recall(const struct rlk_borrowed *on,
			 struct rlk_borrowed_state *ret_state);

/** Does the driver connect it anew by itself where it was closed? What follows
 *  is said to another session then, outside of all transactions. */
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
 * Say @text, of one or more statements, and read all answers. *@ret_answered of
 * them were no errors; of the first @most, the first column of the first row
 * is in @ret_numbers (0: it has none).
 *
 * RLK_DONE: none was. Else the fault of the statement behind those that were
 * answered; what follows it was not executed. RLK_UNKNOWN: no answer in time,
 * and the connection is closed. @reterr says "<words> on <host>".
 */
enum rlk_fault rlk_borrowed_run(const struct rlk_borrowed *on, const char *text,
				uint64_t *ret_numbers, size_t most,
				size_t *ret_answered,
				struct rowlock_errinfo *reterr);

/** As if by the server: whatever is said on it next fails. */
void rlk_borrowed_close(const struct rlk_borrowed *on);

/** What autocommit is behind a rollback. */
enum rlk_autocommit {
	RLK_AUTOCOMMIT_OFF,
	RLK_AUTOCOMMIT_ON,
	RLK_AUTOCOMMIT_AS_IT_IS, /* it was never changed */
};

/** Say a script of one statement, as the application would: it blocks as long
 * as the connection's own time-outs allow. The first column of the first row is
 * in
 *  *@ret_number (0: there is none). The script is empty then. */
enum rlk_fault rlk_borrowed_say_script(const struct rlk_borrowed *on,
				       struct rlk_script *script,
				       uint64_t *ret_number,
				       struct rowlock_errinfo *reterr);

#endif
