/* SPDX-License-Identifier: MIT */
/*
 * A packet of leases, said: the statements, and which of them go in which
 * order. Each has the rows that it is about in the order of the primary key.
 *
 * A set is made by an INSERT that looks first, without locks, whether any name
 * has a row; then it makes all rows. A row that came in between makes it fail
 * as a whole, by a subquery that returns two rows where one may (MySQL manual,
 * "INSERT ... ON DUPLICATE KEY UPDATE": the values are evaluated only for a
 * duplicate). So no committed state has a set in part, two sets wait for each
 * other in one order only, and a set that is refused has locked nothing
 * meanwhile.
 */
#include "strategy/lease_batch_ask.h"

#include "db/server.h"
#include "db/token_sql.h"
#include "strategy/strategy.h"

/* An INSERT of rows p (n, c, a, m, i), to which a condition is added: values
 * name, session, attempt, maximum in microseconds or NULL, info or NULL. */
#define INSERT_P                                                               \
	"INSERT INTO business_lease (name, slot, session, attempt, "           \
	"acquired_at, expires_at, info) "                                      \
	"WITH p (n, c, a, m, i) AS ("                                          \
	"{SELECT ?0 COLLATE utf8mb4_bin, ?1, ?2, ?3, ?4| UNION ALL }) "        \
	"SELECT p.n, 0, p.c, p.a, UTC_TIMESTAMP(6), "                          \
	"UTC_TIMESTAMP(6) + INTERVAL p.m MICROSECOND, p.i FROM p "

/* See the lease strategy's other statements, of which these are the plurals. */
const struct rlk_many_def rlk_batch_looking = {
	"acquire",
	INSERT_P "WHERE NOT EXISTS (SELECT 1 FROM business_lease l "
		 "WHERE l.name = p.n AND l.slot = 0) "
		 "ON DUPLICATE KEY UPDATE name = name",
};

static const struct rlk_many_def make_sets = {
	"acquire",
	INSERT_P "WHERE p.a NOT IN (SELECT q.a FROM p q JOIN business_lease l "
		 "ON l.name = q.n AND l.slot = 0) "
		 "ORDER BY p.n "
		 "ON DUPLICATE KEY UPDATE attempt = (SELECT 1 UNION SELECT 2)",
};

static const struct rlk_many_def look_many = {
	"look",
	"SELECT " RLK_LEASE_HOLDER ", l.name" RLK_LEASE_OF_SESSION
	"WHERE l.name IN ({?0|, }) AND l.slot = 0",
};

#define DRAW_ONE(lock)                                                         \
	"INSERT INTO lock_token (strategy, name, token, drawn_at, attempt)"    \
	" SELECT 'lease', name, LAST_INSERT_ID(" RLK_TOKEN_OF_NEW "),"         \
	" UTC_TIMESTAMP(6), attempt"                                           \
	" FROM business_lease"                                                 \
	" WHERE {name = ?0 AND slot = 0 AND attempt = ?1|}" lock               \
	" ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(" RLK_TOKEN_OF_NEXT   \
	"), drawn_at = VALUES(drawn_at), attempt = VALUES(attempt)"

static const struct rlk_many_def draw_one = {
	"token",
	DRAW_ONE(" LOCK IN SHARE MODE"),
};

/* Behind an INSERT that may have found the name held: a transaction may have
 * that row locked for long. The attempt tells whose it is, but both servers
 * wait for a row's lock before they compare. Each of them knows one of the
 * words; to the other they are a comment. */
static const struct rlk_many_def draw_first = {
	"token",
	DRAW_ONE(" /*!80001 FOR SHARE SKIP LOCKED */"
		 "/*M! LOCK IN SHARE MODE SKIP LOCKED */"),
};

static const struct rlk_many_def ring_one = {
	"ring",
	"DO {RELEASE_LOCK(?0)|}",
};

static const struct rlk_many_def begin = { "begin", "BEGIN" };
static const struct rlk_many_def commit = { "commit", "COMMIT" };
static const struct rlk_many_def roll_back = { "rollback", "ROLLBACK" };

/* Both take an array of struct rlk_batch_row. */
static void values_of_acquire(const void *rows, size_t number,
			      struct rlk_value *ret_values)
{
	const struct rlk_batch_row *row =
	    (const struct rlk_batch_row *) rows + number;
	const struct rlk_request *request = &row->part->request;

	ret_values[0] = rlk_batch_name(row);
	ret_values[1] = rlk_u64(request->session);
	ret_values[2] = rlk_u64(request->attempt);
	ret_values[3] = rlk_lease_max_us(request);
	ret_values[4] = rlk_text(request->info);
}

static void values_of_ringing(const void *of, size_t row,
			      struct rlk_value *ret_values)
{
	const struct rlk_batch *batch = of;

	values_of_acquire(batch->of[RLK_BATCH_LEASES].rows, row, ret_values);
	ret_values[5] = rlk_text(batch->bell.text);
}

static void values_of_pair(const void *rows, size_t number,
			   struct rlk_value *ret_values)
{
	const struct rlk_batch_row *row =
	    (const struct rlk_batch_row *) rows + number;

	ret_values[0] = rlk_batch_name(row);
	ret_values[1] = rlk_u64(row->part->request.attempt);
}

static void value_of_bell(const void *bell, size_t row,
			  struct rlk_value *ret_values)
{
	(void) row;
	ret_values[0] = rlk_text(((const struct rlk_bell *) bell)->text);
}

static int add_pairs(struct rlk_batch *batch, const struct rlk_many_def *def,
		     const struct rlk_batch_row *rows, size_t count)
{
	return rlk_packet_add(batch->packet, def, values_of_pair, rows, count);
}

static bool add_releases(struct rlk_batch *batch)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(batch->conn);
	struct rlk_batch_rows *of = &batch->of[RLK_BATCH_RELEASES];

	if (dialect->lease_present_many)
		batch->present_statement = add_pairs(
		    batch, dialect->lease_present_many, of->rows, of->count);
	of->statement =
	    add_pairs(batch, dialect->lease_release_many, of->rows, of->count);
	if (!dialect->lease_present_many)
		batch->present_statement = of->statement;
	return of->statement >= 0 && batch->present_statement >= 0;
}

/* Release the bells that the connection has. */
static bool add_rings(struct rlk_batch *batch)
{
	const struct rlk_batch_rows *of = &batch->of[RLK_BATCH_RELEASES];
	uint64_t id = rlk_conn_id(batch->conn);

	for (size_t i = 0; i < of->count; i++) {
		const struct rlk_request *request = &of->rows[i].part->request;
		struct rlk_bell bell;

		if (!request->bell_conn || request->bell_conn != id)
			continue;
		bell = rlk_bell_of(batch->conn, request);
		if (rlk_packet_add(batch->packet, &ring_one, value_of_bell,
				   &bell, 1) < 0)
			return false;
	}
	return true;
}

static int add_plain(struct rlk_batch *batch, const struct rlk_many_def *def)
{
	return rlk_packet_add(batch->packet, def, NULL, NULL, 0);
}

static bool add_leases(struct rlk_batch *batch)
{
	struct rlk_batch_rows *of = &batch->of[RLK_BATCH_LEASES];

	of->statement =
	    batch->takes_bell || batch->sees_line
		? rlk_packet_add(batch->packet, batch->acquire,
				 values_of_ringing, batch, 1)
		: rlk_packet_add(batch->packet, batch->acquire,
				 values_of_acquire, of->rows, of->count);
	return of->statement >= 0;
}

static bool add_sets(struct rlk_batch *batch)
{
	for (size_t kind = RLK_BATCH_SETS; kind < RLK_BATCH_KINDS; kind++) {
		struct rlk_batch_rows *of = &batch->of[kind];

		if (!of->count)
			break;
		of->statement =
		    rlk_packet_add(batch->packet, &make_sets, values_of_acquire,
				   of->rows, of->count);
		if (of->statement < 0)
			return false;
	}
	return true;
}

/* After its INSERT. */
static bool add_first_draw(struct rlk_batch *batch)
{
	int number =
	    add_pairs(batch, &draw_first, batch->of[RLK_BATCH_LEASES].rows, 1);

	batch->of[RLK_BATCH_DRAWS].statement = number;
	return number >= 0;
}

static bool add_commit(struct rlk_batch *batch)
{
	batch->commit_statement = add_plain(batch, &commit);
	return batch->commit_statement >= 0;
}

static bool add_draws(struct rlk_batch *batch)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(batch->conn);
	struct rlk_batch_rows *of = &batch->of[RLK_BATCH_DRAWS];

	batch->draws_at_once = of->count > 1 && dialect->lease_draw_many;
	if (batch->draws_at_once) {
		of->statement = add_pairs(batch, dialect->lease_draw_many,
					  of->rows, of->count);
		return of->statement >= 0;
	}
	for (size_t i = 0; i < of->count; i++) {
		int number = add_pairs(batch, &draw_one, &of->rows[i], 1);

		if (number < 0)
			return false;
		if (i == 0)
			of->statement = number;
	}
	return true;
}

/* Sets come last: one that lost a race is nothing to the others. */
static bool add_all(struct rlk_batch *batch)
{
	return (!batch->together || add_plain(batch, &begin) >= 0) &&
	       (!batch->of[RLK_BATCH_RELEASES].count || add_releases(batch)) &&
	       (!batch->of[RLK_BATCH_LEASES].count || add_leases(batch)) &&
	       (!batch->first_draw || add_first_draw(batch)) &&
	       (!batch->together || add_commit(batch)) && add_rings(batch) &&
	       add_draws(batch) && add_sets(batch);
}

enum rlk_fault rlk_lease_run_packet(struct rlk_conn *conn,
				    struct rlk_packet *packet,
				    const struct rlk_patience *patience,
				    struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = rlk_packet_run(packet, reterr);

	while (fault == RLK_PENDING && patience->go_on(conn, patience->arg))
		fault = rlk_packet_resume(packet, reterr);
	return fault;
}

static enum rlk_fault run(struct rlk_batch *batch)
{
	return rlk_lease_run_packet(batch->conn, batch->packet, batch->patience,
				    batch->reterr);
}

enum rlk_fault rlk_batch_send(struct rlk_batch *batch, bool again)
{
	batch->packet = rlk_packet_begin(batch->conn);
	batch->commit_statement = -1;
	for (size_t kind = 0; kind < RLK_BATCH_KINDS; kind++)
		batch->of[kind].statement = -1;
	if (!batch->packet ||
	    (again && batch->together && add_plain(batch, &roll_back) < 0) ||
	    !add_all(batch))
		return rlk_fail_memory(batch->reterr);
	return run(batch);
}

enum rlk_fault rlk_batch_ask_who(struct rlk_batch *batch)
{
	rlk_packet_begin(batch->conn);
	for (size_t kind = RLK_BATCH_LEASES; kind < RLK_BATCH_KINDS; kind++) {
		struct rlk_batch_rows *of = &batch->of[kind];

		of->statement = -1;
		if (!of->unclear)
			continue;
		of->statement =
		    add_pairs(batch, &look_many, of->rows, of->count);
		if (of->statement < 0)
			return rlk_fail_memory(batch->reterr);
	}
	return run(batch);
}
