/* SPDX-License-Identifier: MIT */
/*
 * Permits, in SQL; see permits.h for why that counts right.
 *
 * An acquire is a look, which locks nothing, and then one INSERT on slots that
 * were free, chosen at random, so that two that look at the same moment seldom
 * want the same. A row that came in between makes the INSERT fail as a whole,
 * as for sets (set.c). It locks the semaphore's row in share mode: a change of
 * the number waits for what was begun by the old one, and an INSERT that begins
 * later finds the new one, and makes nothing. The number may be the old one
 * again, so the INSERT counts again what is in use above the slots that its
 * look has allowed.
 *
 * A request whose last permit came at once may guess that its slot is free:
 * then the INSERT goes first, and whatever the look would have found is a
 * condition of it. If it makes nothing, it has changed nothing, and the look
 * follows.
 *
 * Failure modes: an INSERT without an answer is settled as every other: when
 * nothing of it can land any more, the same attempt looks again, and its own
 * rows are granted. If some of them were broken by hand or swept past their
 * maximum, the rest is given back.
 */
#include "strategy/permits.h"

#include "base/error.h"
#include "base/random.h"
#include "strategy/attempt.h"
#include "strategy/bell.h"
#include "strategy/lease_private.h"
#include "strategy/plea.h"
#include "strategy/strategy.h"
#include "strategy/sure.h"

#include <rowlock/semaphore.h>

/* The last slot of a permit, in SQL; behind it are those of candidates. */
#define LAST_SLOT "1073741823"
#define MOST ROWLOCK_SEMAPHORE_MAX

/* The semaphore, and its permits that are in use: one row at least, whose slot
 * is NULL if there are none. LIMIT keeps the bell from being looked up for each
 * row. */
static const struct rlk_stmt_def look = {
	"look",
	"SELECT " RLK_LEASE_HOLDER ", l.slot, p.permits, p.bell"
	" FROM (SELECT name, permits, CAST(IS_USED_LOCK(?) AS UNSIGNED) AS bell"
	" FROM lock_permits WHERE name = ? LIMIT 1) p"
	" LEFT JOIN business_lease l ON l.name = p.name"
	" AND l.slot BETWEEN 1 AND " LAST_SLOT
	" LEFT JOIN lease_session s ON s.id = l.session",
};
#define LOOK_SLOT RLK_LEASE_HOLDER_COLUMNS
#define LOOK_PERMITS (RLK_LEASE_HOLDER_COLUMNS + 1)
#define LOOK_BELL (RLK_LEASE_HOLDER_COLUMNS + 2)

/* The number is locked before the rows above the last slot are read: so no row
 * can have been made by another number without being seen here. */
static const struct rlk_many_def insert = {
	"acquire",
	"INSERT INTO business_lease (name, slot, session, attempt, "
	"acquired_at, expires_at, info) "
	"SELECT q.name, p.s, p.c, p.a, UTC_TIMESTAMP(6), "
	"UTC_TIMESTAMP(6) + INTERVAL p.m MICROSECOND, p.i FROM ("
	"{SELECT ?0 COLLATE utf8mb4_bin AS n, ?1 AS s, ?2 AS c, ?3 AS a, "
	"?4 AS m, ?5 AS i, ?6 AS k, ?7 AS t| UNION ALL }) p "
	"JOIN lock_permits q ON q.name = p.n AND q.permits = p.k "
	"WHERE (SELECT COUNT(*) FROM business_lease l "
	"WHERE l.name = q.name AND l.slot > p.t "
	"AND l.slot <= " LAST_SLOT ") <= p.k - p.t "
	"ORDER BY p.s LOCK IN SHARE MODE "
	"ON DUPLICATE KEY UPDATE attempt = (SELECT 1 UNION SELECT 2)",
};
#define RACE 1242

/* Likewise for those above the number. */
static const struct rlk_stmt_def insert_guess = {
	"acquire",
	"INSERT INTO business_lease (name, slot, session, attempt, "
	"acquired_at, expires_at, info) "
	"SELECT ?, ?, ?, ?, UTC_TIMESTAMP(6), "
	"UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, ? "
	"FROM lock_permits q WHERE q.name = ? AND q.permits = ? "
	"AND IFNULL(IS_USED_LOCK(?), CONNECTION_ID()) = CONNECTION_ID() "
	"AND (SELECT COUNT(*) FROM business_lease l "
	"WHERE l.name = q.name AND l.slot > q.permits "
	"AND l.slot <= " LAST_SLOT ") = 0 LOCK IN SHARE MODE "
	"ON DUPLICATE KEY UPDATE attempt = business_lease.attempt",
};

static const struct rlk_stmt_def make = {
	"acquire",
	"INSERT INTO lock_permits (name, permits) VALUES (?, ?)"
	" ON DUPLICATE KEY UPDATE name = name",
};

static const struct rlk_stmt_def set = {
	"resize",
	"INSERT INTO lock_permits (name, permits) VALUES (?, ?)"
	" ON DUPLICATE KEY UPDATE permits = VALUES(permits)",
};

/* ------------------------------------------------------------------ look */

/* Somebody else's permits. */
struct others {
	struct rlk_holder least; /* that ends first, */
	struct rlk_holder any;   /* and one of them */
	unsigned int count;
};

/* A request, and what a look has found for it. */
struct asking {
	struct rlk_conn *conn;
	const struct rlk_request *request;
	struct rlk_permits_seen seen;
	bool line; /* somebody else stands there */
	unsigned int own;
	struct others others;
	/* By slot; those above are counted. */
	bool taken[MOST + 1];
	unsigned int above;
};

static void see_other(struct others *others, const struct rlk_holder *holder)
{
	if (!others->count ||
	    rlk_lease_left_us(holder) < rlk_lease_left_us(&others->least))
		others->least = *holder;
	if (rlk_random() % ++others->count == 0)
		others->any = *holder;
}

static void see(const struct rlk_value *columns, void *arg)
{
	struct asking *asking = arg;
	const struct rlk_request *request = asking->request;
	uint64_t bell = columns[LOOK_BELL].u64;
	unsigned int slot = (unsigned int) columns[LOOK_SLOT].u64;
	struct rlk_holder holder;

	asking->seen.known = true;
	asking->seen.permits = (unsigned int) columns[LOOK_PERMITS].u64;
	asking->line = bell && bell != rlk_conn_id(asking->conn);
	if (columns[LOOK_SLOT].type == RLK_NULL)
		return;
	asking->seen.used++;
	if (slot <= MOST)
		asking->taken[slot] = true;
	else
		asking->above++;
	rlk_lease_read_holder(columns, &holder);
	holder.slot = slot;
	if (holder.attempt != request->attempt)
		see_other(&asking->others, &holder);
	else if (asking->own < request->count)
		request->slots[asking->own++] = slot;
}

static enum rlk_fault look_now(struct asking *asking,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_bell bell = rlk_bell_of(asking->conn, asking->request);
	const struct rlk_value params[] = { rlk_text(bell.text),
					    rlk_text(asking->request->name) };

	return rlk_stmt_each(asking->conn, &look, params, see, asking, reterr);
}

/* As look_now(), on a member of a group behind all that was committed before.
 */
static enum rlk_fault look_surely(struct asking *asking,
				  struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = rlk_sure_begin(asking->conn, reterr);

	if (fault)
		return fault;
	*asking =
	    (struct asking){ .conn = asking->conn, .request = asking->request };
	fault = look_now(asking, reterr);
	rlk_sure_end(asking->conn);
	return fault;
}

/* The holder to report: the one that ends first, so that the first in line asks
 * again by then. Where the server's clock does not count, any may be dead, and
 * each is reported now and then: all are observed at the same time, or each
 * that is dead would last a TTL more. */
static const struct rlk_holder *pick(const struct asking *asking)
{
	const struct others *others = &asking->others;

	return asking->request->observes ? &others->any : &others->least;
}

/* ---------------------------------------------------------------- choose */

/* The last slot that may be taken: with all up to it, and those that are in use
 * above it, there are not too many. */
static unsigned int last_slot(const struct asking *asking)
{
	unsigned int above = asking->above;
	unsigned int last = MOST;

	while (last > 0 && last + above > asking->seen.permits)
		above += asking->taken[last--];
	return last;
}

static unsigned int count_free(const struct asking *asking)
{
	unsigned int last = last_slot(asking);
	unsigned int free = 0;

	for (unsigned int slot = 1; slot <= last; slot++)
		free += !asking->taken[slot];
	return free;
}

/* Choose as many of the @free slots as are wanted, in their order. */
static void choose(const struct asking *asking, unsigned int free)
{
	unsigned int wanted = asking->request->count;
	unsigned int *slots = asking->request->slots;

	for (unsigned int slot = 1; wanted; slot++) {
		if (asking->taken[slot])
			continue;
		/* Each choice of this many slots is as likely as any other. */
		if (rlk_random() % free-- < wanted) {
			*slots++ = slot;
			wanted--;
		}
	}
}

/* ------------------------------------------------------------------ rows */

static void values_of_insert(const void *of, size_t row,
			     struct rlk_value *ret_values)
{
	const struct asking *asking = of;
	const struct rlk_request *request = asking->request;

	ret_values[0] = rlk_text(request->name);
	ret_values[1] = rlk_u64(request->slots[row]);
	ret_values[2] = rlk_u64(request->session);
	ret_values[3] = rlk_u64(request->attempt);
	ret_values[4] = rlk_lease_max_us(request);
	ret_values[5] = rlk_text(request->info);
	ret_values[6] = rlk_u64(asking->seen.permits);
	ret_values[7] = rlk_u64(last_slot(asking));
}

/* ------------------------------------------------------------ operations */

static enum rlk_fault permits_release(struct rlk_conn *conn,
				      const struct rlk_request *request,
				      bool *ret_found,
				      struct rowlock_errinfo *reterr)
{
	/* It has asked for none yet. The row of slot 0 is a lock's. */
	if (!request->slots[0]) {
		*ret_found = false;
		return RLK_DONE;
	}
	return rlk_plea_release(conn, request, ret_found, reterr);
}

static enum rlk_fault permits_make(struct rlk_conn *conn,
				   const struct rlk_request *request,
				   struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_text(request->name),
					    rlk_u64(request->permits) };
	struct rlk_reply reply;

	return rlk_stmt_run(conn, &make, params, &reply, reterr);
}

/* Is the semaphore there, with the number of permits that the caller says, and
 * with enough for it? */
static bool agrees(const struct asking *asking)
{
	const struct rlk_request *request = asking->request;
	unsigned int permits = asking->seen.permits;

	return asking->seen.known && request->count <= permits &&
	       (!request->permits || request->permits == permits);
}

static enum rlk_fault fail_number(const struct asking *asking,
				  struct rowlock_errinfo *reterr)
{
	const struct rlk_request *request = asking->request;
	const char *server = rlk_conn_server(asking->conn)->name;
	unsigned int permits = asking->seen.permits;

	if (!asking->seen.known)
		rlk_fail(reterr, ROWLOCK_EINVAL,
			 "this semaphore is not there on %s yet; say how many "
			 "permits it has",
			 server);
	else if (request->permits && request->permits != permits)
		rlk_fail(reterr, ROWLOCK_EINVAL,
			 "this semaphore has %u permits on %s, and not %u; say "
			 "the same number, or change it there "
			 "(rowlock_semaphore_resize(), or UPDATE lock_permits)",
			 permits, server, request->permits);
	else
		rlk_fail(reterr, ROWLOCK_EINVAL,
			 "%u permits were asked for, and this semaphore has %u "
			 "on %s",
			 request->count, permits, server);
	return RLK_REFUSED;
}

/* Some of its rows are there, others gone: it is no hold. */
static enum rlk_fault give_back(const struct asking *asking,
				struct rowlock_errinfo *reterr)
{
	struct rlk_request part = *asking->request;
	enum rlk_fault fault;
	bool found;

	part.count = asking->own;
	fault = permits_release(asking->conn, &part, &found, reterr);
	return fault ? fault : RLK_CONFLICT;
}

static enum rlk_fault insert_now(const struct asking *asking,
				 struct rowlock_errinfo *reterr)
{
	const struct rlk_request *request = asking->request;
	struct rlk_packet *packet = rlk_packet_begin(asking->conn);
	enum rlk_fault fault;

	if (!packet || rlk_packet_add(packet, &insert, values_of_insert, asking,
				      request->count) < 0)
		return rlk_fail_memory(reterr);
	fault = rlk_packet_run(packet, reterr);
	if (fault == RLK_REFUSED && reterr->mysql == RACE)
		return RLK_CONFLICT;
	if (fault)
		return fault;
	/* Or its number has changed meanwhile. */
	return rlk_packet_affected(packet, 0) == request->count ? RLK_DONE
								: RLK_CONFLICT;
}

static bool may_guess(const struct rlk_request *request)
{
	return request->guess && request->guess <= request->permits &&
	       request->count == 1 && !request->passes_line;
}

/* RLK_CONFLICT: the slot was not free, somebody stands in line, or the number
 * is another. */
static enum rlk_fault try_guess(struct rlk_conn *conn,
				const struct rlk_request *request,
				struct rowlock_errinfo *reterr)
{
	struct rlk_bell bell = rlk_bell_of(conn, request);
	const struct rlk_value params[] = {
		rlk_text(request->name),   rlk_u64(request->guess),
		rlk_u64(request->session), rlk_u64(request->attempt),
		rlk_lease_max_us(request), rlk_text(request->info),
		rlk_text(request->name),   rlk_u64(request->permits),
		rlk_text(bell.text),
	};
	struct rlk_reply reply;
	enum rlk_fault fault;

	request->slots[0] = request->guess;
	fault = rlk_stmt_run(conn, &insert_guess, params, &reply, reterr);
	if (fault)
		return fault;
	return reply.affected == 1 ? RLK_DONE : RLK_CONFLICT;
}

static enum rlk_fault look_and_insert(struct rlk_conn *conn,
				      const struct rlk_request *request,
				      struct rlk_holder *ret_holder,
				      struct rowlock_errinfo *reterr)
{
	struct asking asking = { .conn = conn, .request = request };
	enum rlk_fault fault = look_now(&asking, reterr);
	unsigned int free;

	if (!fault && !agrees(&asking) && rlk_sure_sends(conn))
		fault = look_surely(&asking, reterr);
	if (fault)
		return fault;
	if (!asking.seen.known && request->permits)
		return RLK_ABSENT;
	if (asking.own == request->count)
		return RLK_DONE; /* by an earlier sending */
	if (asking.own)
		return give_back(&asking, reterr);
	if (!agrees(&asking))
		return fail_number(&asking, reterr);
	free = count_free(&asking);
	if ((!asking.line || request->passes_line) && free >= request->count) {
		choose(&asking, free);
		return insert_now(&asking, reterr);
	}
	*ret_holder = (struct rlk_holder){ 0 };
	if (asking.others.count)
		*ret_holder = *pick(&asking);
	return RLK_HELD;
}

static enum rlk_fault permits_acquire(struct rlk_conn *conn,
				      const struct rlk_request *request,
				      enum rlk_ask ask,
				      struct rlk_holder *ret_holder,
				      struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = RLK_CONFLICT;

	(void) ask;
	if (may_guess(request))
		fault = try_guess(conn, request, reterr);
	return rlk_fault_passes(fault)
		   ? look_and_insert(conn, request, ret_holder, reterr)
		   : fault;
}

const struct rlk_strategy rlk_strategy_permits = {
	.name = "lease",
	.bells = true,
	.many = true,
	.counted = true,
	.several = true,
	.acquire = permits_acquire,
	.make = permits_make,
	.release = permits_release,
	.confirm = rlk_attempt_confirm,
};

/* ------------------------------------------------------------- for people */

enum rlk_fault rlk_permits_look(struct rlk_conn *conn, const char *name,
				struct rlk_permits_seen *ret_seen,
				struct rowlock_errinfo *reterr)
{
	const struct rlk_request request = { .name = name, .slot = 1 };
	struct asking asking = { .conn = conn, .request = &request };
	enum rlk_fault fault = look_surely(&asking, reterr);

	if (!fault)
		*ret_seen = asking.seen;
	return fault;
}

enum rlk_fault rlk_permits_set(struct rlk_conn *conn, const char *name,
			       unsigned int permits,
			       struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_text(name), rlk_u64(permits) };
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_stmt_run(conn, &set, params, &reply, reterr);

	if (!fault)
		rlk_plea_hear(conn, name);
	return fault;
}
