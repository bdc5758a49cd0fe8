/* SPDX-License-Identifier: MIT */
/*
 * Many leases in one round trip: one DELETE for all that are given back, one
 * INSERT for all that are asked for, one for all that are drawn for.
 *
 * On MariaDB DELETE and INSERT are one transaction, which costs one write to
 * disk instead of two. The DELETE may wait, in the order of the primary key,
 * and has locked nothing but leases of our own by then; the INSERT does not
 * wait. If it would have to (somebody's transaction has a name's row locked),
 * all is undone and sent again with an INSERT that looks before it touches: a
 * row that is held, or tied up, delays nobody. That one waits only for a row
 * that is being made at this moment, and should two ever wait for each other
 * so, error 1213 sends each request alone.
 *
 * The draws behind it are one statement, which locks the lease and then the
 * token of each name, in the order of the names. A single acquire and its draw
 * are one transaction.
 *
 * Elsewhere the INSERT that looks is the first, each draw is a statement, and
 * each statement commits by itself, so that an error in the middle leaves
 * nothing open.
 *
 * If fewer rows were made than asked for, one more statement tells who has each
 * name; but not if all were asked for again, and none was free.
 */
#include "strategy/lease_private.h"

#include "base/error.h"
#include "db/server.h"
#include "strategy/bell.h"

#include <stdlib.h>
#include <string.h>

/* See the lease strategy's other statements, of which these are the plurals. */
static const struct rlk_many_def acquire_looking = {
	"acquire",
	"INSERT INTO business_lease (name, slot, session, attempt, "
	"acquired_at, expires_at, info) "
	"WITH p (n, c, a, m, i) AS ("
	"{SELECT ?0 COLLATE utf8mb4_bin, ?1, ?2, ?3, ?4| UNION ALL }) "
	"SELECT p.n, 0, p.c, p.a, UTC_TIMESTAMP(6), "
	"UTC_TIMESTAMP(6) + INTERVAL p.m MICROSECOND, p.i FROM p "
	"WHERE NOT EXISTS (SELECT 1 FROM business_lease l "
	"WHERE l.name = p.n AND l.slot = 0) "
	"ON DUPLICATE KEY UPDATE name = p.n",
};

static const struct rlk_many_def look_many = {
	"look",
	"SELECT l.attempt, l.session,"
	" TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), s.expires_at),"
	" TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_at),"
	" s.beat, s.ttl,"
	" TIMESTAMPDIFF(MICROSECOND, l.acquired_at, l.expires_at) DIV 1000,"
	" l.name"
	" FROM business_lease l LEFT JOIN lease_session s ON s.id = l.session"
	" WHERE l.name IN ({?0|, }) AND l.slot = 0",
};

static const struct rlk_many_def draw_one = {
	"token",
	"INSERT INTO lock_token (strategy, name, token, drawn_at)"
	" SELECT 'lease', name, LAST_INSERT_ID(TIMESTAMPDIFF(MICROSECOND,"
	" '1970-01-01', UTC_TIMESTAMP(6))), UTC_TIMESTAMP(6)"
	" FROM business_lease"
	" WHERE {name = ?0 AND slot = 0 AND attempt = ?1|}"
	" LOCK IN SHARE MODE"
	" ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID("
	"GREATEST(token + 1, VALUES(token))), drawn_at = VALUES(drawn_at)",
};

static const struct rlk_many_def ring_one = {
	"ring",
	"DO {RELEASE_LOCK(?0)|}",
};

static const struct rlk_many_def begin = { "begin", "BEGIN" };
static const struct rlk_many_def commit = { "commit", "COMMIT" };
static const struct rlk_many_def roll_back = { "rollback", "ROLLBACK" };

/* A packet in the making. Parts are sorted by act, then by name, so that those
 * of one act are neighbours. */
struct batch {
	struct rlk_conn *conn;
	struct rlk_packet *packet;
	const struct rlk_patience *patience;
	struct rowlock_errinfo *reterr;
	bool together;   /* DELETE and INSERT, or INSERT and draw, are one
			    transaction */
	bool first_draw; /* a single acquire, which draws */
	bool takes_bell; /* and has its bell taken */
	bool sees_line;  /* or looked at who has it */
	int commit_statement;
	struct rlk_part **acquires;
	size_t acquire_count;
	const struct rlk_many_def *acquire; /* how it is said */
	int acquire_statement;
	uint64_t made; /* rows, if it takes a bell */
	struct rlk_bell bell;
	struct rlk_part **releases;
	size_t release_count;
	int present_statement;
	int release_statement;
	struct rlk_part **draws;
	size_t draw_count;
	int draw_statement; /* the first */
	bool draws_at_once; /* it is the only one */
};

static int compare(const void *a, const void *b)
{
	const struct rlk_part *one = *(struct rlk_part *const *) a;
	const struct rlk_part *other = *(struct rlk_part *const *) b;

	if (one->act != other->act)
		return one->act < other->act ? -1 : 1;
	return strcmp(one->request.name, other->request.name);
}

static size_t count_act(struct rlk_part **parts, size_t count, enum rlk_act act)
{
	size_t found = 0;

	while (found < count && parts[found]->act == act)
		found++;
	return found;
}

static void sort(struct batch *batch, struct rlk_part **parts, size_t count)
{
	qsort(parts, count, sizeof(*parts), compare);
	batch->acquires = parts;
	batch->acquire_count = count_act(parts, count, RLK_ACT_ACQUIRE);
	parts += batch->acquire_count;
	count -= batch->acquire_count;
	batch->releases = parts;
	batch->release_count = count_act(parts, count, RLK_ACT_RELEASE);
	batch->draws = parts + batch->release_count;
	batch->draw_count = count - batch->release_count;
}

/* Those that were held when they were asked for before. */
static size_t count_polls(const struct batch *batch)
{
	size_t count = 0;

	for (size_t i = 0; i < batch->acquire_count; i++)
		count += batch->acquires[i]->ask == RLK_ASK_AGAIN;
	return count;
}

static enum rlk_fault fail_memory(struct batch *batch)
{
	rlk_fail(batch->reterr, ROWLOCK_ENOMEM, "out of memory");
	return RLK_FAILED;
}

/* ------------------------------------------------------------ questions */

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
	const struct batch *batch = of;

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
static int add_pairs(struct batch *batch, const struct rlk_many_def *def,
		     struct rlk_part **parts, size_t count)
{
	return rlk_packet_add(batch->packet, def, values_of_pair, parts, count);
}

static bool add_releases(struct batch *batch)
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
static bool add_rings(struct batch *batch)
{
	uint64_t id = rlk_conn_id(batch->conn);

	for (size_t i = 0; i < batch->release_count; i++) {
		const struct rlk_request *request =
		    &batch->releases[i]->request;
		struct rlk_bell bell;

		if (!request->bell_conn || request->bell_conn != id)
			continue;
		bell = rlk_bell_of(batch->conn, request->name);
		if (rlk_packet_add(batch->packet, &ring_one, value_of_bell,
				   &bell, 1) < 0)
			return false;
	}
	return true;
}

static int add_plain(struct batch *batch, const struct rlk_many_def *def)
{
	return rlk_packet_add(batch->packet, def, NULL, NULL, 0);
}

static bool add_acquires(struct batch *batch)
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
static bool add_first_draw(struct batch *batch)
{
	batch->draw_statement = add_pairs(batch, &draw_one, batch->acquires, 1);
	return batch->draw_statement >= 0;
}

static bool add_commit(struct batch *batch)
{
	batch->commit_statement = add_plain(batch, &commit);
	return batch->commit_statement >= 0;
}

static bool add_each_draw(struct batch *batch)
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

static bool add_draws(struct batch *batch)
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

static bool add_all(struct batch *batch)
{
	return (!batch->together || add_plain(batch, &begin) >= 0) &&
	       (!batch->release_count || add_releases(batch)) &&
	       (!batch->acquire_count || add_acquires(batch)) &&
	       (!batch->first_draw || add_first_draw(batch)) &&
	       (!batch->together || add_commit(batch)) && add_rings(batch) &&
	       add_draws(batch);
}

static enum rlk_fault run(struct batch *batch)
{
	const struct rlk_patience *patience = batch->patience;
	enum rlk_fault fault = rlk_packet_run(batch->packet, batch->reterr);

	while (fault == RLK_PENDING &&
	       patience->go_on(batch->conn, patience->arg))
		fault = rlk_packet_resume(batch->packet, batch->reterr);
	return fault;
}

static enum rlk_fault send(struct batch *batch, bool again)
{
	batch->packet = rlk_packet_begin(batch->conn);
	batch->release_statement = -1;
	batch->acquire_statement = -1;
	batch->commit_statement = -1;
	if (!batch->packet ||
	    (again && batch->together && add_plain(batch, &roll_back) < 0) ||
	    !add_all(batch))
		return fail_memory(batch);
	return run(batch);
}

/* ---------------------------------------------------------- transaction */

static bool was_answered(const struct batch *batch, int statement)
{
	return rlk_packet_answered(batch->packet) > (size_t) statement;
}

static bool failed_at(const struct batch *batch, int statement)
{
	return rlk_packet_answered(batch->packet) == (size_t) statement;
}

/* A name's row is locked: look before touching any. */
static enum rlk_fault send_all(struct batch *batch)
{
	enum rlk_fault fault = send(batch, false);

	if (fault != RLK_BUSY || batch->acquire == &acquire_looking ||
	    batch->sees_line || !failed_at(batch, batch->acquire_statement))
		return fault;
	batch->acquire = &acquire_looking;
	batch->first_draw = false;
	batch->takes_bell = false;
	return send(batch, true);
}

/* Nothing of it has been done, unless it failed in its COMMIT: then who knows?
 * It must not stay open. */
static enum rlk_fault end_transaction(struct batch *batch, enum rlk_fault fault)
{
	struct rlk_conn *conn = batch->conn;
	struct rowlock_errinfo error;

	if (failed_at(batch, batch->commit_statement) &&
	    fault != RLK_CONFLICT && fault != RLK_PENDING) {
		rlk_conn_spoil(conn);
		return RLK_UNKNOWN;
	}
	if (rlk_conn_usable(conn) && rlk_stmt_text(conn, "ROLLBACK", &error))
		rlk_conn_spoil(conn);
	if (batch->takes_bell)
		rlk_lease_drop_bell(conn, batch->acquires[0]->request.name);
	return fault;
}

/* -------------------------------------------------------------- answers */

static void found(const struct rlk_value *columns, void *arg)
{
	const struct batch *batch = arg;

	for (size_t i = 0; i < batch->release_count; i++) {
		struct rlk_part *part = batch->releases[i];

		if (part->request.attempt == columns[0].u64)
			part->found = true;
	}
}

static size_t count_found(const struct batch *batch)
{
	size_t count = 0;

	for (size_t i = 0; i < batch->release_count; i++)
		count += batch->releases[i]->found;
	return count;
}

/* What was not there is asked for alone, which makes sure. */
static void read_releases(struct batch *batch)
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

static uint64_t token_of(const struct batch *batch, int draw)
{
	return was_answered(batch, draw) &&
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
	const struct batch *batch = arg;
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

static void read_draws_at_once(struct batch *batch)
{
	for (size_t i = 0; i < batch->draw_count; i++) {
		struct rlk_part *part = batch->draws[i];

		part->token = 0;
		part->answered =
		    i == 0 ||
		    compare_name(part->request.name, &batch->draws[i - 1]) != 0;
	}
	rlk_packet_each(batch->packet, batch->draw_statement, drawn, batch);
}

static void read_draws(struct batch *batch)
{
	for (size_t i = 0; i < batch->draw_count; i++) {
		struct rlk_part *part = batch->draws[i];
		int number = batch->draw_statement + (int) i;

		if (!was_answered(batch, number))
			return;
		part->token = token_of(batch, number);
		part->answered = true;
	}
}

static void holder_of(const struct rlk_value *columns, void *arg)
{
	const struct batch *batch = arg;
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

/* Some were held, or are ours from an earlier sending: who has what? One that
 * nobody has any more is asked for again. */
static enum rlk_fault look(struct batch *batch)
{
	enum rlk_fault fault;

	rlk_packet_begin(batch->conn);
	if (add_pairs(batch, &look_many, batch->acquires,
		      batch->acquire_count) < 0)
		return fail_memory(batch);
	fault = run(batch);
	if (fault)
		return fault;
	for (size_t i = 0; i < batch->acquire_count; i++) {
		batch->acquires[i]->verdict = RLK_AGAIN;
		batch->acquires[i]->answered = true;
	}
	rlk_packet_each(batch->packet, 0, holder_of, batch);
	return RLK_DONE;
}

/* What an INSERT brings back that takes the bell. */
static void made_ringing(const struct rlk_value *columns, void *arg)
{
	struct batch *batch = arg;
	struct rlk_part *part = batch->acquires[0];

	batch->made = columns[0].u64 == part->request.attempt;
	if (batch->made)
		rlk_lease_read_bell(&columns[1], &part->holder);
}

static uint64_t count_made(struct batch *batch)
{
	if (!batch->takes_bell)
		return rlk_packet_affected(batch->packet,
					   batch->acquire_statement);
	rlk_packet_each(batch->packet, batch->acquire_statement, made_ringing,
			batch);
	return batch->made;
}

static bool read_acquires(struct batch *batch)
{
	size_t count = batch->acquire_count;
	uint64_t made = count_made(batch);
	bool none = made == 0 && count_polls(batch) == count;

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

/* What was answered counts, also if not all was. False: who has the names that
 * were asked for is not known yet. */
static bool read_all(struct batch *batch)
{
	int releases = batch->together ? batch->commit_statement
				       : batch->release_statement;
	int acquires = batch->together ? batch->commit_statement
				       : batch->acquire_statement;

	if (batch->release_count && was_answered(batch, releases))
		read_releases(batch);
	if (batch->draws_at_once && was_answered(batch, batch->draw_statement))
		read_draws_at_once(batch);
	else if (!batch->draws_at_once)
		read_draws(batch);
	return !batch->acquire_count || !was_answered(batch, acquires) ||
	       read_acquires(batch);
}

/* What goes with the INSERT of a single acquire. */
static void choose_for_one(struct batch *batch,
			   const struct rlk_dialect *dialect)
{
	const struct rlk_request *request = &batch->acquires[0]->request;
	const struct rlk_many_def *ringing = dialect->lease_acquire_one_ringing;
	const struct rlk_many_def *seeing =
	    dialect->lease_acquire_one_seeing_line;

	batch->first_draw = request->draw;
	if (!request->draw || !request->bell)
		return;
	batch->takes_bell = ringing;
	batch->sees_line = !ringing && seeing;
	if (ringing || seeing)
		batch->acquire = ringing ? ringing : seeing;
	batch->bell = rlk_bell_of(batch->conn, request->name);
}

enum rlk_fault rlk_lease_batch(struct rlk_conn *conn, struct rlk_part **parts,
			       size_t count,
			       const struct rlk_patience *patience,
			       struct rowlock_errinfo *reterr)
{
	const struct rlk_dialect *dialect =
	    rlk_server_dialect(rlk_conn_server(conn));
	const struct rlk_many_def *locking = dialect->lease_acquire_many;
	struct batch batch = {
		.conn = conn,
		.patience = patience,
		.reterr = reterr,
	};
	enum rlk_fault fault;
	bool firsts;
	bool known;

	sort(&batch, parts, count);
	firsts = count_polls(&batch) == 0;
	batch.acquire = locking && firsts ? locking : &acquire_looking;
	if (count == 1 && batch.acquire_count == 1 && firsts)
		choose_for_one(&batch, dialect);
	batch.together = locking && batch.acquire_count &&
			 (batch.release_count || batch.first_draw);
	fault = send_all(&batch);
	if (!batch.packet)
		return fault;
	if (batch.together && !was_answered(&batch, batch.commit_statement))
		fault = end_transaction(&batch, fault);
	known = read_all(&batch);
	return known || fault ? fault : look(&batch);
}
