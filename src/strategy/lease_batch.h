/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_LEASE_BATCH_H
#define RLK_STRATEGY_LEASE_BATCH_H

/*
 * A batch of leases, and of sets, as its files see it. lease_batch_rows.c sorts
 * its rows, lease_batch_ask.c sends it, lease_batch_answer.c reads the answers,
 * and lease_batch.c does all of it.
 */

#include "strategy/lease_private.h"

#include "strategy/bell.h"

/** Rows of one kind go with one statement. Acquires come last: leases, then
 *  sets, a statement for each wave. */
enum {
	RLK_BATCH_DRAWS,
	RLK_BATCH_RELEASES,
	RLK_BATCH_LEASES,
	RLK_BATCH_SETS, /* the first wave */
	RLK_BATCH_KINDS = RLK_BATCH_SETS + 8,
};

/** A name of a part. */
struct rlk_batch_row {
	struct rlk_part *part;
	const char *name; /* in the request's, not terminated */
	uint32_t length;
	uint8_t waves; /* the first of equal names: which waves have it */
};

static inline struct rlk_value rlk_batch_name(const struct rlk_batch_row *row)
{
	return (struct rlk_value){ .type = RLK_TEXT,
				   .text = row->name,
				   .length = row->length };
}

/** The rows of one kind, in the order of their names. */
struct rlk_batch_rows {
	struct rlk_batch_row *rows;
	size_t count;
	int statement; /* the first about them; -1: none is sent */
	bool polls;    /* all were held when they were asked for before */
	bool unclear;  /* not all were made: look who has them */
};

/** A packet in the making. */
struct rlk_batch {
	struct rlk_conn *conn;
	struct rlk_packet *packet;
	const struct rlk_patience *patience;
	struct rowlock_errinfo *reterr;
	bool together;      /* DELETE and INSERT, or INSERT and draw, are one
			       transaction */
	bool first_draw;    /* a single acquire, which draws */
	bool takes_bell;    /* and has its bell taken */
	bool sees_line;     /* or looked at who has it */
	bool draws_at_once; /* one statement draws for all */
	const struct rlk_many_def *acquire; /* how leases are asked for */
	struct rlk_bell bell;
	int present_statement;
	int commit_statement;
	struct rlk_batch_rows of[RLK_BATCH_KINDS];
	struct rlk_batch_row *rows; /* all */
	size_t row_count;
};

static inline bool rlk_batch_answered(const struct rlk_batch *batch,
				      int statement)
{
	return statement >= 0 &&
	       rlk_packet_answered(batch->packet) > (size_t) statement;
}

/** Was the statement about the rows of @kind executed, and committed? */
static inline bool rlk_batch_done(const struct rlk_batch *batch, size_t kind)
{
	bool commits_later = batch->together && (kind == RLK_BATCH_RELEASES ||
						 kind == RLK_BATCH_LEASES);

	return rlk_batch_answered(batch, commits_later
					     ? batch->commit_statement
					     : batch->of[kind].statement);
}

/* lease_batch_ask.c */

/** The acquire that looks before it touches. */
extern const struct rlk_many_def rlk_batch_looking;

/* lease_batch.c */

/** batch() of leases, and of sets. */
enum rlk_fault rlk_lease_batch(struct rlk_conn *conn, struct rlk_part **parts,
			       size_t count,
			       const struct rlk_patience *patience,
			       struct rowlock_errinfo *reterr);

#endif
