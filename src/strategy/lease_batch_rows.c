/* SPDX-License-Identifier: MIT */
/*
 * The rows of a packet, each kind in the order of the primary key.
 *
 * Sets of one wave have no name in common, so each of them is made, or not,
 * whether the others are or not. If two share a name, the second goes with a
 * later wave.
 */
#include "strategy/lease_batch_rows.h"

#include "strategy/attempt.h"

#include <stdlib.h>
#include <string.h>

#define WAVES_MOST (RLK_BATCH_KINDS - RLK_BATCH_SETS)
#define ROWS_MOST 2048

static int compare_name(const void *key, const void *other)
{
	const struct rlk_value *name = key;
	const struct rlk_batch_row *row = other;
	size_t least = name->length < row->length ? name->length : row->length;
	int order = memcmp(name->text, row->name, least);

	return order ? order
		     : (name->length > row->length) -
			   (name->length < row->length);
}

static int compare(const void *a, const void *b)
{
	const struct rlk_batch_row *one = a;
	const struct rlk_batch_row *other = b;
	const struct rlk_value name = rlk_batch_name(one);

	if (one->part->kind != other->part->kind)
		return one->part->kind < other->part->kind ? -1 : 1;
	return compare_name(&name, other);
}

struct rlk_batch_row *rlk_batch_find(const struct rlk_batch_rows *rows,
				     const struct rlk_value *name)
{
	struct rlk_batch_row *row = rows->count
					? bsearch(name, rows->rows, rows->count,
						  sizeof(*row), compare_name)
					: NULL;

	while (row && row > rows->rows && compare_name(name, row - 1) == 0)
		row--;
	return row;
}

/* ------------------------------------------------------------------ rows */

static uint8_t kind_of(const struct rlk_part *part)
{
	if (part->act == RLK_ACT_RELEASE)
		return RLK_BATCH_RELEASES;
	if (part->act == RLK_ACT_DRAW)
		return RLK_BATCH_DRAWS;
	return strchr(part->request.name, RLK_SET_BETWEEN) ? RLK_BATCH_SETS
							   : RLK_BATCH_LEASES;
}

/* A draw is for one name of a set. */
static size_t count_rows(const struct rlk_part *part)
{
	return part->act == RLK_ACT_DRAW ? 1 : rlk_attempt_rows(&part->request);
}

static size_t count_all(struct rlk_part **parts, size_t *count)
{
	size_t rows = 0;

	for (size_t i = 0; i < *count; i++) {
		size_t more = count_rows(parts[i]);

		if (rows + more > ROWS_MOST)
			*count = i;
		else
			rows += more;
	}
	return rows;
}

static struct rlk_batch_row *add_part(struct rlk_batch_row *row,
				      struct rlk_part *part)
{
	size_t first = part->act == RLK_ACT_DRAW ? part->request.which : 0;
	size_t end = first + count_rows(part);

	part->kind = kind_of(part);
	part->seen = part->others = 0;
	for (size_t i = first; i < end; i++) {
		struct rlk_lease_key key = rlk_attempt_key(&part->request, i);

		*row++ = (struct rlk_batch_row){
			.part = part,
			.name = key.name,
			.length = (uint32_t) key.length,
		};
	}
	return row;
}

/* And let batch->of tell where the rows of each kind are. */
static void sort(struct rlk_batch *batch)
{
	memset(batch->of, 0, sizeof(batch->of));
	qsort(batch->rows, batch->row_count, sizeof(*batch->rows), compare);
	for (size_t i = 0; i < batch->row_count; i++) {
		struct rlk_batch_row *row = &batch->rows[i];
		struct rlk_batch_rows *of = &batch->of[row->part->kind];

		if (row->part->kind == RLK_BATCH_KINDS)
			break;
		if (!of->count++) {
			of->rows = row;
			of->polls = true;
		}
		of->polls = of->polls && row->part->ask == RLK_ASK_AGAIN;
	}
}

/* ----------------------------------------------------------------- waves */

static struct rlk_batch_row *first_of(const struct rlk_batch_rows *sets,
				      const struct rlk_part *part,
				      size_t number)
{
	struct rlk_lease_key key = rlk_attempt_key(&part->request, number);
	const struct rlk_value name = { .text = key.name,
					.length = key.length };

	return rlk_batch_find(sets, &name);
}

/* The first wave that has none of the names; WAVES_MOST: all have. */
static uint8_t wave_of(const struct rlk_batch_rows *sets,
		       const struct rlk_part *part)
{
	size_t count = count_rows(part);
	unsigned int taken = 0;
	uint8_t wave = 0;

	for (size_t i = 0; i < count; i++)
		taken |= first_of(sets, part, i)->waves;
	while (wave < WAVES_MOST && taken & 1u << wave)
		wave++;
	for (size_t i = 0; i < count; i++)
		first_of(sets, part, i)->waves |= (uint8_t) (1u << wave);
	return wave;
}

/* A set of one name is a lease, but where there is another lease on that. */
static void part_twins(struct rlk_batch *batch)
{
	const struct rlk_batch_rows *leases = &batch->of[RLK_BATCH_LEASES];
	bool found = false;

	for (size_t i = 1; i < leases->count; i++) {
		struct rlk_batch_row *row = &leases->rows[i];
		const struct rlk_value before = rlk_batch_name(row - 1);

		if (compare_name(&before, row) != 0)
			continue;
		row->part->kind = RLK_BATCH_SETS;
		found = true;
	}
	if (found)
		sort(batch);
}

static void part_sets(struct rlk_batch *batch, struct rlk_part **parts,
		      size_t count)
{
	const struct rlk_batch_rows *sets = &batch->of[RLK_BATCH_SETS];

	if (!sets->count)
		return;
	for (size_t i = 0; i < count; i++)
		if (parts[i]->kind == RLK_BATCH_SETS)
			parts[i]->kind += wave_of(sets, parts[i]);
	sort(batch);
}

bool rlk_batch_sort(struct rlk_batch *batch, struct rlk_part **parts,
		    size_t count)
{
	struct rlk_batch_row *row;

	for (size_t i = 0; i < count; i++) {
		if (parts[i]->act != RLK_ACT_ACQUIRE)
			continue;
		/* Unless it is sent, and then not answered. */
		parts[i]->not_made = true;
		parts[i]->holder = (struct rlk_holder){ .known = false };
	}
	batch->row_count = count_all(parts, &count);
	row = batch->rows = malloc(batch->row_count * sizeof(*row));
	if (!row)
		return false;
	for (size_t i = 0; i < count; i++)
		row = add_part(row, parts[i]);
	sort(batch);
	part_twins(batch);
	part_sets(batch, parts, count);
	return true;
}
