/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_BORROWED_SCRIPT_H
#define RLK_DB_BORROWED_SCRIPT_H

/* Texts on a connection of the application's. */

#include "db/borrowed.h"

/** rlk_borrowed_ready(), and the state that the server reports. Takes a round
 *  trip, and may fail as one, where the driver does not know the state. Blocks
 *  as the application's own statements do if @on has no clock. */
int rlk_borrowed_look(const struct rlk_borrowed *on,
		      struct rlk_borrowed_state *ret_state,
		      struct rowlock_errinfo *reterr);

/** Keep @on in one session: if the driver reconnects by itself, it does so now,
 *  if it has to, by a round trip, and not again before
 *  rlk_borrowed_let_reconnect(). *@ret_reconnects: it did. As
 *  rlk_borrowed_look(). */
int rlk_borrowed_pin(const struct rlk_borrowed *on, bool *ret_reconnects,
		     struct rowlock_errinfo *reterr);

/** The number that its last statement has told by LAST_INSERT_ID(expression),
 * or 0 if that has changed no row. Takes a round trip where the number did not
 *  come beside the answer. Fails as rlk_borrowed_run(). */
enum rlk_fault rlk_borrowed_number(const struct rlk_borrowed *on,
				   uint64_t *ret_number,
				   struct rowlock_errinfo *reterr);

/** rlk_borrowed_run() with a script, which is empty then; ROWLOCK_ENOMEM: it
 *  failed. */
enum rlk_fault rlk_borrowed_run_script(const struct rlk_borrowed *on,
				       struct rlk_script *script,
				       uint64_t *ret_numbers, size_t most,
				       size_t *ret_answered,
				       struct rowlock_errinfo *reterr);

/** Run @text, one statement that restores the session; again if a KILL QUERY or
 *  a second 1213 of Galera meets it. A session that cannot be restored is
 *  closed, as if by the server. */
enum rlk_fault rlk_borrowed_insist(const struct rlk_borrowed *on,
				   const char *text,
				   struct rowlock_errinfo *reterr);

/** Roll back, and restore @autocommit: otherwise what the application does next
 *  would be lost, or committed. Insists. */
enum rlk_fault rlk_borrowed_roll_back(const struct rlk_borrowed *on,
				      enum rlk_autocommit autocommit,
				      struct rowlock_errinfo *reterr);

#endif
