/* SPDX-License-Identifier: MIT */
/*
 * A packet of leases, answered: what became of each part. One whose answer is
 * not certain, or did not come, stays unanswered, and is asked alone.
 */
#include "strategy/lease_batch_answer.h"

#include <stdlib.h>
#include <string.h>

static void found(const struct rlk_value *columns, void *arg)
{
	const struct rlk_batch *batch = arg;

	for (size_t i = 0; i < batch->release_count; i++) {
		struct rlk_part *part = batch->releases[i];

		if (part->request.attempt == columns[0].u64)
			part->found = true;
	}
}

static size_t count_found(const struct rlk_batch *batch)
{
	size_t count = 0;

	for (size_t i = 0; i < batch->release_count; i++)
		count += batch->releases[i]->found;
	return count;
}

/* What was not there is asked for alone, which makes sure. */
static void read_releases(struct rlk_batch *batch)
{
	size_t count = batch->release_count;
	uint64_t removed =
	    rlk_packet_affected(batch->packet, batch->release_statement);
	bool all = removed == count;
	bool sure;

	for (size_t i = 0; i < count; i++)
		batch->releases[i]->found = all;
	/* Where the attempts come back, no row was counted. */
	if (!all)
		rlk_packet_each(batch->packet, batch->present_statement, found,
				batch);
	/* What was there before is not all removed? */
	sure = batch->present_statement == batch->release_statement ||
	       removed == count_found(batch);
	for (size_t i = 0; i < count; i++)
		batch->releases[i]->answered =
		    sure && batch->releases[i]->found;
}

/* 0: the grant was not there, or a trigger hides the number. Asked for alone,
 * both are told apart. */
static uint64_t token_of(const struct rlk_batch *batch, int draw)
{
	return rlk_batch_answered(batch, draw) &&
		       rlk_packet_affected(batch->packet, draw)
		   ? rlk_packet_insert_id(batch->packet, draw)
		   : 0;
}

static int compare_name(const void *name, const void *part)
{
	return strcmp(name, (*(struct rlk_part *const *) part)->request.name);
}

static void drawn(const struct rlk_value *columns, void *arg)
{
	const struct rlk_batch *batch = arg;
	struct rlk_part **found =
	    bsearch(columns[0].text, batch->draws, batch->draw_count,
		    sizeof(struct rlk_part *), compare_name);

	if (!found)
		return;
	/* Of several draws for one name the first has it. */
	while (found > batch->draws &&
	       compare_name(columns[0].text, found - 1) == 0)
		found--;
	(*found)->token = columns[1].u64;
}

static void read_draws_at_once(struct rlk_batch *batch)
{
	for (size_t i = 0; i < batch->draw_count; i++)
		batch->draws[i]->token = 0;
	rlk_packet_each(batch->packet, batch->draw_statement, drawn, batch);
	for (size_t i = 0; i < batch->draw_count; i++)
		batch->draws[i]->answered = batch->draws[i]->token != 0;
}

static void read_draws(struct rlk_batch *batch)
{
	for (size_t i = 0; i < batch->draw_count; i++) {
		struct rlk_part *part = batch->draws[i];
		int number = batch->draw_statement + (int) i;

		if (!rlk_batch_answered(batch, number))
			return;
		part->token = token_of(batch, number);
		part->answered = part->token != 0;
	}
}

static void holder_of(const struct rlk_value *columns, void *arg)
{
	const struct rlk_batch *batch = arg;
	struct rlk_part **found =
	    bsearch(columns[7].text, batch->acquires, batch->acquire_count,
		    sizeof(struct rlk_part *), compare_name);
	struct rlk_part *part;

	if (!found)
		return;
	part = *found;
	if (columns[0].u64 == part->request.attempt) {
		part->verdict = RLK_GRANTED;
		return;
	}
	part->verdict = RLK_HELD;
	rlk_lease_read_holder(columns, &part->holder);
}

void rlk_batch_read_who(struct rlk_batch *batch)
{
	for (size_t i = 0; i < batch->acquire_count; i++) {
		batch->acquires[i]->verdict = RLK_AGAIN;
		batch->acquires[i]->answered = true;
	}
	rlk_packet_each(batch->packet, 0, holder_of, batch);
}

/* What an INSERT brings back that takes the bell. */
static void made_ringing(const struct rlk_value *columns, void *arg)
{
	struct rlk_batch *batch = arg;
	struct rlk_part *part = batch->acquires[0];

	batch->made = columns[0].u64 == part->request.attempt;
	if (batch->made)
		rlk_lease_read_bell(&columns[1], &part->holder);
}

static uint64_t count_made(struct rlk_batch *batch)
{
	if (!batch->takes_bell)
		return rlk_packet_affected(batch->packet,
					   batch->acquire_statement);
	rlk_packet_each(batch->packet, batch->acquire_statement, made_ringing,
			batch);
	return batch->made;
}

static bool read_acquires(struct rlk_batch *batch)
{
	size_t count = batch->acquire_count;
	uint64_t made = count_made(batch);
	bool none = made == 0 && batch->poll_count == count;

	if (made != count && !none)
		return false;
	if (batch->first_draw)
		batch->acquires[0]->token =
		    token_of(batch, batch->draw_statement);
	if (batch->sees_line)
		rlk_lease_read_line(
		    batch->conn,
		    rlk_packet_insert_id(batch->packet,
					 batch->acquire_statement),
		    &batch->acquires[0]->holder);
	for (size_t i = 0; i < count; i++) {
		batch->acquires[i]->verdict = none ? RLK_HELD : RLK_GRANTED;
		batch->acquires[i]->answered = true;
	}
	return true;
}

bool rlk_batch_read(struct rlk_batch *batch)
{
	int releases = batch->together ? batch->commit_statement
				       : batch->release_statement;
	int acquires = batch->together ? batch->commit_statement
				       : batch->acquire_statement;

	if (batch->release_count && rlk_batch_answered(batch, releases))
		read_releases(batch);
	if (batch->draws_at_once &&
	    rlk_batch_answered(batch, batch->draw_statement))
		read_draws_at_once(batch);
	else if (!batch->draws_at_once)
		read_draws(batch);
	return !batch->acquire_count || !rlk_batch_answered(batch, acquires) ||
	       read_acquires(batch);
}
