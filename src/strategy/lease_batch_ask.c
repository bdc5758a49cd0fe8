/* SPDX-License-Identifier: MIT */
/*
 * A packet of leases, said: the statements, and which of them go in which
 * order. Each has the rows that it is about in the order of the primary key.
 */
#include "strategy/lease_batch_ask.h"

#include "base/error.h"
#include "db/server.h"
#include "db/token_sql.h"
#include "strategy/strategy.h"

/* See the lease strategy's other statements, of which these are the plurals. */
const struct rlk_many_def rlk_batch_looking = {
	"acquire",
	RLK_LEASE_INSERT_P "WHERE NOT EXISTS (SELECT 1 FROM business_lease l "
			   "WHERE l.name = p.n AND l.slot = 0) "
			   "ON DUPLICATE KEY UPDATE name = name",
};

const struct rlk_many_def rlk_lease_look_many = {
	"look",
	"SELECT " RLK_LEASE_HOLDER ", l.name" RLK_LEASE_OF_SESSION
	"WHERE l.name IN ({?0|, }) AND l.slot = 0",
};

static const struct rlk_many_def draw_one = {
	"token",
	"INSERT INTO lock_token (strategy, name, token, drawn_at, attempt)"
	" SELECT 'lease', name, LAST_INSERT_ID(" RLK_TOKEN_OF_NEW "),"
	" UTC_TIMESTAMP(6), attempt"
	" FROM business_lease"
	" WHERE {name = ?0 AND slot = 0 AND attempt = ?1|}"
	" LOCK IN SHARE MODE"
	" ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(" RLK_TOKEN_OF_NEXT
	"), drawn_at = VALUES(drawn_at), attempt = VALUES(attempt)",
};

static const struct rlk_many_def ring_one = {
	"ring",
	"DO {RELEASE_LOCK(?0)|}",
};

static const struct rlk_many_def begin = { "begin", "BEGIN" };
static const struct rlk_many_def commit = { "commit", "COMMIT" };
static const struct rlk_many_def roll_back = { "rollback", "ROLLBACK" };

static void values_of_acquire(const void *parts, size_t row,
			      struct rlk_value *ret_values)
{
	struct rlk_part *const *acquires = parts;
	const struct rlk_request *request = &acquires[row]->request;

	ret_values[0] = rlk_text(request->name);
	ret_values[1] = rlk_u64(request->session);
	ret_values[2] = rlk_u64(request->attempt);
	ret_values[3] = rlk_lease_max_us(request);
	ret_values[4] = rlk_text(request->info);
}

static void values_of_ringing(const void *of, size_t row,
			      struct rlk_value *ret_values)
{
	const struct rlk_batch *batch = of;

	values_of_acquire(batch->acquires, row, ret_values);
	ret_values[5] = rlk_text(batch->bell.text);
}

static void values_of_pair(const void *parts, size_t row,
			   struct rlk_value *ret_values)
{
	struct rlk_part *const *pairs = parts;
	const struct rlk_request *request = &pairs[row]->request;

	ret_values[0] = rlk_text(request->name);
	ret_values[1] = rlk_u64(request->attempt);
}

static void value_of_bell(const void *bell, size_t row,
			  struct rlk_value *ret_values)
{
	(void) row;
	ret_values[0] = rlk_text(((const struct rlk_bell *) bell)->text);
}

/* Rows of name and attempt. */
static int add_pairs(struct rlk_batch *batch, const struct rlk_many_def *def,
		     struct rlk_part **parts, size_t count)
{
	return rlk_packet_add(batch->packet, def, values_of_pair, parts, count);
}

static bool add_releases(struct rlk_batch *batch)
{
	const struct rlk_dialect *dialect =
	    rlk_server_dialect(rlk_conn_server(batch->conn));

	if (dialect->lease_present_many)
		batch->present_statement =
		    add_pairs(batch, dialect->lease_present_many,
			      batch->releases, batch->release_count);
	batch->release_statement =
	    add_pairs(batch, dialect->lease_release_many, batch->releases,
		      batch->release_count);
	if (!dialect->lease_present_many)
		batch->present_statement = batch->release_statement;
	return batch->release_statement >= 0 && batch->present_statement >= 0;
}

/* Those bells that the connection has. */
static bool add_rings(struct rlk_batch *batch)
{
	uint64_t id = rlk_conn_id(batch->conn);

	for (size_t i = 0; i < batch->release_count; i++) {
		const struct rlk_request *request =
		    &batch->releases[i]->request;
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

static bool add_acquires(struct rlk_batch *batch)
{
	batch->acquire_statement =
	    batch->takes_bell || batch->sees_line
		? rlk_packet_add(batch->packet, batch->acquire,
				 values_of_ringing, batch, 1)
		: rlk_packet_add(batch->packet, batch->acquire,
				 values_of_acquire, batch->acquires,
				 batch->acquire_count);
	return batch->acquire_statement >= 0;
}

/* After its INSERT. On MariaDB that has locked the row of a name that another
 * has, so this one does not wait for it; elsewhere it may. */
static bool add_first_draw(struct rlk_batch *batch)
{
	batch->draw_statement = add_pairs(batch, &draw_one, batch->acquires, 1);
	return batch->draw_statement >= 0;
}

static bool add_commit(struct rlk_batch *batch)
{
	batch->commit_statement = add_plain(batch, &commit);
	return batch->commit_statement >= 0;
}

static bool add_each_draw(struct rlk_batch *batch)
{
	for (size_t i = 0; i < batch->draw_count; i++) {
		int number = add_pairs(batch, &draw_one, &batch->draws[i], 1);

		if (number < 0)
			return false;
		if (i == 0)
			batch->draw_statement = number;
	}
	return true;
}

static bool add_draws(struct rlk_batch *batch)
{
	const struct rlk_dialect *dialect =
	    rlk_server_dialect(rlk_conn_server(batch->conn));

	batch->draws_at_once =
	    batch->draw_count > 1 && dialect->lease_draw_many;
	if (!batch->draws_at_once)
		return add_each_draw(batch);
	batch->draw_statement = add_pairs(batch, dialect->lease_draw_many,
					  batch->draws, batch->draw_count);
	return batch->draw_statement >= 0;
}

static bool add_all(struct rlk_batch *batch)
{
	return (!batch->together || add_plain(batch, &begin) >= 0) &&
	       (!batch->release_count || add_releases(batch)) &&
	       (!batch->acquire_count || add_acquires(batch)) &&
	       (!batch->first_draw || add_first_draw(batch)) &&
	       (!batch->together || add_commit(batch)) && add_rings(batch) &&
	       add_draws(batch);
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
	batch->release_statement = -1;
	batch->acquire_statement = -1;
	batch->commit_statement = -1;
	if (!batch->packet ||
	    (again && batch->together && add_plain(batch, &roll_back) < 0) ||
	    !add_all(batch))
		return rlk_lease_fail_memory(batch->reterr);
	return run(batch);
}

enum rlk_fault rlk_batch_ask_who(struct rlk_batch *batch)
{
	rlk_packet_begin(batch->conn);
	if (add_pairs(batch, &rlk_lease_look_many, batch->acquires,
		      batch->acquire_count) < 0)
		return rlk_lease_fail_memory(batch->reterr);
	return run(batch);
}
