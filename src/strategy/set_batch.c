/* SPDX-License-Identifier: MIT */
/*
 * Many sets in one round trip: one DELETE for all that are given back, then an
 * INSERT for each *wave* of those that are asked for. Sets of one wave have no
 * name in common, so each of them is made, or not, whatever becomes of the
 * others (rlk_set_insert). Of two that share a name the second goes with the
 * next wave, behind the first.
 *
 * Each statement commits by itself. A wave that made all its rows has granted
 * all its sets; one that made none, and of which all were held before, none.
 * For each other wave one more statement, in a second round trip, tells who has
 * the names.
 *
 * A wave that lost a race (1242) has made nothing, and those behind it were not
 * sent: they are asked for again. What does not fit into the packet, and what
 * is not certain, is left unanswered, and asked for alone.
 */
#include "strategy/set_batch.h"

#include "base/text.h"
#include "db/group.h"
#include "db/server.h"
#include "strategy/lease_batch.h"
#include "strategy/lease_batch_ask.h"
#include "strategy/strategy.h"

#include <stdlib.h>
#include <string.h>

#define WAVES_MOST 8
#define ROWS_MOST 1024 /* of acquires, and of releases */
#define PLACES 2048    /* for names; a power of two */

struct wave {
	size_t part; /* the first of its sets, in batch->acquires, */
	size_t part_count;
	size_t row; /* and its first row, in batch->acquire_rows */
	size_t row_count;
	bool polls; /* all were held when they were asked for before */
	int statement;
	bool unclear; /* some were made, and some not: look */
	int look_statement;
};

/* Which waves have a name. */
struct place {
	const char *name; /* NULL: free */
	uint32_t length;
	uint8_t waves;
};

struct batch {
	struct rlk_conn *conn;
	const struct rlk_patience *patience;
	struct rowlock_errinfo *reterr;
	struct rlk_packet *packet;

	size_t release_count;
	struct rlk_part *releases[RLK_GROUP_MOST];
	size_t gone[RLK_GROUP_MOST]; /* rows of each that were there */
	size_t release_row_count;
	struct rlk_set_row release_rows[ROWS_MOST];
	int present_statement;
	int release_statement;

	size_t acquire_count;
	struct rlk_part *acquires[RLK_GROUP_MOST]; /* by wave */
	size_t first_row[RLK_GROUP_MOST];          /* of each */
	size_t acquire_row_count;
	struct rlk_set_row acquire_rows[ROWS_MOST];
	size_t wave_count;
	struct wave waves[WAVES_MOST];
	struct place places[PLACES];
};

static void free_batch(struct batch **batch)
{
	free(*batch);
}

/* ----------------------------------------------------------------- waves */

static struct place *place_of(struct batch *batch,
			      const struct rlk_set_row *row)
{
	uint64_t at = rlk_scramble(rlk_bytes_hash(row->name, row->length));

	for (;; at++) {
		struct place *place = &batch->places[at & (PLACES - 1)];

		if (!place->name ||
		    (place->length == row->length &&
		     memcmp(place->name, row->name, row->length) == 0))
			return place;
	}
}

/* The first wave that has none of the names; WAVES_MOST: all have. */
static size_t wave_of(struct batch *batch, const struct rlk_set_row *rows,
		      size_t count)
{
	unsigned int taken = 0;
	size_t wave = 0;

	for (size_t i = 0; i < count; i++)
		taken |= place_of(batch, &rows[i])->waves;
	while (wave < WAVES_MOST && taken & 1u << wave)
		wave++;
	return wave;
}

static void take_places(struct batch *batch, const struct rlk_set_row *rows,
			size_t count, size_t wave)
{
	for (size_t i = 0; i < count; i++) {
		struct place *place = place_of(batch, &rows[i]);

		place->name = rows[i].name;
		place->length = (uint32_t) rows[i].length;
		place->waves |= (uint8_t) (1u << wave);
	}
}

/* Of each acquire of @parts, in @ret_waves; WAVES_MOST for one that does not
 * fit. */
static void choose_waves(struct batch *batch, struct rlk_part **parts,
			 size_t count, uint8_t *ret_waves)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		struct rlk_set_row rows[ROWLOCK_MULTILOCK_MAX];
		size_t names = rlk_set_rows(&parts[i]->request, rows);
		size_t wave = used + names > ROWS_MOST
				  ? WAVES_MOST
				  : wave_of(batch, rows, names);

		ret_waves[i] = (uint8_t) wave;
		if (wave == WAVES_MOST)
			continue;
		take_places(batch, rows, names, wave);
		used += names;
	}
}

static void add_to_wave(struct batch *batch, struct wave *wave,
			struct rlk_part *part)
{
	size_t at = batch->acquire_row_count;
	size_t names = rlk_set_rows(&part->request, &batch->acquire_rows[at]);

	batch->acquires[batch->acquire_count] = part;
	batch->first_row[batch->acquire_count++] = at;
	batch->acquire_row_count += names;
	wave->part_count++;
	wave->row_count += names;
	wave->polls = wave->polls && part->ask == RLK_ASK_AGAIN;
}

/* The acquires among @parts, by waves. */
static void sort_acquires(struct batch *batch, struct rlk_part **parts,
			  size_t count)
{
	uint8_t waves[RLK_GROUP_MOST];

	choose_waves(batch, parts, count, waves);
	for (size_t number = 0; number < WAVES_MOST; number++) {
		struct wave wave = { .part = batch->acquire_count,
				     .row = batch->acquire_row_count,
				     .polls = true,
				     .statement = -1,
				     .look_statement = -1 };

		for (size_t i = 0; i < count; i++)
			if (waves[i] == number)
				add_to_wave(batch, &wave, parts[i]);
		if (!wave.part_count)
			break;
		batch->waves[batch->wave_count++] = wave;
	}
}

static void sort_releases(struct batch *batch, struct rlk_part **parts,
			  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = batch->release_row_count;

		if (at + rlk_set_count(parts[i]->request.name) > ROWS_MOST)
			continue;
		batch->releases[batch->release_count++] = parts[i];
		batch->release_row_count +=
		    rlk_set_rows(&parts[i]->request, &batch->release_rows[at]);
	}
}

/* In the order in which they came. Draws are asked for alone (group/commit.c).
 */
static void sort(struct batch *batch, struct rlk_part **parts, size_t count)
{
	struct rlk_part *acquires[RLK_GROUP_MOST];
	struct rlk_part *releases[RLK_GROUP_MOST];
	size_t acquire_count = 0;
	size_t release_count = 0;

	for (size_t i = 0; i < count; i++) {
		struct rlk_part *part = parts[i];

		if (part->act == RLK_ACT_RELEASE)
			releases[release_count++] = part;
		if (part->act != RLK_ACT_ACQUIRE)
			continue;
		/* Unless it is sent, and then not answered. */
		part->not_made = true;
		acquires[acquire_count++] = part;
	}
	sort_acquires(batch, acquires, acquire_count);
	sort_releases(batch, releases, release_count);
}

/* ------------------------------------------------------------- statements */

static bool add_releases(struct batch *batch)
{
	const struct rlk_dialect *dialect =
	    rlk_server_dialect(rlk_conn_server(batch->conn));

	if (!batch->release_count)
		return true;
	if (dialect->lease_present_many)
		batch->present_statement =
		    rlk_packet_add(batch->packet, dialect->lease_present_many,
				   rlk_set_values_of_pair, batch->release_rows,
				   batch->release_row_count);
	batch->release_statement = rlk_packet_add(
	    batch->packet, dialect->lease_release_many, rlk_set_values_of_pair,
	    batch->release_rows, batch->release_row_count);
	if (!dialect->lease_present_many)
		batch->present_statement = batch->release_statement;
	return batch->present_statement >= 0 && batch->release_statement >= 0;
}

static bool add_waves(struct batch *batch)
{
	for (size_t i = 0; i < batch->wave_count; i++) {
		struct wave *wave = &batch->waves[i];

		wave->statement = rlk_packet_add(
		    batch->packet, &rlk_set_insert, rlk_set_values_of_row,
		    &batch->acquire_rows[wave->row], wave->row_count);
		if (wave->statement < 0)
			return false;
	}
	return true;
}

static bool add_looks(struct batch *batch)
{
	for (size_t i = 0; i < batch->wave_count; i++) {
		struct wave *wave = &batch->waves[i];

		if (!wave->unclear)
			continue;
		wave->look_statement = rlk_packet_add(
		    batch->packet, &rlk_lease_look_many, rlk_set_values_of_pair,
		    &batch->acquire_rows[wave->row], wave->row_count);
		if (wave->look_statement < 0)
			return false;
	}
	return true;
}

static bool is_answered(const struct batch *batch, int statement)
{
	return statement >= 0 &&
	       rlk_packet_answered(batch->packet) > (size_t) statement;
}

/* -------------------------------------------------------------- answers */

static void count_gone(const struct rlk_value *columns, void *arg)
{
	struct batch *batch = arg;

	for (size_t i = 0; i < batch->release_count; i++)
		if (batch->releases[i]->request.attempt == columns[0].u64)
			batch->gone[i]++;
}

/* What was not there as a whole is asked for alone, which makes sure; and all
 * are, if not all that was there before is removed. */
static void read_releases(struct batch *batch)
{
	uint64_t removed;
	size_t there = 0;
	bool sure;

	if (!is_answered(batch, batch->release_statement))
		return;
	rlk_packet_each(batch->packet, batch->present_statement, count_gone,
			batch);
	for (size_t i = 0; i < batch->release_count; i++)
		there += batch->gone[i];
	removed = rlk_packet_affected(batch->packet, batch->release_statement);
	/* Where the attempts come back, no row was counted. */
	sure = batch->present_statement == batch->release_statement ||
	       removed == there;
	for (size_t i = 0; i < batch->release_count; i++) {
		struct rlk_part *part = batch->releases[i];

		part->found =
		    batch->gone[i] == rlk_set_count(part->request.name);
		part->answered = sure && part->found;
	}
}

static void answer_wave(struct batch *batch, const struct wave *wave,
			enum rlk_verdict verdict)
{
	for (size_t i = 0; i < wave->part_count; i++) {
		struct rlk_part *part = batch->acquires[wave->part + i];

		part->verdict = verdict;
		part->holder = (struct rlk_holder){ 0 };
		part->answered = true;
	}
}

/* What is refused, and what comes behind it, has made nothing; of a statement
 * that was interrupted nobody knows. */
static void note_not_made(struct batch *batch, enum rlk_fault fault)
{
	bool certain =
	    fault == RLK_BUSY || fault == RLK_CONFLICT || fault == RLK_REFUSED;

	for (size_t i = 0; i < batch->wave_count; i++) {
		const struct wave *wave = &batch->waves[i];
		bool made = is_answered(batch, wave->statement) || !certain;

		for (size_t part = 0; part < wave->part_count; part++)
			batch->acquires[wave->part + part]->not_made = !made;
	}
}

/* True: some are unclear. */
static bool read_waves(struct batch *batch, bool race)
{
	bool unclear = false;

	for (size_t i = 0; i < batch->wave_count; i++) {
		struct wave *wave = &batch->waves[i];
		uint64_t made;

		if (!is_answered(batch, wave->statement)) {
			if (race)
				answer_wave(batch, wave, RLK_AGAIN);
			continue;
		}
		made = rlk_packet_affected(batch->packet, wave->statement);
		if (made == wave->row_count)
			answer_wave(batch, wave, RLK_GRANTED);
		else if (made == 0 && wave->polls)
			answer_wave(batch, wave, RLK_HELD);
		else
			wave->unclear = unclear = true;
	}
	return unclear;
}

struct look {
	struct batch *batch;
	const struct wave *wave;
	struct rlk_set_seen *seen; /* of each set */
};

static void see(const struct rlk_value *columns, void *arg)
{
	const struct look *look = arg;
	const struct batch *batch = look->batch;
	size_t end = look->wave->part + look->wave->part_count;

	for (size_t part = look->wave->part; part < end; part++)
		rlk_set_see(&look->seen[part],
			    &batch->acquire_rows[batch->first_row[part]],
			    rlk_set_count(batch->acquires[part]->request.name),
			    columns);
}

/* A set of which only a part is there stays unanswered: asked for alone, that
 * is given back. */
static void judge(struct rlk_part *part, const struct rlk_set_seen *seen)
{
	size_t count = rlk_set_count(part->request.name);

	if (seen->own && seen->own < count)
		return;
	part->answered = true;
	part->holder = seen->holder;
	if (seen->own)
		part->verdict = RLK_GRANTED;
	else
		part->verdict = seen->others ? RLK_HELD : RLK_AGAIN;
}

static void read_looks(struct batch *batch, struct rlk_set_seen *seen)
{
	for (size_t i = 0; i < batch->wave_count; i++) {
		const struct wave *wave = &batch->waves[i];
		struct look look = { batch, wave, seen };

		if (!is_answered(batch, wave->look_statement))
			continue;
		rlk_packet_each(batch->packet, wave->look_statement, see,
				&look);
		for (size_t part = wave->part;
		     part < wave->part + wave->part_count; part++)
			judge(batch->acquires[part], &seen[part]);
	}
}

static enum rlk_fault look(struct batch *batch)
{
	struct rlk_set_seen *seen = calloc(batch->acquire_count, sizeof(*seen));
	enum rlk_fault fault;

	batch->packet = rlk_packet_begin(batch->conn);
	if (!seen || !batch->packet || !add_looks(batch)) {
		free(seen);
		return rlk_lease_fail_memory(batch->reterr);
	}
	fault = rlk_lease_run_packet(batch->conn, batch->packet,
				     batch->patience, batch->reterr);
	read_looks(batch, seen);
	free(seen);
	return fault;
}

/* ------------------------------------------------------------ all of it */

static enum rlk_fault run(struct batch *batch)
{
	enum rlk_fault fault;
	bool race;

	batch->packet = rlk_packet_begin(batch->conn);
	if (!batch->packet || !add_releases(batch) || !add_waves(batch))
		return rlk_lease_fail_memory(batch->reterr);
	fault = rlk_lease_run_packet(batch->conn, batch->packet,
				     batch->patience, batch->reterr);
	note_not_made(batch, fault);
	read_releases(batch);
	race = fault == RLK_REFUSED && batch->reterr->mysql == RLK_SET_RACE;
	if (read_waves(batch, race) && (!fault || race))
		return look(batch);
	return race ? RLK_DONE : fault;
}

enum rlk_fault rlk_set_batch(struct rlk_conn *conn, struct rlk_part **parts,
			     size_t count, const struct rlk_patience *patience,
			     struct rowlock_errinfo *reterr)
{
	_cleanup_(free_batch) struct batch *batch = NULL;

	if (parts[0]->act == RLK_ACT_SWEEP)
		return rlk_lease_batch(conn, parts, count, patience, reterr);
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return rlk_lease_fail_memory(reterr);
	batch->conn = conn;
	batch->patience = patience;
	batch->reterr = reterr;
	batch->release_statement = -1;
	batch->present_statement = -1;
	sort(batch, parts, count);
	return run(batch);
}
