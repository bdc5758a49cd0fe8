/* SPDX-License-Identifier: MIT */
/*
 * Reads sessions, then leases, in pages by primary key, and counts here: to
 * have 100,000 leases joined and grouped takes four times as much of the server
 * as to send them. Both are of one snapshot (REPEATABLE READ), as else a client
 * that came in between would have leases without a session, which are dead.
 *
 * Failure modes: a refusal or a silence is the look's error, and the connection
 * is closed; waiters that this account may not see are not counted.
 */
#include "metrics/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/pace.h"
#include "db/connect.h"
#include "db/server.h"
#include "db/stmt.h"
#include "metrics/target.h"

#define CONNECT_MS 5000
#define LOOK_MS 3000
#define IDLE_S 300

/* With the longest names they are less than an answer may have. */
#define PAGE 2000

#define TIME_SIZE 27 /* "2026-11-20 12:00:00.000000" */

struct session {
	uint64_t id;
	uint64_t breaks; /* of a keep: its client's session */
	bool live;
};

struct looking {
	struct rlk_conn *conn;
	const struct classes *classes;
	struct look *look;
	char now[TIME_SIZE]; /* the server's, of the snapshot */
	struct session *sessions;
	size_t sessions_count, sessions_size;
	bool sessions_all, no_memory;
	uint64_t leases_read;
	char name[100 * 4 + 1]; /* the last lease's */
	uint64_t slot;
	char oldest[CLASSES_MOST + 1][LOOK_KINDS][LOOK_STATES][TIME_SIZE];
};

#define SINCE_1970(time) "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', " time ")"

static const struct rlk_stmt_def read_facts = {
	"look at the tables",
	"SELECT UTC_TIMESTAMP(6),"
	" (SELECT f.token FROM lock_token_floor f WHERE f.id = 1),"
	" (SELECT " SINCE_1970(
	    "t.drawn_at") " FROM lock_token t"
			  " WHERE t.strategy = 'reaper' AND t.name = 'pass'),"
			  " (SELECT COUNT(*) FROM (SELECT 1 FROM business_lock "
			  "LIMIT ?) r)",
	.once = true,
};

static const struct rlk_stmt_def read_sessions = {
	"look at sessions",
	"SELECT id, breaks, expires_at > ? FROM lease_session"
	" WHERE id > ? ORDER BY id LIMIT ?",
	.once = true,
};

/* Receipts are below ''. */
static const struct rlk_stmt_def read_leases = {
	"look at leases",
	"SELECT name, slot, session, acquired_at, expires_at"
	" FROM business_lease WHERE name > ? OR (name = ? AND slot > ?)"
	" ORDER BY name, slot LIMIT ?",
	.once = true,
};

/* ------------------------------------------------------------------ facts */

static void see_facts(const struct rlk_value *columns, void *arg)
{
	struct looking *looking = arg;

	snprintf(looking->now, sizeof(looking->now), "%s", columns[0].text);
	looking->look->floor = columns[1].u64;
	looking->look->turn_us = columns[2].i64;
	looking->look->names = columns[3].u64;
	if (looking->look->names > LOOK_ROWS_MOST) {
		looking->look->names = LOOK_ROWS_MOST;
		looking->look->truncated = true;
	}
}

static enum rlk_fault look_at_facts(struct looking *looking)
{
	const struct rlk_value params[] = { rlk_u64(LOOK_ROWS_MOST + 1) };

	return rlk_stmt_each(looking->conn, &read_facts, params, see_facts,
			     looking, &looking->look->error);
}

static int64_t wall_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The server has read its clock somewhere in the round trip. */
static enum rlk_fault look_at_clock(struct looking *looking)
{
	int64_t before = wall_us(), server;
	enum rlk_fault fault =
	    rlk_conn_server_time(looking->conn, &server, &looking->look->error);

	if (!fault)
		looking->look->offset_us =
		    server - (before + (wall_us() - before) / 2);
	return fault;
}

/* --------------------------------------------------------------- sessions */

static int compare(const void *a, const void *b)
{
	const struct session *one = a, *two = b;

	return one->id < two->id ? -1 : one->id > two->id;
}

static const struct session *find(const struct looking *looking, uint64_t id)
{
	const struct session key = { .id = id };

	return bsearch(&key, looking->sessions, looking->sessions_count,
		       sizeof(key), compare);
}

static bool is_live(const struct looking *looking, uint64_t id)
{
	const struct session *session = find(looking, id);

	return session && session->live;
}

/* No count of breaks is so large. */
static bool is_keep(const struct session *session)
{
	return session->breaks > UINT32_MAX;
}

static void see_session(const struct rlk_value *columns, void *arg)
{
	struct looking *looking = arg;
	struct session *session;

	if (looking->sessions_count == looking->sessions_size) {
		size_t size = looking->sessions_size * 2 + PAGE;
		struct session *grown =
		    reallocarray(looking->sessions, size, sizeof(*grown));

		looking->no_memory |= !grown;
		if (!grown)
			return;
		looking->sessions = grown;
		looking->sessions_size = size;
	}
	session = &looking->sessions[looking->sessions_count++];
	*session = (struct session){
		.id = columns[0].u64,
		.breaks = columns[1].u64,
		.live = columns[2].u64 == 1,
	};
	if (is_keep(session))
		return;
	if (session->live)
		looking->look->sessions_live++;
	else
		looking->look->sessions_dead++;
}

static enum rlk_fault look_at_sessions(struct looking *looking)
{
	enum rlk_fault fault = RLK_DONE;
	uint64_t last = 0;
	size_t full = 0;

	while (!fault && looking->sessions_count == full &&
	       full < LOOK_ROWS_MOST) {
		const struct rlk_value params[] = {
			rlk_text(looking->now),
			rlk_u64(last),
			rlk_u64(PAGE),
		};

		full += PAGE;
		fault =
		    rlk_stmt_each(looking->conn, &read_sessions, params,
				  see_session, looking, &looking->look->error);
		if (looking->sessions_count > 0)
			last =
			    looking->sessions[looking->sessions_count - 1].id;
	}
	looking->sessions_all = looking->sessions_count < full;
	looking->look->truncated |= !looking->sessions_all;
	return fault;
}

/* ----------------------------------------------------------------- leases */

/* Kind and state are as the view lock_status has them. */
static enum rowlock_kind kind_of(uint64_t slot)
{
	if (slot == 0)
		return ROWLOCK_KIND_LOCK;
	if (slot < 1u << 30)
		return ROWLOCK_KIND_PERMIT;
	if (slot < 1u << 31)
		return ROWLOCK_KIND_CANDIDATE;
	return slot == 1u << 31 ? ROWLOCK_KIND_WRITER : ROWLOCK_KIND_READER;
}

static enum rowlock_state state_of(const struct looking *looking,
				   enum rowlock_kind kind,
				   const struct session *session,
				   const char *expires_at)
{
	if (!session || !session->live)
		return ROWLOCK_STATE_DEAD;
	/* Times of one length are in the order of their texts. */
	if (*expires_at && strcmp(expires_at, looking->now) <= 0)
		return ROWLOCK_STATE_DEAD;
	if (kind == ROWLOCK_KIND_CANDIDATE)
		return ROWLOCK_STATE_WAITING;
	if (is_keep(session) && !is_live(looking, session->breaks))
		return ROWLOCK_STATE_KEPT;
	return ROWLOCK_STATE_HELD;
}

static void see_lease(const struct rlk_value *columns, void *arg)
{
	struct looking *looking = arg;
	const char *name = columns[0].text, *since = columns[3].text;
	enum rowlock_kind kind = kind_of(columns[1].u64);
	const struct session *session = find(looking, columns[2].u64);
	enum rowlock_state state =
	    state_of(looking, kind, session, columns[4].text);
	size_t class = classes_find(looking->classes, name);
	char *oldest = looking->oldest[class][kind][state];

	if (++looking->leases_read > LOOK_ROWS_MOST)
		return;
	snprintf(looking->name, sizeof(looking->name), "%s", name);
	looking->slot = columns[1].u64;
	/* Its session may be one that was not read. */
	if (!session && !looking->sessions_all)
		return;
	looking->look->leases[class][kind][state].count++;
	if (strlen(since) == TIME_SIZE - 1 &&
	    (!*oldest || strcmp(since, oldest) < 0))
		memcpy(oldest, since, TIME_SIZE);
}

/* The next page; one row more than are counted, as that shows that there are
 * more. */
static uint64_t page_after(uint64_t read)
{
	uint64_t left = LOOK_ROWS_MOST + 1 - read;

	return left < PAGE ? left : PAGE;
}

static enum rlk_fault look_at_leases(struct looking *looking)
{
	enum rlk_fault fault = RLK_DONE;
	uint64_t full = 0;

	while (!fault && looking->leases_read == full &&
	       full <= LOOK_ROWS_MOST) {
		const char *name = looking->name;
		const uint64_t page = page_after(full);
		const struct rlk_value params[] = {
			rlk_text(name),
			rlk_text(name),
			rlk_u64(looking->slot),
			rlk_u64(page),
		};

		full += page;
		fault =
		    rlk_stmt_each(looking->conn, &read_leases, params,
				  see_lease, looking, &looking->look->error);
	}
	looking->look->truncated |= looking->leases_read > LOOK_ROWS_MOST;
	return fault;
}

/* Microseconds since 1970, or 0 where @text is no time. */
static int64_t us_of(const char *text)
{
	struct tm time = { .tm_isdst = 0 };
	const char *rest = strptime(text, "%Y-%m-%d %H:%M:%S", &time);

	if (!rest || *rest != '.')
		return 0;
	return (int64_t) timegm(&time) * 1000000 + strtol(rest + 1, NULL, 10);
}

static void settle_ages(const struct looking *looking)
{
	int64_t now = us_of(looking->now);

	for (size_t c = 0; c < classes_count(looking->classes); c++)
		for (size_t k = 0; k < LOOK_KINDS; k++)
			for (size_t s = 0; s < LOOK_STATES; s++) {
				int64_t since = us_of(looking->oldest[c][k][s]);

				if (since && since < now)
					looking->look->leases[c][k][s].age_us =
					    now - since;
			}
}

/* ---------------------------------------------------------------- waiters */

static void see_waiter(const struct rlk_value *columns, void *arg)
{
	struct tally *tally = arg;

	/* The owner of a bell may not wait at all, but hold the lock. */
	if (columns[6].u64 == 1)
		return;
	tally->count++;
	if (columns[4].i64 > tally->age_us)
		tally->age_us = columns[4].i64;
}

static void see_number(const struct rlk_value *columns, void *arg)
{
	*(uint64_t *) arg = columns[0].u64;
}

/* Are there lines to be seen, and may we see them? A refusal says that. */
static enum rlk_fault look_at_waiters(struct looking *looking)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(looking->conn);
	struct look *look = looking->look;
	enum rlk_fault fault = RLK_DONE;
	uint64_t recorded = 1;

	if (rlk_server_many_writers(rlk_conn_server(looking->conn)))
		return RLK_DONE;
	if (dialect->line_recorded)
		fault =
		    rlk_stmt_each(looking->conn, dialect->line_recorded, NULL,
				  see_number, &recorded, &look->error);
	if (!fault)
		fault = rlk_stmt_each(
		    looking->conn, dialect->waits_for_rows, NULL, see_waiter,
		    &look->waiters[ROWLOCK_ROW], &look->error);
	if (!fault)
		fault = rlk_stmt_each(
		    looking->conn, dialect->waits_in_line, NULL, see_waiter,
		    &look->waiters[ROWLOCK_LEASE], &look->error);
	if (fault == RLK_REFUSED && look->error.code == ROWLOCK_EAUTH)
		return RLK_DONE;
	look->sees_waiters = !fault && recorded > 0;
	return fault;
}

/* ------------------------------------------------------------------- look */

/* An answer that does not come is a reason, too. */
static enum rlk_fault say(struct looking *looking, const char *sql)
{
	struct rowlock_errinfo *error = &looking->look->error;

	return rlk_stmt_give_up(
	    looking->conn, rlk_stmt_text(looking->conn, sql, error), error);
}

static enum rlk_fault look_at_tables(struct looking *looking)
{
	static enum rlk_fault (*const parts[])(struct looking *) = {
		look_at_facts,
		look_at_sessions,
		look_at_leases,
	};
	static const char *const begin[] = {
		"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		"START TRANSACTION",
	};
	enum rlk_fault fault = RLK_DONE;

	for (size_t i = 0; !fault && i < RLK_ARRAY_SIZE(begin); i++)
		fault = say(looking, begin[i]);
	for (size_t i = 0; !fault && i < RLK_ARRAY_SIZE(parts); i++)
		fault = parts[i](looking);
	if (!fault)
		fault = say(looking, "COMMIT");
	return fault;
}

static enum rlk_fault look_at_all(struct looking *looking)
{
	enum rlk_fault fault = look_at_clock(looking);

	if (!fault)
		fault = look_at_tables(looking);
	if (!fault)
		fault = look_at_waiters(looking);
	settle_ages(looking);
	return fault;
}

static int open_conn(struct lookout *lookout, struct rowlock_errinfo *reterr)
{
	static const struct rlk_conn_profile profile = {
		.label = "metrics",
		.autocommit = true,
		.lock_wait_s = 1,
		.idle_s = IDLE_S,
		.plain = true,
	};
	uint64_t ms = lookout->connect_timeout_ms ? lookout->connect_timeout_ms
						  : CONNECT_MS;

	if (lookout->conn && rlk_conn_alive(lookout->conn) &&
	    !rlk_conn_retired(lookout->conn))
		return 0;
	lookout->conn = rlk_conn_close(lookout->conn);
	return rlk_conn_open(&lookout->target, &profile,
			     rlk_now(lookout->target.clock) + (int64_t) ms,
			     &lookout->conn, reterr);
}

static void look_from(struct lookout *lookout, struct looking *looking)
{
	enum rlk_fault fault;

	looking->look->error.code = open_conn(lookout, &looking->look->error);
	if (looking->look->error.code)
		return;
	looking->conn = lookout->conn;
	rlk_conn_set_until(looking->conn,
			   rlk_conn_now(looking->conn) + LOOK_MS);
	fault = look_at_all(looking);
	if (!fault && !looking->no_memory) {
		looking->look->error.code = 0;
		return;
	}
	if (looking->no_memory) {
		looking->look->error.code = ROWLOCK_ENOMEM;
		snprintf(looking->look->error.message,
			 sizeof(looking->look->error.message), "out of memory");
	}
	/* Its transaction ends with it. */
	lookout->conn = rlk_conn_close(lookout->conn);
}

void lookout_look(struct lookout *lookout, struct look *ret_look)
{
	struct looking *looking = calloc(1, sizeof(*looking));
	uint64_t began = pace_now_ms();

	memset(ret_look, 0, sizeof(*ret_look));
	if (!looking) {
		ret_look->error.code = ROWLOCK_ENOMEM;
		snprintf(ret_look->error.message,
			 sizeof(ret_look->error.message), "out of memory");
		return;
	}
	looking->classes = lookout->classes;
	looking->look = ret_look;
	look_from(lookout, looking);
	ret_look->took_ms = pace_now_ms() - began;
	free(looking->sessions);
	free(looking);
}

void lookout_init(struct lookout *lookout, const struct connection *connection,
		  const char *program, const struct classes *classes)
{
	*lookout = (struct lookout){
		.target = connection_target(connection, program),
		.connect_timeout_ms = connection->connect_timeout_ms,
		.classes = classes,
	};
}

void lookout_fini(struct lookout *lookout)
{
	lookout->conn = rlk_conn_close(lookout->conn);
}
