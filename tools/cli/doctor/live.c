/* SPDX-License-Identifier: MIT */
/*
 * Tried out: a lock with its token, a KILL of a connection of our own, locks of
 * the server (GET_LOCK), which are the bells of those who wait, and the end of
 * a connection that is idle.
 *
 * Failure modes: what is not tried, as a section above is wrong, is unknown. A
 * connection that has to end is waited for as long as a busy server takes.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/random.h"
#include "common/pace.h"
#include "doctor/patient.h"

#define IDLE_S 1
#define END_MOST_MS 30000
#define LOCK_MOST_MS 30000 /* another doctor may have it */

static int take_and_release(struct rowlock_client *client, uint64_t *ret_token,
			    struct rowlock_errinfo *reterr)
{
	_cleanup_(rowlock_freep) struct rowlock *lock = NULL;
	struct rowlock_options how = ROWLOCK_OPTIONS_DEFAULT;
	int r;

	/* One name for all: the number of its last token stays for a month. */
	r = rowlock_new(client, "rowlock-doctor", &how, &lock, reterr);
	if (r == 0)
		r = rowlock_acquire(lock, LOCK_MOST_MS, reterr);
	if (r == 0)
		r = rowlock_token(lock, ret_token, reterr);
	if (r == 0)
		r = rowlock_release(lock, reterr);
	return r;
}

/* The oldest transaction that has rows locked, and is not the asker's. Needs
 * PROCESS. On both servers: "The INFORMATION_SCHEMA INNODB_TRX Table". */
static const struct rlk_stmt_def read_blocker = {
	"transactions",
	"SELECT CONCAT(p.USER, '@', p.HOST), CAST(t.trx_mysql_thread_id AS "
	"UNSIGNED), CAST(GREATEST(0, TIMESTAMPDIFF(SECOND, "
	"CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'), UTC_TIMESTAMP())) AS "
	"UNSIGNED) FROM information_schema.INNODB_TRX t JOIN "
	"information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id "
	"WHERE t.trx_rows_locked > 0 AND p.ID <> CONNECTION_ID() "
	"ORDER BY t.trx_started LIMIT 1",
	true,
};

struct blocker {
	char who[256];
	uint64_t connection;
	uint64_t for_s;
};

static void see_blocker(const struct rlk_value *columns, void *arg)
{
	struct blocker *blocker = arg;

	snprintf(blocker->who, sizeof(blocker->who), "%s", columns[0].text);
	blocker->connection = columns[1].u64;
	blocker->for_s = columns[2].u64;
}

/* No answer, and the server gives answers: somebody has rows, or a whole table,
 * locked. */
static void blame_transaction(struct patient *patient,
			      const struct rowlock_errinfo *reason)
{
	struct blocker blocker = { .connection = 0 };
	struct rowlock_errinfo ignored;
	char next[128];

	patient_more_time(patient->conn);
	rlk_stmt_each(patient->conn, &read_blocker, NULL, see_blocker, &blocker,
		      &ignored);
	if (patient_section(reason) == SECTION_LOAD) {
		findings_add(&patient->findings, SECTION_LIVE, VERDICT_WRONG,
			     "see Load, or raise the limit that it names",
			     "a lock cannot be acquired: %s", reason->message);
		return;
	}
	if (!blocker.connection) {
		findings_add(&patient->findings, SECTION_LIVE, VERDICT_WRONG,
			     "ask with an account that has PROCESS: a "
			     "transaction, a backup or LOCK TABLES may have "
			     "our tables locked",
			     "a lock cannot be acquired: %s", reason->message);
		return;
	}
	snprintf(next, sizeof(next), "end that transaction, or KILL %" PRIu64,
		 blocker.connection);
	findings_add(&patient->findings, SECTION_LIVE, VERDICT_WRONG, next,
		     "a lock cannot be acquired: %s; the oldest transaction "
		     "that has rows locked is that of connection %" PRIu64
		     ", %s, for %" PRIu64 " s",
		     reason->message, blocker.connection, blocker.who,
		     blocker.for_s);
}

static bool has_holder(struct patient *patient)
{
	static const struct rlk_stmt_def count = {
		"holder",
		"SELECT COUNT(*) FROM business_lease WHERE name = "
		"'rowlock-doctor'",
		true,
	};
	struct rowlock_errinfo ignored;
	uint64_t holders = 1;

	return !patient_number(patient->conn, &count, &holders, &ignored) ||
	       holders > 0;
}

static void judge_lock(struct patient *patient, int code,
		       const struct rowlock_errinfo *error)
{
	if (code != ROWLOCK_ETIMEDOUT && code != ROWLOCK_ECONNECT)
		findings_add(&patient->findings, SECTION_LIVE, VERDICT_WRONG,
			     NULL, "a lock cannot be acquired: %s",
			     error->message);
	else if (code == ROWLOCK_ETIMEDOUT && has_holder(patient))
		findings_add(&patient->findings, SECTION_LIVE, VERDICT_UNKNOWN,
			     "see who has it by 'rowlock show rowlock-doctor', "
			     "and try again",
			     "a lock was not acquired, as another has its "
			     "name: %s",
			     error->message);
	else
		blame_transaction(patient, error);
}

static void try_lock(struct patient *patient)
{
	_cleanup_(client_freep) struct rowlock_client *client = NULL;
	struct rowlock_client_options how =
	    command_client_options(patient->common);
	struct rowlock_errinfo error;
	uint64_t token = 0;
	int code;

	how.flags |= ROWLOCK_NO_REAPER;
	how.log = NULL;
	code =
	    connection_open(&patient->common->connection, how, &client, &error);
	if (code == 0)
		code = take_and_release(client, &token, &error);
	if (code)
		judge_lock(patient, code, &error);
	else
		findings_add(
		    &patient->findings, SECTION_LIVE, VERDICT_OK, NULL,
		    "a lock was acquired with its token, and released");
}

static bool answers(struct rlk_conn *conn, const char *what, const char *name,
		    uint64_t expected, struct rowlock_errinfo *reterr)
{
	struct rlk_stmt_def def = { "bell", NULL, true };
	uint64_t answer = UINT64_MAX;
	char sql[128];

	snprintf(sql, sizeof(sql),
		 "SELECT CAST(COALESCE(%s('%s'%s), 0) AS UNSIGNED)", what, name,
		 what[0] == 'G' ? ", 0" : "");
	def.sql = sql;
	reterr->code = 0;
	return patient_number(conn, &def, &answer, reterr) &&
	       answer == expected;
}

/* Only then is the number of @other a session of ours where @patient->conn is:
 * what is in between may give each connection to another server, and a KILL
 * would end a stranger's. */
static bool is_same_server(struct patient *patient,
			   const struct rlk_conn *other)
{
	const struct rlk_server *server = rlk_conn_server(patient->conn);
	struct rowlock_errinfo error = { .code = 0 };
	struct rlk_mark mark;

	rlk_conn_mark(other, &mark);
	if (rlk_server_same(server->identity, mark.identity) &&
	    (!mark.lock[0] || answers(patient->conn, "IS_USED_LOCK", mark.lock,
				      mark.id, &error)))
		return true;
	if (error.code)
		findings_add(&patient->findings, SECTION_ENGINE,
			     VERDICT_UNKNOWN, NULL, "%s", error.message);
	else
		findings_add(&patient->findings, SECTION_ENGINE, VERDICT_WRONG,
			     "name one server, the primary, and not what is "
			     "in between",
			     "connections go to different servers: %s does not "
			     "know another connection of this program, and "
			     "has locks of its own",
			     server->name);
	return false;
}

/* Does the server end @conn before @until_ms? */
static bool is_ended(const struct rlk_conn *conn, int64_t until_ms)
{
	struct pollfd poll_fd = { .fd = rlk_conn_fd(conn),
				  .events = POLLIN | POLLRDHUP };
	int64_t left_ms = until_ms - rlk_conn_now(conn);

	return pace_poll(&poll_fd, 1, left_ms > 0 ? (int) left_ms : 0) == 1;
}

static void try_kill(struct patient *patient, struct rlk_conn *other,
		     int64_t until_ms)
{
	struct rowlock_errinfo error;
	char sql[64];

	if (!rlk_conn_may_kill(patient->conn))
		return; /* the engine's section says so */
	snprintf(sql, sizeof(sql), "KILL CONNECTION %" PRIu64,
		 rlk_conn_id(other));
	if (!patient_text(patient->conn, sql, &error))
		findings_add(&patient->findings, SECTION_LIVE, VERDICT_WRONG,
			     NULL, "a connection of its own is not killed: %s",
			     error.message);
	else if (is_ended(other, until_ms))
		findings_add(&patient->findings, SECTION_LIVE, VERDICT_OK, NULL,
			     "KILL ends a connection of its own");
	else
		findings_add(&patient->findings, SECTION_LIVE, VERDICT_WRONG,
			     "connect to the server itself",
			     "KILL of a connection of its own was answered, "
			     "and the connection is there after %d s",
			     END_MOST_MS / 1000);
}

/* A waiter stands in the server behind a user-level lock of the one before. */
static void try_bells(struct patient *patient, struct rlk_conn *other)
{
	struct rlk_conn *conn = patient->conn;
	struct rowlock_errinfo error;
	char name[64];

	if (rlk_server_many_writers(rlk_conn_server(conn)))
		return; /* none are used there */
	snprintf(name, sizeof(name), "rlk-doctor:%016" PRIx64, rlk_random());
	if (answers(conn, "GET_LOCK", name, 1, &error) &&
	    answers(other, "GET_LOCK", name, 0, &error) &&
	    answers(other, "IS_USED_LOCK", name, rlk_conn_id(conn), &error) &&
	    answers(conn, "RELEASE_LOCK", name, 1, &error) &&
	    answers(other, "GET_LOCK", name, 1, &error))
		findings_add(&patient->findings, SECTION_LIVE, VERDICT_OK, NULL,
			     "the bell of a waiter rings: GET_LOCK excludes "
			     "other connections and names its holder");
	else
		findings_add(&patient->findings, SECTION_LIVE, VERDICT_ADVICE,
			     "connect to the server itself",
			     "the bell of a waiter does not ring%s%s: waiters "
			     "ask again and again",
			     error.code ? ": " : "",
			     error.code ? error.message : "");
}

static void judge_idle(struct patient *patient, const struct rlk_conn *idle,
		       int64_t until_ms)
{
	if (is_ended(idle, until_ms))
		findings_add(&patient->findings, SECTION_LIVE, VERDICT_OK, NULL,
			     "wait_timeout ends a connection that is idle");
	else
		findings_add(&patient->findings, SECTION_LIVE, VERDICT_ADVICE,
			     "connect to the server itself, or let what is in "
			     "between pass the end on",
			     "a connection with wait_timeout = %d is there "
			     "after %d s: what a vanished host held under row "
			     "stays so for long",
			     IDLE_S, END_MOST_MS / 1000);
}

static bool is_wrong(const struct patient *patient, enum section section)
{
	return findings_verdict(&patient->findings, section) == VERDICT_WRONG;
}

static void not_tried(struct patient *patient)
{
	findings_add(&patient->findings, SECTION_LIVE, VERDICT_UNKNOWN, NULL,
		     "not tried, as said above");
}

void examine_live(struct patient *patient)
{
	_cleanup_(rlk_conn_closep) struct rlk_conn *idle = NULL, *other = NULL;
	struct rowlock_errinfo error;
	int64_t until_ms;

	if (is_wrong(patient, SECTION_SERVER) ||
	    is_wrong(patient, SECTION_ENGINE) ||
	    is_wrong(patient, SECTION_SCHEMA)) {
		not_tried(patient);
		return;
	}
	if (patient_connect(patient, IDLE_S, &idle, &error) ||
	    patient_connect(patient, 60, &other, &error)) {
		findings_add(&patient->findings, SECTION_LIVE, VERDICT_WRONG,
			     NULL, "no further connection: %s", error.message);
		return;
	}
	if (!is_same_server(patient, other)) {
		not_tried(patient);
		return;
	}
	/* Without each right it may not be able to clean up. */
	if (is_wrong(patient, SECTION_RIGHTS))
		not_tried(patient);
	else
		try_lock(patient);
	try_bells(patient, other);
	/* Time for both. */
	until_ms = rlk_conn_now(patient->conn) + END_MOST_MS;
	try_kill(patient, other, until_ms);
	judge_idle(patient, idle, until_ms);
}
