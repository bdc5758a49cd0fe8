/* SPDX-License-Identifier: MIT */
/*
 * Readers and writers, in SQL; see sides.h for why that excludes.
 *
 * Where a connection takes packets, a reader's INSERT and its look go in one
 * round trip; both commit by themselves, in that order. Only what the look has
 * found counts: of the INSERT no answer is believed, but that it made nothing.
 * A look grants by rows that are not there, so a member of a group waits for
 * all that was committed before it (sure.h).
 *
 * Failure modes: an INSERT without its look leaves a row. It is taken back, or
 * the question is unclear, and is settled as every other.
 */
#include "strategy/sides.h"

#include "base/error.h"
#include "strategy/attempt.h"
#include "strategy/lease_private.h"
#include "strategy/strategy.h"
#include "strategy/sure.h"

/* As many as there are slots behind the writer's. */
#define READER_SLOTS 2147483647u

/* In SQL. */
#define WRITER "2147483648"

static unsigned int writer_slot(uint64_t attempt)
{
	(void) attempt;
	return RLK_SLOT_WRITER;
}

static unsigned int reader_slot(uint64_t attempt)
{
	return RLK_SLOT_WRITER + 1 + (unsigned int) (attempt % READER_SLOTS);
}

/* A writer may let its own reader in. */
static const struct rlk_many_def insert = {
	"acquire",
	"INSERT INTO business_lease (name, slot, session, attempt, "
	"acquired_at, info) "
	"SELECT p.n, p.s, p.c, p.a, UTC_TIMESTAMP(6), p.i FROM ("
	"{SELECT ?0 COLLATE utf8mb4_bin AS n, ?1 AS s, ?2 AS c, ?3 AS a, "
	"?4 AS i, ?5 AS u|}) p "
	"WHERE NOT EXISTS (SELECT 1 FROM business_lease l WHERE l.name = p.n "
	"AND l.slot = " WRITER " AND l.attempt <> p.u) "
	"ON DUPLICATE KEY UPDATE name = name",
};

static const struct rlk_many_def look = {
	"look",
	"SELECT " RLK_LEASE_HOLDER ", l.slot" RLK_LEASE_OF_SESSION
	"WHERE l.name IN ({?0|, }) AND l.slot IN (" WRITER ", {?1|, })",
};
#define LOOK_SLOT RLK_LEASE_HOLDER_COLUMNS

/* In the order of the primary key: the LIMIT never cuts the writer's row off.
 */
static const struct rlk_stmt_def look_all = {
	"look",
	"SELECT " RLK_LEASE_HOLDER ", l.slot" RLK_LEASE_OF_SESSION
	"WHERE l.name = ? AND l.slot >= " WRITER " ORDER BY l.slot LIMIT ?",
};

static void values_of_insert(const void *requests, size_t row,
			     struct rlk_value *ret_values)
{
	const struct rlk_request *request =
	    (const struct rlk_request *) requests + row;

	ret_values[0] = rlk_text(request->name);
	ret_values[1] = rlk_u64(request->slot);
	ret_values[2] = rlk_u64(request->session);
	ret_values[3] = rlk_u64(request->attempt);
	ret_values[4] = rlk_text(request->info);
	ret_values[5] = rlk_u64(request->under);
}

static void values_of_look(const void *requests, size_t row,
			   struct rlk_value *ret_values)
{
	const struct rlk_request *request =
	    (const struct rlk_request *) requests + row;

	ret_values[0] = rlk_text(request->name);
	ret_values[1] = rlk_u64(request->slot);
}

/* --------------------------------------------------------------- readers */

/* A reader that asks. */
struct asking {
	struct rlk_conn *conn;
	const struct rlk_request *request;
	bool made; /* the INSERT made a row, or may have */

	/* The result of the look. */
	bool own;    /* the row of its attempt */
	bool lives;  /* and the session of that */
	bool under;  /* the row of the writer that lets it in */
	bool writer; /* another's than that */
	struct rlk_holder holder;
};

static void see(const struct rlk_value *columns, void *arg)
{
	struct asking *asking = arg;
	const struct rlk_request *request = asking->request;
	struct rlk_holder holder;

	rlk_lease_read_holder(columns, &holder);
	if (columns[LOOK_SLOT].u64 != RLK_SLOT_WRITER) {
		asking->own = holder.attempt == request->attempt;
		asking->lives =
		    rlk_holder_is(&holder, request->attempt, request->session);
	} else if (request->under && holder.attempt == request->under) {
		asking->under =
		    rlk_holder_is(&holder, request->under, request->session);
	} else {
		asking->writer = true;
		asking->holder = holder;
	}
}

static enum rlk_fault say_look(struct asking *asking,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_packet *packet = rlk_packet_begin(asking->conn);
	enum rlk_fault fault;

	if (!packet || rlk_packet_add(packet, &look, values_of_look,
				      asking->request, 1) < 0)
		return rlk_fail_memory(reterr);
	fault = rlk_packet_run(packet, reterr);
	if (!fault)
		rlk_packet_each(packet, 0, see, asking);
	return fault;
}

static enum rlk_fault look_now(struct asking *asking,
			       struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = rlk_sure_begin(asking->conn, reterr);

	if (fault)
		return fault;
	fault = say_look(asking, reterr);
	rlk_sure_end(asking->conn);
	return fault;
}

/* *@ret_looked: the look was made with it. */
static enum rlk_fault insert_now(struct asking *asking, bool *ret_looked,
				 struct rowlock_errinfo *reterr)
{
	struct rlk_packet *packet = rlk_packet_begin(asking->conn);
	bool together = rlk_conn_profile(asking->conn)->packets &&
			!rlk_sure_sends(asking->conn);
	enum rlk_fault fault;

	if (!packet ||
	    rlk_packet_add(packet, &insert, values_of_insert, asking->request,
			   1) < 0 ||
	    (together && rlk_packet_add(packet, &look, values_of_look,
					asking->request, 1) < 0))
		return rlk_fail_memory(reterr);
	fault = rlk_packet_run(packet, reterr);
	if (rlk_packet_answered(packet) > 0)
		asking->made = rlk_packet_affected(packet, 0) == 1;
	if (fault)
		return fault;
	*ret_looked = together;
	if (together)
		rlk_packet_each(packet, 1, see, asking);
	return RLK_DONE;
}

/* Take the row back that the INSERT has made; @verdict if that is done. A row
 * that is left is the attempt's, which will be asked for again, or abandoned.
 */
static enum rlk_fault step_back(const struct asking *asking,
				enum rlk_fault verdict,
				struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo error;
	enum rlk_fault fault;
	bool found;

	fault =
	    rlk_lease_release(asking->conn, asking->request, &found, &error);
	if (!fault)
		return verdict;
	if (fault == RLK_PENDING)
		return RLK_PENDING;
	rlk_fail(reterr, ROWLOCK_ECONNECT,
		 "%s did not take a reader's row back (%s)",
		 rlk_conn_server(asking->conn)->name, error.message);
	return RLK_UNKNOWN;
}

/* The question failed: did it make a row? */
static enum rlk_fault failed(const struct asking *asking, enum rlk_fault fault,
			     struct rowlock_errinfo *reterr)
{
	if (!asking->made || rlk_fault_open(fault))
		return fault;
	return step_back(asking, fault, reterr);
}

/* A reader that was let in by a writer whose row is gone may read beside
 * another writer, or behind what another has written. */
static enum rlk_fault judge(const struct asking *asking,
			    struct rowlock_errinfo *reterr)
{
	bool kept_out =
	    asking->writer || (asking->request->under && !asking->under);
	enum rlk_fault verdict = kept_out ? RLK_HELD : RLK_CONFLICT;

	if (asking->lives && !kept_out)
		return RLK_DONE;
	/* Its row is gone meanwhile, or the slot is another reader's. */
	if (!asking->own)
		return verdict;
	return step_back(asking, verdict, reterr);
}

static enum rlk_fault reader_acquire(struct rlk_conn *conn,
				     const struct rlk_request *request,
				     enum rlk_ask ask,
				     struct rlk_holder *ret_holder,
				     struct rowlock_errinfo *reterr)
{
	struct asking asking = { .conn = conn, .request = request };
	bool looked = false;
	enum rlk_fault fault = insert_now(&asking, &looked, reterr);

	if (fault)
		return failed(&asking, fault, reterr);
	if (!looked && (asking.made || ask != RLK_ASK_AGAIN)) {
		fault = look_now(&asking, reterr);
		if (fault)
			return failed(&asking, fault, reterr);
		looked = true;
	}
	*ret_holder = asking.holder;
	return looked ? judge(&asking, reterr) : RLK_HELD;
}

/* Look for the writer that keeps readers out. */
static enum rlk_fault reader_look(struct rlk_conn *conn,
				  const struct rlk_request *request,
				  struct rlk_holder *ret_holder,
				  struct rowlock_errinfo *reterr)
{
	struct rlk_request writer = *request;

	writer.slot = RLK_SLOT_WRITER;
	return rlk_lease_look(conn, &writer, ret_holder, reterr);
}

const struct rlk_strategy rlk_strategy_reader = {
	.name = "lease",
	.bells = true,
	.many = true,
	.shared = true,
	.slot = reader_slot,
	.held_slot = RLK_SLOT_WRITER,
	.acquire = reader_acquire,
	.release = rlk_lease_release,
	.confirm = rlk_attempt_confirm,
	.draw = rlk_lease_draw,
	.raise = rlk_lease_raise,
	.look = reader_look,
};

/* --------------------------------------------------------------- writers */

const struct rlk_strategy rlk_strategy_writer = {
	.name = "lease",
	.bells = true,
	.drained = true,
	.slot = writer_slot,
	.held_slot = RLK_SLOT_WRITER,
	.acquire = rlk_lease_acquire,
	.release = rlk_lease_release,
	.confirm = rlk_attempt_confirm,
	.draw = rlk_lease_draw,
	.raise = rlk_lease_raise,
	.look = rlk_lease_look,
};

struct visit {
	void (*fn)(const struct rlk_rwlock_seen *seen, void *arg);
	void *arg;
};

static void see_row(const struct rlk_value *columns, void *arg)
{
	const struct visit *visit = arg;
	struct rlk_rwlock_seen seen = {
		.slot = (unsigned int) columns[LOOK_SLOT].u64,
	};

	rlk_lease_read_holder(columns, &seen.holder);
	visit->fn(&seen, visit->arg);
}

enum rlk_fault rlk_rwlock_look(struct rlk_conn *conn, const char *name,
			       void (*fn)(const struct rlk_rwlock_seen *seen,
					  void *arg),
			       void *arg, struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(name),
		rlk_u64(1 + RLK_READERS_MOST),
	};
	struct visit visit = { fn, arg };
	enum rlk_fault fault = rlk_sure_begin(conn, reterr);

	if (fault)
		return fault;
	fault = rlk_stmt_each(conn, &look_all, params, see_row, &visit, reterr);
	rlk_sure_end(conn);
	return fault;
}
