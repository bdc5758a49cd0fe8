/* SPDX-License-Identifier: MIT */
/*
 * Goes through the sections, on connections of the library's own kind.
 *
 * Failure modes: a server that is not reached is a finding of the section that
 * its refusal is about, and all else is unknown.
 */
#include "doctor/patient.h"

#include "base/clock.h"
#include "db/connect.h"
#include "metrics/target.h"

#define CONNECT_MS 5000
#define STATEMENT_MS 10000
#define IDLE_S 60

void patient_more_time(struct rlk_conn *conn)
{
	rlk_conn_set_until(conn, rlk_conn_now(conn) + STATEMENT_MS);
}

static void see_number(const struct rlk_value *columns, void *arg)
{
	*(uint64_t *) arg = columns[0].u64;
}

bool patient_number(struct rlk_conn *conn, const struct rlk_stmt_def *def,
		    uint64_t *ret_number, struct rowlock_errinfo *reterr)
{
	patient_more_time(conn);
	return rlk_stmt_each(conn, def, NULL, see_number, ret_number, reterr) ==
	       RLK_DONE;
}

bool patient_text(struct rlk_conn *conn, const char *sql,
		  struct rowlock_errinfo *reterr)
{
	patient_more_time(conn);
	return rlk_stmt_give_up(conn, rlk_stmt_text(conn, sql, reterr),
				reterr) == RLK_DONE;
}

int patient_connect(struct patient *patient, unsigned int idle_s,
		    struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr)
{
	const struct connection *connection = &patient->common->connection;
	const struct rlk_conn_profile profile = {
		.label = "doctor",
		.autocommit = true,
		.lock_wait_s = 1,
		.idle_s = idle_s,
		.plain = true,
	};
	uint64_t ms = connection->connect_timeout_ms
			  ? connection->connect_timeout_ms
			  : CONNECT_MS;

	return rlk_conn_open(&patient->target, &profile,
			     rlk_now(patient->target.clock) + (int64_t) ms,
			     ret_conn, reterr);
}

enum {
	NO_CONNECTION_LEFT = 1040,
	NOT_IN_THE_CLUSTER = 1047,
	NO_CONNECTION_OF_USER_LEFT = 1203,
	NOTHING_OF_USER_LEFT = 1226,
};

enum section patient_section(const struct rowlock_errinfo *error)
{
	switch (error->mysql) {
	case NO_CONNECTION_LEFT:
	case NO_CONNECTION_OF_USER_LEFT:
	case NOTHING_OF_USER_LEFT:
		return SECTION_LOAD;
	case NOT_IN_THE_CLUSTER:
		return SECTION_CLUSTER;
	}
	switch (error->code) {
	case ROWLOCK_EAUTH:
		return SECTION_RIGHTS;
	case ROWLOCK_ESCHEMA:
		return SECTION_SCHEMA;
	case ROWLOCK_EUNSUPPORTED:
		return SECTION_ENGINE;
	case ROWLOCK_ECONNECT:
		return error->mysql == CONNECTION_NO_SUCH_TLS ? SECTION_TLS
							      : SECTION_SERVER;
	default:
		return SECTION_SERVER;
	}
}

static void examine(struct patient *patient)
{
	static void (*const parts[])(struct patient *) = {
		examine_clock_begin, examine_server,    examine_tables,
		examine_live,        examine_clock_end,
	};
	struct rowlock_errinfo error;

	if (patient_connect(patient, IDLE_S, &patient->conn, &error)) {
		findings_add(&patient->findings, patient_section(&error),
			     VERDICT_WRONG, NULL, "%s", error.message);
		return;
	}
	for (size_t i = 0; i < RLK_ARRAY_SIZE(parts); i++) {
		parts[i](patient);
		if (rlk_conn_usable(patient->conn))
			continue;
		findings_add(&patient->findings, SECTION_SERVER, VERDICT_WRONG,
			     "look into the server's log, and at what is in "
			     "between",
			     "the connection to %s was lost during the "
			     "examination, or had no answer for %d s",
			     rlk_conn_server(patient->conn)->name,
			     STATEMENT_MS / 1000);
		return;
	}
}

void patient_examine(const struct common *common, struct findings *ret_findings)
{
	struct patient patient = {
		.common = common,
		.target = connection_target(&common->connection, "rowlock"),
	};

	examine(&patient);
	for (size_t i = 0; i < SECTIONS; i++)
		if (!findings_has(&patient.findings, (enum section) i))
			findings_add(&patient.findings, (enum section) i,
				     VERDICT_UNKNOWN, NULL,
				     "not examined, as something else is "
				     "wrong, or the server does not tell");
	rlk_conn_close(patient.conn);
	*ret_findings = patient.findings;
}
