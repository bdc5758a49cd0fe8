/* SPDX-License-Identifier: MIT */
/*
 * Sweeps for the requests that meet dead holders at one moment: one batch
 * evicts the sessions whose time is up, sweeps the leases without a session,
 * then those past their maximum. Each of its statements commits by itself, so
 * that nothing is left open, and each is right alone (sweep.c).
 *
 * A client that died has usually left many names, and neighbours. So the batch
 * looks a bounded way for other dead leases behind the first name, and sweeps
 * them along: the next request for those finds them free. The look locks
 * nothing, and the DELETE checks again what it found, as always.
 */
#include "strategy/lease_sweep.h"

#include "base/text.h"
#include "strategy/lease_batch_ask.h"
#include "strategy/strategy.h"
#include "strategy/sweep.h"

#include <stdlib.h>
#include <string.h>

/* Rows to look at: enough to save most of the commits, and few enough that
 * others are kept waiting for a moment only. */
#define AHEAD_ROWS "64"
#define AHEAD_MOST 64

static const struct rlk_many_def look_ahead = {
	"sweep",
	"SELECT t.name, t.attempt FROM"
	" (SELECT l.name, l.slot, l.session, l.attempt FROM business_lease l"
	" WHERE {l.name > ?0|} ORDER BY l.name, l.slot LIMIT " AHEAD_ROWS ") t"
	" LEFT JOIN lease_session s ON s.id = t.session WHERE t.slot = 0"
	" AND (s.id IS NULL OR s.expires_at <= UTC_TIMESTAMP(6))",
};

/* Parts in this order: first one for each session that is to be evicted, then
 * the others of those, of sessions that are absent, and past their maximum. */
struct sweep {
	struct rlk_conn *conn;
	struct rlk_packet *packet;
	const struct rlk_patience *patience;
	struct rowlock_errinfo *reterr;
	struct rlk_part **parts;
	size_t evict_count;   /* sessions */
	size_t dead_count;    /* parts; those of the sessions are among them */
	size_t expired_count; /* parts behind them */
	size_t count;         /* of both */
	size_t ahead_count;   /* of others that are dead */
	int evict_statement;
	int dead_statement;
	int expired_statement;
	/* As the parts, and behind them the others. */
	struct rlk_dead_lease leases[RLK_SWEEP_MOST + AHEAD_MOST];
	char names[AHEAD_MOST][RLK_NAME_SIZE];
};

static void free_sweep(struct sweep **sweep)
{
	free(*sweep);
}

/* ----------------------------------------------------------------- parts */

enum kind {
	OF_EXPIRED_SESSION,
	OF_ABSENT_SESSION,
	PAST_MAXIMUM,
};

static enum kind kind_of(const struct rlk_holder *holder)
{
	if (holder->absent)
		return OF_ABSENT_SESSION;
	return holder->left_us <= 0 ? OF_EXPIRED_SESSION : PAST_MAXIMUM;
}

static int compare(const void *a, const void *b)
{
	const struct rlk_part *one = *(struct rlk_part *const *) a;
	const struct rlk_part *other = *(struct rlk_part *const *) b;
	enum kind kinds[] = { kind_of(&one->holder), kind_of(&other->holder) };

	if (kinds[0] != kinds[1])
		return kinds[0] < kinds[1] ? -1 : 1;
	return (one->holder.session > other->holder.session) -
	       (one->holder.session < other->holder.session);
}

static void swap(struct rlk_part **one, struct rlk_part **other)
{
	struct rlk_part *part = *one;

	*one = *other;
	*other = part;
}

static void sort(struct sweep *sweep)
{
	struct rlk_part **parts = sweep->parts;
	uint64_t session = 0;

	qsort(parts, sweep->count, sizeof(*parts), compare);
	for (size_t i = 0; i < sweep->count; i++) {
		enum kind kind = kind_of(&parts[i]->holder);

		sweep->dead_count += kind != PAST_MAXIMUM;
		if (kind != OF_EXPIRED_SESSION ||
		    (i && parts[i]->holder.session == session))
			continue;
		session = parts[i]->holder.session;
		swap(&parts[sweep->evict_count++], &parts[i]);
	}
	sweep->expired_count = sweep->count - sweep->dead_count;
	for (size_t i = 0; i < sweep->count; i++)
		sweep->leases[i] =
		    (struct rlk_dead_lease){ parts[i]->request.name,
					     parts[i]->holder.attempt };
}

/* ------------------------------------------------------------- statements */

static enum rlk_fault run(struct sweep *sweep)
{
	return rlk_lease_run_packet(sweep->conn, sweep->packet, sweep->patience,
				    sweep->reterr);
}

static void value_of_name(const void *name, size_t row,
			  struct rlk_value *ret_values)
{
	(void) row;
	ret_values[0] = rlk_text(name);
}

/* Compares the name, since all leases of a set have one attempt. */
static bool is_part(const struct sweep *sweep, const struct rlk_value *columns)
{
	for (size_t i = 0; i < sweep->dead_count; i++)
		if (sweep->leases[i].attempt == columns[1].u64 &&
		    strcmp(sweep->leases[i].name, columns[0].text) == 0)
			return true;
	return false;
}

static void found(const struct rlk_value *columns, void *arg)
{
	struct sweep *sweep = arg;
	char *name = sweep->names[sweep->ahead_count];

	if (sweep->ahead_count == AHEAD_MOST ||
	    columns[0].length >= sizeof(*sweep->names) ||
	    is_part(sweep, columns))
		return;
	memcpy(name, columns[0].text, columns[0].length);
	name[columns[0].length] = '\0';
	sweep->leases[sweep->dead_count + sweep->ahead_count++] =
	    (struct rlk_dead_lease){ name, columns[1].u64 };
}

/* The others overwrite the leases past their maximum, whose parts remain. */
static enum rlk_fault look(struct sweep *sweep)
{
	const char *first = sweep->leases[0].name;
	enum rlk_fault fault;

	for (size_t i = 1; i < sweep->dead_count; i++)
		if (strcmp(sweep->leases[i].name, first) < 0)
			first = sweep->leases[i].name;
	if (rlk_packet_add(sweep->packet, &look_ahead, value_of_name, first,
			   1) < 0)
		return rlk_fail_memory(sweep->reterr);
	fault = run(sweep);
	if (!fault)
		rlk_packet_each(sweep->packet, 0, found, sweep);
	return fault;
}

static void value_of_holder(const void *parts, size_t row,
			    struct rlk_value *ret_values)
{
	struct rlk_part *const *part = (struct rlk_part *const *) parts + row;

	ret_values[0] = rlk_u64((*part)->holder.session);
}

static void values_of_part(const void *parts, size_t row,
			   struct rlk_value *ret_values)
{
	struct rlk_part *const *part = (struct rlk_part *const *) parts + row;

	ret_values[0] = rlk_text((*part)->request.name);
	ret_values[1] = rlk_u64((*part)->holder.attempt);
}

/* The statement's number, if it has rows; -1: no memory. */
static int add(struct sweep *sweep, const struct rlk_many_def *def,
	       rlk_values_fn fn, const void *rows, size_t count)
{
	return count ? rlk_packet_add(sweep->packet, def, fn, rows, count) : 0;
}

static bool add_all(struct sweep *sweep)
{
	sweep->packet = rlk_packet_begin(sweep->conn);
	if (!sweep->packet)
		return false;
	sweep->evict_statement = add(sweep, &rlk_evict_expired, value_of_holder,
				     sweep->parts, sweep->evict_count);
	sweep->dead_statement =
	    add(sweep, &rlk_sweep_dead, rlk_values_of_dead, sweep->leases,
		sweep->dead_count + sweep->ahead_count);
	sweep->expired_statement =
	    add(sweep, &rlk_sweep_expired, values_of_part,
		sweep->parts + sweep->dead_count, sweep->expired_count);
	return sweep->evict_statement >= 0 && sweep->dead_statement >= 0 &&
	       sweep->expired_statement >= 0;
}

/* ---------------------------------------------------------------- answer */

static bool all_removed(const struct sweep *sweep, int statement, size_t count)
{
	return count && rlk_packet_affected(sweep->packet, statement) == count;
}

static void read(struct sweep *sweep)
{
	bool evicted =
	    all_removed(sweep, sweep->evict_statement, sweep->evict_count);
	bool dead = all_removed(sweep, sweep->dead_statement,
				sweep->dead_count + sweep->ahead_count);
	bool expired =
	    all_removed(sweep, sweep->expired_statement, sweep->expired_count);

	for (size_t i = 0; i < sweep->count; i++) {
		struct rlk_part *part = sweep->parts[i];

		part->evicted = evicted && i < sweep->evict_count;
		part->swept = i < sweep->dead_count ? dead : expired;
		part->found = true;
		part->answered = true;
	}
}

enum rlk_fault rlk_lease_sweep_batch(struct rlk_conn *conn,
				     struct rlk_part **parts, size_t count,
				     const struct rlk_patience *patience,
				     struct rowlock_errinfo *reterr)
{
	_cleanup_(free_sweep) struct sweep *sweep = calloc(1, sizeof(*sweep));
	enum rlk_fault fault = RLK_DONE;

	if (!sweep)
		return rlk_fail_memory(reterr);
	*sweep = (struct sweep){
		.conn = conn,
		.packet = rlk_packet_begin(conn),
		.patience = patience,
		.reterr = reterr,
		.parts = parts,
		.count = count,
	};
	if (!sweep->packet)
		return rlk_fail_memory(reterr);
	sort(sweep);
	if (sweep->dead_count && !parts[0]->lone)
		fault = look(sweep);
	if (fault)
		return fault;
	if (!add_all(sweep))
		return rlk_fail_memory(reterr);
	fault = run(sweep);
	if (!fault)
		read(sweep);
	return fault;
}
