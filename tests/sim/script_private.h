/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_SCRIPT_PRIVATE_H
#define ROWLOCK_SIM_SCRIPT_PRIVATE_H

/*
 * Between those that execute the texts of the application's connections:
 * script.c says which does what.
 */

#include "script.h"

/** Its statement is on a table: that begins a transaction. */
void sim_script_touch(struct sim_session *session);
/** It answers with @number. */
void sim_script_tell(struct sim_session *session, uint64_t number);

/* inside_rows.c; the first four execute @said, and return the error. */
unsigned int sim_inside_lock(struct sim_session *session,
			     const struct sim_said *said);
unsigned int sim_inside_draw(struct sim_session *session,
			     const struct sim_said *said);
unsigned int sim_resource_pass(struct sim_session *session,
			       const struct sim_said *said);
unsigned int sim_resource_look(struct sim_session *session,
			       const struct sim_said *said);
/** Does the transaction have what @said is about, a row or a resource? */
bool sim_inside_has(const struct sim_session *session,
		    const struct sim_said *said);
/** Does @said wait? If not it may have been refused: request.refuse. */
bool sim_inside_holds_up(struct sim_session *session,
			 const struct sim_said *said);
/** The transaction is committed: its token, and its pass. */
void sim_inside_apply(struct sim_session *session);
/** The transaction is over: its row, token, floor and resource are free. */
void sim_inside_release(struct sim_session *session);

#endif
