/* SPDX-License-Identifier: MIT */
/*
 * Many of the dead in one statement.
 *
 * The leases it removed are counted, not named: MySQL cannot name them. If the
 * count is full, this statement removed each of them; if it is less, somebody
 * else did the same, or one of them was alive after all.
 *
 * In a table of few rows the servers would rather read all of them than those
 * that are named, and wait for whoever has any other row locked, or lock the
 * sessions that beat. FORCE INDEX forbids that, and a DELETE takes it in this
 * form only. (sql_safe_updates, as many leases are given back with, refuses
 * where there are more keys than half of the rows.)
 */
#include "strategy/sweep.h"

#include "strategy/attempt.h"
#include "strategy/lease_private.h"
#include "strategy/strategy.h"

#include <stdlib.h>
#include <string.h>

#define DELETE "DELETE l FROM business_lease l FORCE INDEX (PRIMARY) WHERE "
#define SWEEP                                                                  \
	DELETE "l.name IN ({?0|, }) AND l.slot = 0 AND l.attempt IN ({?1|, })"
/* Counted: see sure.h for NOT EXISTS. */
#define NO_SESSION                                                             \
	" AND (SELECT COUNT(*) FROM lease_session s WHERE s.id = l.session) "  \
	"= 0"

#define EVICT "DELETE s FROM lease_session s FORCE INDEX (PRIMARY) WHERE "

const struct rlk_many_def rlk_sweep_dead = {
	"sweep",
	SWEEP NO_SESSION,
};

/* Their session may be alive. */
static const struct rlk_many_def sweep_receipts = {
	"sweep",
	SWEEP,
};

const struct rlk_many_def rlk_sweep_expired = {
	"sweep",
	SWEEP " AND l.expires_at <= UTC_TIMESTAMP(6)",
};

const struct rlk_many_def rlk_evict_expired = {
	"evict",
	EVICT "s.id IN ({?0|, }) AND s.expires_at <= UTC_TIMESTAMP(6)",
};

/* Pairs and not two lists: a beat is a small number, and what one session shows
 * another may have shown before. */
static const struct rlk_many_def evict_silent = {
	"evict",
	EVICT "{(s.id = ?0 AND s.beat = ?1)| OR }",
};

/* As many as rlk_sweep_name() takes. */
static const struct rlk_stmt_def look_at_name = {
	"sweep",
	"SELECT l.slot, l.attempt" RLK_LEASE_OF_SESSION
	"WHERE l.name = ? AND s.id IS NULL ORDER BY l.slot LIMIT 256",
	.once = true,
};

_Static_assert(RLK_SWEEP_MOST == 256, "the limit is in the text");

static const struct rlk_many_def sweep_name = {
	"sweep",
	DELETE RLK_ATTEMPT_ROWS NO_SESSION,
};

/* -------------------------------------------------------- one statement */

static void values_of_session(const void *sessions, size_t row,
			      struct rlk_value *ret_values)
{
	const struct rlk_last_beat *session =
	    (const struct rlk_last_beat *) sessions + row;

	ret_values[0] = rlk_u64(session->id);
	ret_values[1] = rlk_u64(session->beat);
}

void rlk_values_of_dead(const void *leases, size_t row,
			struct rlk_value *ret_values)
{
	const struct rlk_dead_lease *lease =
	    (const struct rlk_dead_lease *) leases + row;

	ret_values[0] = rlk_text(lease->name);
	ret_values[1] = rlk_u64(lease->attempt);
}

enum rlk_fault rlk_change_many(struct rlk_conn *conn,
			       const struct rlk_change *change,
			       uint64_t *ret_changed,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_packet *packet = rlk_packet_begin(conn);
	enum rlk_fault fault;

	if (!packet || rlk_packet_add(packet, change->def, change->fn,
				      change->rows, change->count) < 0)
		return rlk_fail_memory(reterr);
	fault = rlk_stmt_give_up(conn, rlk_packet_run(packet, reterr), reterr);
	if (!fault)
		*ret_changed = rlk_packet_affected(packet, 0);
	return fault;
}

enum rlk_fault rlk_remove_many(struct rlk_conn *conn,
			       const struct rlk_removal *removal,
			       uint64_t *ret_removed,
			       struct rowlock_errinfo *reterr)
{
	static const struct {
		const struct rlk_many_def *def;
		rlk_values_fn fn;
	} statements[] = {
		[RLK_EVICT_EXPIRED] = { &rlk_evict_expired, values_of_session },
		[RLK_EVICT_SILENT] = { &evict_silent, values_of_session },
		[RLK_SWEEP_DEAD] = { &rlk_sweep_dead, rlk_values_of_dead },
		[RLK_SWEEP_RECEIPTS] = { &sweep_receipts, rlk_values_of_dead },
	};
	const struct rlk_change change = {
		statements[removal->what].def,
		statements[removal->what].fn,
		removal->rows,
		removal->count,
	};

	return rlk_change_many(conn, &change, ret_removed, reterr);
}

/* -------------------------------------------------------------- one name */

struct dead {
	const char *name;
	size_t count;
	struct rlk_lease_key keys[RLK_SWEEP_MOST];
};

static void free_dead(struct dead **dead)
{
	free(*dead);
}

static void see_dead(const struct rlk_value *columns, void *arg)
{
	struct dead *dead = arg;

	if (dead->count < RLK_SWEEP_MOST)
		dead->keys[dead->count++] = (struct rlk_lease_key){
			.name = dead->name,
			.length = strlen(dead->name),
			.slot = (unsigned int) columns[0].u64,
			.attempt = columns[1].u64,
		};
}

enum rlk_fault rlk_sweep_name(struct rlk_conn *conn, const char *name,
			      uint64_t *ret_swept,
			      struct rowlock_errinfo *reterr)
{
	_cleanup_(free_dead) struct dead *dead = malloc(sizeof(*dead));
	const struct rlk_value params[] = { rlk_text(name) };
	enum rlk_fault fault;

	*ret_swept = 0;
	if (!dead)
		return rlk_fail_memory(reterr);
	dead->name = name;
	dead->count = 0;
	fault =
	    rlk_stmt_each(conn, &look_at_name, params, see_dead, dead, reterr);
	if (fault || !dead->count)
		return fault;
	return rlk_change_many(conn,
			       &(struct rlk_change){ &sweep_name,
						     rlk_values_of_key,
						     dead->keys, dead->count },
			       ret_swept, reterr);
}
