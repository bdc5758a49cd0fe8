/* SPDX-License-Identifier: MIT */
/*
 * The tables, by the library's own check, and what the account may do there.
 *
 * A right is tried by a statement that needs it and touches no row: the server
 * refuses before it looks at any. So nobody's grants have to be read, and roles
 * and rights on the whole database count as the server has them. Failure modes:
 * a server that takes no writes refuses in other words; the right is unknown.
 */
#include <inttypes.h>
#include <stdio.h>

#include "db/advice.h"
#include "db/schema.h"
#include "doctor/patient.h"

#define NO_ROW " WHERE 1 = 0"
#define FROM_NONE " FROM DUAL" NO_ROW

static const struct right {
	const char *table;
	const char *right;
	const char *sql;
} wanted[] = {
	{ "business_lock", "SELECT", "SELECT name FROM business_lock" NO_ROW },
	{ "business_lease", "SELECT",
	  "SELECT name FROM business_lease" NO_ROW },
	{ "lease_session", "SELECT", "SELECT id FROM lease_session" NO_ROW },
	{ "lock_token", "SELECT", "SELECT name FROM lock_token" NO_ROW },
	{ "lock_token_floor", "SELECT",
	  "SELECT id FROM lock_token_floor" NO_ROW },
	{ "lock_permits", "SELECT", "SELECT name FROM lock_permits" NO_ROW },
	{ "business_lock", "INSERT",
	  "INSERT INTO business_lock (name) SELECT ''" FROM_NONE },
	{ "business_lock", "UPDATE",
	  "UPDATE business_lock SET info = info" NO_ROW },
	{ "business_lease", "INSERT",
	  "INSERT INTO business_lease (name, slot, session, attempt, "
	  "acquired_at) SELECT '', 0, 0, 0, UTC_TIMESTAMP(6)" FROM_NONE },
	{ "business_lease", "UPDATE",
	  "UPDATE business_lease SET guards = guards" NO_ROW },
	{ "business_lease", "DELETE", "DELETE FROM business_lease" NO_ROW },
	{ "lease_session", "INSERT",
	  "INSERT INTO lease_session (id, ttl, expires_at, beat, breaks, "
	  "started_at) SELECT 0, 0, UTC_TIMESTAMP(6), 0, 0, "
	  "UTC_TIMESTAMP(6)" FROM_NONE },
	{ "lease_session", "UPDATE",
	  "UPDATE lease_session SET beat = beat" NO_ROW },
	{ "lease_session", "DELETE", "DELETE FROM lease_session" NO_ROW },
	{ "lock_token", "INSERT",
	  "INSERT INTO lock_token (strategy, name, token, drawn_at) SELECT '', "
	  "'', 0, UTC_TIMESTAMP(6)" FROM_NONE },
	{ "lock_token", "UPDATE",
	  "UPDATE lock_token SET token = token" NO_ROW },
	{ "lock_token", "DELETE", "DELETE FROM lock_token" NO_ROW },
	{ "lock_token_floor", "UPDATE",
	  "UPDATE lock_token_floor SET token = token" NO_ROW },
	{ "lock_permits", "INSERT",
	  "INSERT INTO lock_permits (name, permits) SELECT '', 1" FROM_NONE },
	{ "lock_permits", "UPDATE",
	  "UPDATE lock_permits SET permits = permits" NO_ROW },
	{ "job_run", "SELECT", "SELECT name FROM job_run" NO_ROW },
	{ "job_run", "INSERT",
	  "INSERT INTO job_run (name, run, number, from_at, until_at, nth, "
	  "began_at) SELECT '', 0, 0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), 1, "
	  "UTC_TIMESTAMP(6)" FROM_NONE },
	{ "job_run", "UPDATE", "UPDATE job_run SET code = code" NO_ROW },
	{ "job_run", "DELETE", "DELETE FROM job_run" NO_ROW },
	{ "lease_revocation", "SELECT",
	  "SELECT name FROM lease_revocation" NO_ROW },
	{ "lease_revocation", "INSERT",
	  "INSERT INTO lease_revocation (name, attempt, request, asked_at) "
	  "SELECT '', 0, 0, UTC_TIMESTAMP(6)" FROM_NONE },
	{ "lease_revocation", "UPDATE",
	  "UPDATE lease_revocation SET answer = answer" NO_ROW },
	{ "lease_revocation", "DELETE", "DELETE FROM lease_revocation" NO_ROW },
};

enum {
	DENIED_DATABASE = 1044,
	DENIED_TABLE = 1142,
	DENIED_COLUMN = 1143,
	VIEW_INVALID = 1356,
	NO_DEFINER = 1449,
	NO_TABLE = 1146, /* of an older version, which is told by itself */
	LOCK_WAIT_TIMEOUT = 1205,
};

static bool is_denied(const struct rowlock_errinfo *error)
{
	return error->mysql == DENIED_DATABASE ||
	       error->mysql == DENIED_TABLE || error->mysql == DENIED_COLUMN;
}

/* Does it keep each statement from its answer? */
static bool is_in_the_way(const struct rowlock_errinfo *error)
{
	return error->mysql == LOCK_WAIT_TIMEOUT ||
	       error->code == ROWLOCK_EREADONLY;
}

/* Returns false if there is no use in trying others. */
static bool try_right(struct patient *patient, const struct right *right)
{
	struct rowlock_errinfo error;
	char next[256];

	if (patient_text(patient->conn, right->sql, &error) ||
	    error.mysql == NO_TABLE)
		return true;
	if (!is_denied(&error)) {
		findings_add(&patient->findings, SECTION_RIGHTS,
			     VERDICT_UNKNOWN,
			     error.mysql == LOCK_WAIT_TIMEOUT
				 ? "look for a transaction, a backup or LOCK "
				   "TABLES that has our tables locked: SHOW "
				   "FULL PROCESSLIST"
				 : NULL,
			     "whether the account has %s on %s: %s",
			     right->right, right->table, error.message);
		return !is_in_the_way(&error);
	}
	snprintf(next, sizeof(next),
		 "GRANT %s ON %.64s.%s TO the account; sql/grants.sql has all "
		 "that it needs",
		 right->right, rlk_conn_schema(patient->conn), right->table);
	findings_add(&patient->findings, SECTION_RIGHTS, VERDICT_WRONG, next,
		     "the account has no %s on %s", right->right, right->table);
	return true;
}

/* Rights of a role that nobody makes active are none. */
static void judge_roles(struct patient *patient)
{
	char role[200], next[320];

	patient_more_time(patient->conn);
	if (findings_verdict(&patient->findings, SECTION_RIGHTS) !=
		VERDICT_WRONG ||
	    !rlk_idle_role(patient->conn, role, sizeof(role)))
		return;
	snprintf(next, sizeof(next), "SET DEFAULT ROLE %s FOR the account",
		 role);
	findings_add(&patient->findings, SECTION_RIGHTS, VERDICT_WRONG, next,
		     "the account has the role '%s', which is not active: what "
		     "that may do is not counted",
		     role);
}

/* Only those that the account may read: an application's needs none. */
static void judge_views(struct patient *patient)
{
	static const char *const views[] = { "lock_status", "lock_summary",
					     "job_status" };
	struct rowlock_errinfo error;
	char sql[64];

	for (size_t i = 0; i < RLK_ARRAY_SIZE(views); i++) {
		snprintf(sql, sizeof(sql), "SELECT 1 FROM %s" NO_ROW, views[i]);
		if (!patient_text(patient->conn, sql, &error) &&
		    (error.mysql == NO_DEFINER || error.mysql == VIEW_INVALID))
			findings_add(&patient->findings, SECTION_SCHEMA,
				     VERDICT_ADVICE,
				     "make the account of rowlock-migrate "
				     "again, with its rights: grants.sql, "
				     "part 1",
				     "the view %s cannot be read, as it reads "
				     "the tables as an account that is gone or "
				     "lacks a right: %s",
				     views[i], error.message);
	}
}

/* Returns false if the server refused. */
static bool read_number(struct patient *patient, const char *sql,
			uint64_t *ret_number)
{
	const struct rlk_stmt_def def = { "look", sql, true };
	struct rowlock_errinfo error;

	return patient_number(patient->conn, &def, ret_number, &error);
}

static void judge_schema(struct patient *patient)
{
	/* An open client does without these. */
	static const struct {
		const char *table;
		const char *command;
		const char *sql;
	} newer[] = {
		{ RLK_JOB_RUN, "rowlock run --once-per",
		  "SELECT name FROM " RLK_JOB_RUN NO_ROW },
		{ RLK_REVOCATION, "rowlock revoke",
		  "SELECT name FROM " RLK_REVOCATION NO_ROW },
	};
	struct findings *findings = &patient->findings;
	uint64_t version = 0, floor = 0;
	struct rowlock_errinfo error;

	if (read_number(patient, "SELECT MAX(version) FROM rowlock_schema",
			&version) &&
	    version != RLK_SCHEMA_VERSION)
		findings_add(findings, SECTION_SCHEMA, VERDICT_ADVICE,
			     version < RLK_SCHEMA_VERSION
				 ? "run 'rowlock-migrate' of this version"
				 : "upgrade rowlock on this host",
			     "the tables have version %" PRIu64
			     ", this program has %d: they work together until "
			     "the next upgrade",
			     version, RLK_SCHEMA_VERSION);
	if (read_number(patient,
			"SELECT COUNT(*) FROM lock_token_floor WHERE id = 1",
			&floor) &&
	    !floor)
		findings_add(findings, SECTION_SCHEMA, VERDICT_WRONG,
			     "INSERT INTO lock_token_floor VALUES (1, 1000000 "
			     "* UNIX_TIMESTAMP(), UTC_TIMESTAMP(6))",
			     "the row of lock_token_floor is gone: no token "
			     "can be drawn");
	for (size_t i = 0; i < RLK_ARRAY_SIZE(newer); i++) {
		if (version >= RLK_SCHEMA_VERSION &&
		    !patient_text(patient->conn, newer[i].sql, &error) &&
		    error.mysql == NO_TABLE)
			findings_add(findings, SECTION_SCHEMA, VERDICT_WRONG,
				     "rowlock-migrate",
				     "the table %s is gone: '%s' cannot work",
				     newer[i].table, newer[i].command);
	}
	if (!findings_has(findings, SECTION_SCHEMA) &&
	    rlk_conn_usable(patient->conn))
		findings_add(findings, SECTION_SCHEMA, VERDICT_OK, NULL,
			     "the tables of '%s' are as they must be (version "
			     "%" PRIu64 ")",
			     rlk_conn_schema(patient->conn), version);
}

void examine_tables(struct patient *patient)
{
	struct rowlock_errinfo error;
	struct rlk_key key;
	int code;

	patient_more_time(patient->conn);
	code = rlk_schema_check(patient->conn, &key, &error);
	if (!rlk_conn_usable(patient->conn))
		return; /* that is about the server */
	if (code) {
		patient_more_time(patient->conn);
		rlk_advise(patient->conn, code, &error);
		/* The reason has what to do in it. */
		findings_add(&patient->findings,
			     is_denied(&error)              ? SECTION_RIGHTS
			     : code == ROWLOCK_EUNSUPPORTED ? SECTION_ENGINE
							    : SECTION_SCHEMA,
			     VERDICT_WRONG, NULL, "%s", error.message);
		return;
	}
	judge_views(patient);
	judge_schema(patient);
	for (size_t i = 0;
	     i < RLK_ARRAY_SIZE(wanted) && rlk_conn_usable(patient->conn) &&
	     try_right(patient, &wanted[i]);
	     i++)
		;
	judge_roles(patient);
	if (!findings_has(&patient->findings, SECTION_RIGHTS) &&
	    rlk_conn_usable(patient->conn))
		findings_add(&patient->findings, SECTION_RIGHTS, VERDICT_OK,
			     NULL, "the account may do all that locks need");
}
