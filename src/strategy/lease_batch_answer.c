/* SPDX-License-Identifier: MIT */
/*
 * A packet of leases, answered, part by part. One whose answer is not certain,
 * or did not come, stays unanswered, and is asked alone.
 */
#include "strategy/lease_batch_answer.h"

#include "base/random.h"
#include "strategy/attempt.h"
#include "strategy/lease_batch_rows.h"

/* Refuses a set that was free: another acquire has come in between. */
#define ERROR_ROWS 1242

/* -------------------------------------------------------------- releases */

struct presence {
	const struct rlk_batch_rows *of;
	uint64_t rows;
};

static void found(const struct rlk_value *columns, void *arg)
{
	struct presence *there = arg;
	size_t i = 0;

	while (i < there->of->count &&
	       there->of->rows[i].part->request.attempt != columns[0].u64)
		i++;
	if (i == there->of->count)
		return;
	there->of->rows[i].part->seen++;
	there->rows++;
}

/* A part that was not there as a whole is sent alone, which makes sure; so are
 * all, if not all rows that were there before are removed. */
static void read_releases(struct rlk_batch *batch)
{
	const struct rlk_batch_rows *of = &batch->of[RLK_BATCH_RELEASES];
	struct presence there = { .of = of };
	bool sure;

	if (!of->count || !rlk_batch_done(batch, RLK_BATCH_RELEASES))
		return;
	rlk_packet_each(batch->packet, batch->present_statement, found, &there);
	/* Where the attempts come back, no row was counted. */
	sure = batch->present_statement == of->statement ||
	       rlk_packet_affected(batch->packet, of->statement) == there.rows;
	for (size_t i = 0; i < of->count; i++) {
		struct rlk_part *part = of->rows[i].part;

		part->found = part->seen == rlk_attempt_rows(&part->request);
		part->answered = sure && part->found;
	}
}

/* ----------------------------------------------------------------- draws */

/* 0: the grant was not there, or a trigger hides the number. Asked for alone,
 * both are told apart. */
static uint64_t token_of(const struct rlk_batch *batch, int draw)
{
	return rlk_batch_answered(batch, draw) &&
		       rlk_packet_affected(batch->packet, draw)
		   ? rlk_packet_insert_id(batch->packet, draw)
		   : 0;
}

/* The first of several draws for one name has it. */
static void drawn(const struct rlk_value *columns, void *arg)
{
	const struct rlk_batch_row *row = rlk_batch_find(arg, &columns[0]);

	if (row)
		row->part->token = columns[1].u64;
}

static void read_draws(struct rlk_batch *batch)
{
	struct rlk_batch_rows *of = &batch->of[RLK_BATCH_DRAWS];

	for (size_t i = 0; i < of->count; i++)
		of->rows[i].part->token =
		    batch->draws_at_once
			? 0
			: token_of(batch, of->statement + (int) i);
	if (batch->draws_at_once && rlk_batch_done(batch, RLK_BATCH_DRAWS))
		rlk_packet_each(batch->packet, of->statement, drawn, of);
	for (size_t i = 0; i < of->count; i++)
		of->rows[i].part->answered = of->rows[i].part->token != 0;
}

/* -------------------------------------------------------------- acquires */

/* An INSERT that takes the bell brings this back. */
static void made_ringing(const struct rlk_value *columns, void *arg)
{
	struct rlk_part *part = arg;

	part->seen = columns[0].u64 == part->request.attempt;
	if (part->seen)
		rlk_lease_read_bell(&columns[1], &part->holder);
}

static uint64_t count_made(struct rlk_batch *batch,
			   const struct rlk_batch_rows *of)
{
	struct rlk_part *first = of->rows[0].part;

	if (!batch->takes_bell || of != &batch->of[RLK_BATCH_LEASES])
		return rlk_packet_made(batch->packet, of->statement);
	rlk_packet_each(batch->packet, of->statement, made_ringing, first);
	return first->seen;
}

static void answer(const struct rlk_batch_rows *of, enum rlk_fault verdict)
{
	for (size_t i = 0; i < of->count; i++) {
		of->rows[i].part->verdict = verdict;
		of->rows[i].part->answered = true;
	}
}

/* The token, and the line, come with the row of a single acquire. */
static void read_more(struct rlk_batch *batch)
{
	const struct rlk_batch_rows *of = &batch->of[RLK_BATCH_LEASES];
	struct rlk_part *first = of->rows[0].part;

	if (batch->first_draw)
		first->token =
		    token_of(batch, batch->of[RLK_BATCH_DRAWS].statement);
	if (batch->sees_line)
		rlk_lease_read_line(
		    batch->conn,
		    rlk_packet_insert_id(batch->packet, of->statement),
		    &first->holder);
}

/* True: some were made, and some not. */
static bool read_acquires(struct rlk_batch *batch, size_t kind, bool race)
{
	struct rlk_batch_rows *of = &batch->of[kind];
	uint64_t made;

	if (!of->count || !rlk_batch_done(batch, kind)) {
		if (race)
			answer(of, RLK_CONFLICT);
		return false;
	}
	made = count_made(batch, of);
	of->unclear = made != of->count && (made || !of->polls);
	if (of->unclear)
		return true;
	answer(of, made ? RLK_DONE : RLK_HELD);
	if (kind == RLK_BATCH_LEASES)
		read_more(batch);
	return false;
}

/* A refused statement, and those behind it, made no rows. One that was
 * interrupted may have. */
static void note_not_made(const struct rlk_batch *batch, size_t kind,
			  enum rlk_fault fault)
{
	const struct rlk_batch_rows *of = &batch->of[kind];
	bool certain =
	    fault == RLK_BUSY || fault == RLK_CONFLICT || fault == RLK_REFUSED;

	for (size_t i = 0; i < of->count; i++)
		of->rows[i].part->not_made =
		    certain && !rlk_batch_done(batch, kind);
}

enum rlk_fault rlk_batch_read(struct rlk_batch *batch, enum rlk_fault fault,
			      bool *ret_unclear)
{
	bool race = fault == RLK_REFUSED && batch->reterr->mysql == ERROR_ROWS;
	bool unclear = false;

	read_releases(batch);
	read_draws(batch);
	for (size_t kind = RLK_BATCH_LEASES; kind < RLK_BATCH_KINDS; kind++) {
		note_not_made(batch, kind, fault);
		unclear = read_acquires(batch, kind, race) || unclear;
	}
	*ret_unclear = unclear;
	return race ? RLK_DONE : fault;
}

/* ------------------------------------------------------------------ look */

/* Is @holder told of, and not the one before? The one that ends first; where
 * the server's clock does not count each now and then, so that all are observed
 * at the same time. */
static bool tells(const struct rlk_part *part, const struct rlk_holder *holder)
{
	if (part->others && part->request.observes)
		return rlk_random() % (part->others + 1) == 0;
	return !part->others ||
	       rlk_lease_left_us(holder) < rlk_lease_left_us(&part->holder);
}

static void see(const struct rlk_value *columns, void *arg)
{
	const struct rlk_batch_row *row =
	    rlk_batch_find(arg, &columns[RLK_LEASE_HOLDER_COLUMNS]);
	struct rlk_part *part;
	struct rlk_holder holder;

	if (!row)
		return;
	part = row->part;
	rlk_lease_read_holder(columns, &holder);
	if (holder.attempt == part->request.attempt) {
		part->seen++;
		return;
	}
	holder.which = (unsigned int) rlk_set_find(
	    part->request.name, columns[RLK_LEASE_HOLDER_COLUMNS].text);
	if (tells(part, &holder))
		part->holder = holder;
	part->others++;
}

/* A set of which only a part is there stays unanswered: asked for alone, that
 * is given back. */
static void judge(struct rlk_part *part)
{
	bool whole = part->seen == rlk_attempt_rows(&part->request);

	part->verdict = part->seen || part->others ? RLK_HELD : RLK_CONFLICT;
	if (whole)
		part->verdict = RLK_DONE;
	part->answered = whole || !part->seen;
}

void rlk_batch_read_who(struct rlk_batch *batch)
{
	for (size_t kind = RLK_BATCH_LEASES; kind < RLK_BATCH_KINDS; kind++) {
		struct rlk_batch_rows *of = &batch->of[kind];

		if (!of->unclear || !rlk_batch_answered(batch, of->statement))
			continue;
		for (size_t i = 0; i < of->count; i++)
			of->rows[i].part->seen = 0;
		rlk_packet_each(batch->packet, of->statement, see, of);
		for (size_t i = 0; i < of->count; i++)
			judge(of->rows[i].part);
	}
}
