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

/** As results have it: their texts are never NULL. */
static inline struct rlk_value sim_null(void)
{
	return (struct rlk_value){ .type = RLK_NULL, .text = "" };
}

/* leases.c; each executes the request of @session. */
void sim_leases_begin(void);
void sim_lease_acquire(struct sim_session *session);
void sim_lease_look(struct sim_session *session);
void sim_reader_acquire(struct sim_session *session);
/** Two rows at the most, side by side in one. */
void sim_reader_look(struct sim_session *session);
void sim_rwlock_look(struct sim_session *session);
/** The row that the first two parameters are about; NULL: it was never there.
 */
struct sim_lease *sim_lease_meant(const struct sim_request *request);
/** Has any slot of @name a row? */
bool sim_is_leased(unsigned int name);
void sim_lease_confirm(struct sim_session *session);
void sim_candidates_look(struct sim_session *session);
/** All of them: nobody lists by a pattern here. */
void sim_lease_list(struct sim_session *session);
void sim_leases_of(struct sim_session *session);
void sim_keep_take(struct sim_session *session);
void sim_keep_beat(struct sim_session *session);
void sim_keep_beat_whole(struct sim_session *session);
void sim_keep_leave(struct sim_session *session);
void sim_keep_still(struct sim_session *session);
void sim_keep_taken(struct sim_session *session);
void sim_leases_of_name(struct sim_session *session);
/* offers.c */
void sim_offers_begin(void);
void sim_offer_adopt(struct sim_session *session);
void sim_offer_look(struct sim_session *session);
void sim_offer_holder(struct sim_session *session);
void sim_leases_dead(struct sim_session *session);
void sim_leases_dead_of(struct sim_session *session);
void sim_lease_present(struct sim_session *session);
/** What a look tells of @lease, in seven cells. */
void sim_tell_look(struct rlk_value *cells, const struct sim_lease *lease,
		   int64_t now_us);
/** A row in the slot that the request names, which is free. */
struct sim_lease *sim_lease_insert(struct sim_session *session,
				   uint64_t serial);
/** How many rows are meant: what is answered is its number of affected ones. */
void sim_lease_count(struct sim_session *session);
/** Which rows of the INSERT that begins with part @first are left out. */
void sim_sets_look(struct sim_packet *packet, size_t first);
void sim_leases_ahead(struct sim_session *session);
void sim_lease_delete(struct sim_session *session);
/** @lease becomes @attempt's, of @to, by @session. */
void sim_lease_hand_over(struct sim_session *session, struct sim_lease *lease,
			 uint64_t to, uint64_t attempt);
/** @lease is deleted by @session. */
void sim_lease_remove(struct sim_session *session, struct sim_lease *lease);

/* outcome.c: what became of a commit that was not answered. */
void sim_outcome_overtake(struct sim_session *session);
void sim_outcome_consistency(struct sim_session *session);
void sim_outcome_look(struct sim_session *session);
void sim_outcome_breaks(struct sim_session *session);
void sim_outcome_receipt(struct sim_session *session);
/** The request deletes one. */
void sim_receipt_delete(struct sim_session *session);

/* permits.c; but for sim_permits_meet() each executes the request of @session.
 */
void sim_permits_look(struct sim_session *session);
/** The rows of the INSERT that begins with part @first: all are made, or none.
 */
void sim_permits_meet(struct sim_session *session, size_t first);
void sim_permits_acquire(struct sim_session *session);
void sim_permits_guess(struct sim_session *session);
void sim_permits_count(struct sim_session *session);
void sim_permits_make(struct sim_session *session);
void sim_permits_set(struct sim_session *session);

/** How many rows the statement would make or remove. */
uint64_t sim_lease_would(const struct sim_session *session);

/* bells.c. The first four execute the request of @session, or a part of it. */
struct sim_bell_counts {
	uint64_t waits;   /* that did not get it at once */
	uint64_t woken;   /* of them, by the bell */
	uint64_t ended;   /* of them, by their time or an interruption */
	uint64_t slipped; /* got by who was told that it was not */
	uint64_t lost;    /* with the session that had it */
	uint64_t ghosts;  /* woken, and nobody was there any more */
	uint64_t passed;  /* readers that let it go by */
	uint64_t drained; /* writers that waited for them */
};
extern struct sim_bell_counts sim_bell_counts;

/** False: it stands in line. */
bool sim_bell_is_wait(enum sim_verb verb);
bool sim_bell_wait(struct sim_session *session);
/** Readers come in together (strategy/bell.c). */
void sim_gate_look(struct sim_session *session);
void sim_gate_open(struct sim_session *session);
void sim_gate_leave(struct sim_session *session);
void sim_gate_close(struct sim_session *session);
void sim_lane_leave(struct sim_session *session);
void sim_bell_ring(struct sim_session *session);
/** As the last thing that a DELETE does: an answer. */
void sim_bell_ring_after(struct sim_session *session);
/** As the last thing that an INSERT does. Tells whether the session has it. */
bool sim_bell_take(struct sim_session *session);
bool sim_bell_is_used(const char *text);
/** Of the bell that is parameter @number. 0: nobody. */
uint64_t sim_bell_owner(const struct sim_session *session, unsigned int number);

#endif
