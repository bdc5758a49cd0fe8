/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_TABLES_PRIVATE_H
#define ROWLOCK_SIM_TABLES_PRIVATE_H

/*
 * Between those that execute statements: tables.c says which does what.
 */

#include "net.h"
#include "tables.h"

/** One more row of an answer that has so many columns. */
static inline struct rlk_value *sim_answer_row(struct sim_answer *answer,
					       unsigned int columns)
{
	size_t used = (size_t) answer->rows * columns;

	sim_answer_reserve(answer, used + columns);
	answer->columns = columns;
	answer->rows++;
	return &answer->cells[used];
}

static inline struct rlk_value sim_signed(int64_t number)
{
	return (struct rlk_value){ .type = RLK_I64, .i64 = number };
}

/* leases.c; each executes the request of @session. */
void sim_leases_begin(void);
void sim_lease_acquire(struct sim_session *session);
void sim_lease_look(struct sim_session *session);
void sim_lease_confirm(struct sim_session *session);
/** All of them: nobody lists by a pattern here. */
void sim_lease_list(struct sim_session *session);
void sim_leases_of(struct sim_session *session);
void sim_leases_dead(struct sim_session *session);
void sim_lease_present(struct sim_session *session);
void sim_lease_delete(struct sim_session *session);

#endif
