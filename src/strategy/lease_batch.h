/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_LEASE_BATCH_H
#define RLK_STRATEGY_LEASE_BATCH_H

/*
 * What the files of a packet of leases share: lease_batch.c does it, with what
 * lease_batch_ask.c says and lease_batch_answer.c understands.
 */

#include "strategy/lease_private.h"

#include "strategy/bell.h"

/** A packet in the making. Parts are sorted by act, then by name, so that those
 * of one act are neighbours. */
struct rlk_batch {
	struct rlk_conn *conn;
	struct rlk_packet *packet;
	const struct rlk_patience *patience;
	struct rowlock_errinfo *reterr;
	bool together;   /* DELETE and INSERT, or INSERT and draw, are one
			    transaction */
	bool first_draw; /* a single acquire, which draws */
	bool takes_bell; /* and has its bell taken */
	bool sees_line;  /* or looked at who has it */
	int commit_statement;
	struct rlk_part **acquires;
	size_t acquire_count;
	size_t poll_count; /* of these were held when they were asked
			      for before */
	const struct rlk_many_def *acquire; /* how it is said */
	int acquire_statement;
	uint64_t made; /* rows, if it takes a bell */
	struct rlk_bell bell;
	struct rlk_part **releases;
	size_t release_count;
	int present_statement;
	int release_statement;
	struct rlk_part **draws;
	size_t draw_count;
	int draw_statement; /* the first */
	bool draws_at_once; /* it is the only one */
};

static inline bool rlk_batch_answered(const struct rlk_batch *batch,
				      int statement)
{
	return rlk_packet_answered(batch->packet) > (size_t) statement;
}

/* lease_batch_ask.c */

/** The acquire that looks before it touches. */
extern const struct rlk_many_def rlk_batch_looking;

/* lease_batch_answer.c */

enum rlk_fault rlk_lease_batch(struct rlk_conn *conn, struct rlk_part **parts,
			       size_t count,
			       const struct rlk_patience *patience,
			       struct rowlock_errinfo *reterr);

#endif
