/* SPDX-License-Identifier: MIT */
/*
 * Reads facts of the server: two statements that need no privilege, SHOW
 * GLOBAL VARIABLES and SHOW STATUS, and verdicts by table.
 *
 * Variables that the library sets for its own sessions, and reads back, are no
 * matter here: only those that stay as the server has them. Failure modes: a
 * fact that the server does not have is passed over; an answer that does not
 * come is unknown.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "db/stmt.h"
#include "doctor/patient.h"

#define CERTIFICATE_LEAST_DAYS 30

/* An idle connection of an application is that between two statements of a
 * guarded transaction. */
#define IDLE_LEAST_S 30

/* A client that waits, holds and beats has these open now and then. */
#define CONNECTIONS_OF_ONE 8

enum fact {
	FACT_FLUSH,
	FACT_SYNC_BINLOG,
	FACT_LOG_BIN,
	FACT_DOUBLEWRITE,
	FACT_WAIT_TIMEOUT,
	FACT_IDLE_TRANSACTION,
	FACT_IDLE_WRITE,
	FACT_STATEMENT_TIME,
	FACT_CONNECTIONS_MOST,
	FACT_USER_MOST,
	FACT_STATEMENTS_MOST,
	FACT_CONNECTED,
	FACT_PREPARED,
	FACT_CIPHER,
	FACT_NOT_AFTER,
	FACTS,
};

static const char *const names[FACTS] = {
	[FACT_FLUSH] = "innodb_flush_log_at_trx_commit",
	[FACT_SYNC_BINLOG] = "sync_binlog",
	[FACT_LOG_BIN] = "log_bin",
	[FACT_DOUBLEWRITE] = "innodb_doublewrite",
	[FACT_WAIT_TIMEOUT] = "wait_timeout",
	[FACT_IDLE_TRANSACTION] = "idle_transaction_timeout",
	[FACT_IDLE_WRITE] = "idle_write_transaction_timeout",
	[FACT_STATEMENT_TIME] = "max_statement_time",
	[FACT_CONNECTIONS_MOST] = "max_connections",
	[FACT_USER_MOST] = "max_user_connections",
	[FACT_STATEMENTS_MOST] = "max_prepared_stmt_count",
	[FACT_CONNECTED] = "Threads_connected",
	[FACT_PREPARED] = "Prepared_stmt_count",
	[FACT_CIPHER] = "Ssl_cipher",
	[FACT_NOT_AFTER] = "Ssl_server_not_after",
};

#define VARIABLES                                                              \
	"'innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', "         \
	"'innodb_doublewrite', 'wait_timeout', 'idle_transaction_timeout', "   \
	"'idle_write_transaction_timeout', 'max_statement_time', "             \
	"'max_connections', 'max_user_connections', "                          \
	"'max_prepared_stmt_count'"

static const struct rlk_stmt_def read_variables = {
	"variables",
	"SHOW GLOBAL VARIABLES WHERE Variable_name IN (" VARIABLES ")",
	true,
};

static const struct rlk_stmt_def read_status = {
	"status",
	"SHOW SESSION STATUS WHERE Variable_name IN ('Threads_connected', "
	"'Prepared_stmt_count', 'Ssl_cipher', 'Ssl_server_not_after')",
	true,
};

struct facts {
	char values[FACTS][128];
	bool known[FACTS];
};

static void see_fact(const struct rlk_value *columns, void *arg)
{
	struct facts *facts = arg;

	for (size_t i = 0; i < FACTS; i++) {
		if (strcasecmp(columns[0].text, names[i]) != 0)
			continue;
		snprintf(facts->values[i], sizeof(facts->values[i]), "%.*s",
			 (int) sizeof(facts->values[i]) - 1, columns[1].text);
		facts->known[i] = true;
	}
}

static uint64_t number(const struct facts *facts, enum fact fact)
{
	return strtoull(facts->values[fact], NULL, 10);
}

static bool is_off(const struct facts *facts, enum fact fact)
{
	return facts->known[fact] &&
	       (strcmp(facts->values[fact], "0") == 0 ||
		strcasecmp(facts->values[fact], "OFF") == 0);
}

static void judge_server(struct patient *patient)
{
	const struct rlk_server *server = rlk_conn_server(patient->conn);

	if (server->read_only)
		findings_add(&patient->findings, SECTION_SERVER, VERDICT_WRONG,
			     "name the primary: a lock on a replica keeps "
			     "nobody out there",
			     "%s takes no writes", server->name);
	else
		findings_add(&patient->findings, SECTION_SERVER, VERDICT_OK,
			     NULL, "%s answers and takes writes", server->name);
}

static void judge_engine(struct patient *patient)
{
	if (rlk_conn_may_kill(patient->conn))
		findings_add(&patient->findings, SECTION_ENGINE, VERDICT_OK,
			     NULL, "nothing in between numbers connections");
	else
		findings_add(&patient->findings, SECTION_ENGINE, VERDICT_ADVICE,
			     "connect to the server itself, or by a port that "
			     "passes packets on",
			     "something in between gives connections numbers "
			     "of its own: a connection that hangs is not "
			     "killed, but waited for");
}

static void judge_durability(struct patient *patient, const struct facts *facts)
{
	struct findings *findings = &patient->findings;
	uint64_t flush = number(facts, FACT_FLUSH);

	if (!facts->known[FACT_FLUSH])
		return;
	/* MariaDB: "innodb_flush_log_at_trx_commit", 3 flushes as well. */
	if (flush != 1 && flush != 3)
		findings_add(findings, SECTION_DURABILITY, VERDICT_ADVICE,
			     "SET GLOBAL innodb_flush_log_at_trx_commit = 1, "
			     "and the same in the server's option file",
			     "innodb_flush_log_at_trx_commit is %" PRIu64
			     ": a crash forgets locks that were granted just "
			     "before, and tokens may come twice",
			     flush);
	if (!is_off(facts, FACT_LOG_BIN) && facts->known[FACT_LOG_BIN] &&
	    number(facts, FACT_SYNC_BINLOG) != 1)
		findings_add(findings, SECTION_DURABILITY, VERDICT_ADVICE,
			     "SET GLOBAL sync_binlog = 1, and the same in the "
			     "server's option file",
			     "sync_binlog is %s: if the host crashes, "
			     "commits that are not in the binary log are "
			     "rolled back, and grants with them",
			     facts->values[FACT_SYNC_BINLOG]);
	if (is_off(facts, FACT_DOUBLEWRITE) ||
	    strcasecmp(facts->values[FACT_DOUBLEWRITE], "DETECT_ONLY") == 0)
		findings_add(findings, SECTION_DURABILITY, VERDICT_ADVICE,
			     "set innodb_doublewrite = ON in the server's "
			     "option file, unless its file system writes whole "
			     "pages",
			     "innodb_doublewrite is %s: a crash may leave "
			     "half a page of a table",
			     facts->values[FACT_DOUBLEWRITE]);
	if (!findings_has(findings, SECTION_DURABILITY))
		findings_add(findings, SECTION_DURABILITY, VERDICT_OK, NULL,
			     "a commit is on disk when it is answered");
}

static void judge_timeout(struct patient *patient, const struct facts *facts,
			  enum fact fact, const char *what)
{
	/* max_statement_time: "0.500000" */
	double value = strtod(facts->values[fact], NULL);
	char next[128];

	if (!facts->known[fact] || value <= 0 || value >= IDLE_LEAST_S)
		return;
	snprintf(next, sizeof(next), "SET GLOBAL %s = %s", names[fact],
		 fact == FACT_WAIT_TIMEOUT ? "28800" : "0");
	findings_add(&patient->findings, SECTION_TIMEOUTS, VERDICT_ADVICE, next,
		     "%s is %g s: %s; rowlock's own connections set their own",
		     names[fact], value, what);
}

/* MariaDB Server Documentation, "GRANT", "Setting Per-Account Resources
 * Limits": a session's variable has the first, and ours sets that to 0. */
struct limits {
	double statement_s;
	double connections;
};

static void see_limit(const char *grant, const char *word, double *ret_limit)
{
	const char *found = strstr(grant, word);

	if (found)
		*ret_limit = strtod(found + strlen(word), NULL);
}

static void see_limits(const struct rlk_value *columns, void *arg)
{
	struct limits *limits = arg;

	see_limit(columns[0].text, " MAX_STATEMENT_TIME ",
		  &limits->statement_s);
	see_limit(columns[0].text, " MAX_USER_CONNECTIONS ",
		  &limits->connections);
}

static void judge_account(struct patient *patient)
{
	static const struct rlk_stmt_def read_grants = { "grants",
							 "SHOW GRANTS", true };
	struct limits limits = { .connections = 0 };
	struct rowlock_errinfo error;

	patient_more_time(patient->conn);
	rlk_stmt_each(patient->conn, &read_grants, NULL, see_limits, &limits,
		      &error);
	if (limits.statement_s > 0 && limits.statement_s < IDLE_LEAST_S)
		findings_add(&patient->findings, SECTION_TIMEOUTS,
			     VERDICT_ADVICE,
			     "ALTER USER the account WITH MAX_STATEMENT_TIME 0",
			     "the account has MAX_STATEMENT_TIME %g s: the "
			     "application's statements end after it; rowlock's "
			     "own connections set their own",
			     limits.statement_s);
	if (limits.connections > 0 && limits.connections < CONNECTIONS_OF_ONE)
		findings_add(&patient->findings, SECTION_LOAD, VERDICT_ADVICE,
			     "ALTER USER the account WITH MAX_USER_CONNECTIONS "
			     "0, or a larger number",
			     "the account has MAX_USER_CONNECTIONS %g: one "
			     "client may need %d",
			     limits.connections, CONNECTIONS_OF_ONE);
}

static void judge_timeouts(struct patient *patient, const struct facts *facts)
{
	if (!facts->known[FACT_WAIT_TIMEOUT])
		return;
	judge_timeout(patient, facts, FACT_WAIT_TIMEOUT,
		      "the application's connections end when they are idle "
		      "for so long, in a guarded transaction too");
	judge_timeout(patient, facts, FACT_IDLE_TRANSACTION,
		      "the application's transactions end when they are idle");
	judge_timeout(patient, facts, FACT_IDLE_WRITE,
		      "the application's transactions end when they are idle");
	judge_timeout(patient, facts, FACT_STATEMENT_TIME,
		      "the application's statements end after it");
	if (!findings_has(&patient->findings, SECTION_TIMEOUTS))
		findings_add(&patient->findings, SECTION_TIMEOUTS, VERDICT_OK,
			     NULL,
			     "no time-out ends what an application does in %d "
			     "s",
			     IDLE_LEAST_S);
}

/* A node that is not ready is refused when a connection is opened. */
static void judge_cluster(struct patient *patient)
{
	const struct rlk_server *server = rlk_conn_server(patient->conn);
	struct findings *findings = &patient->findings;

	if (!rlk_server_many_writers(server)) {
		findings_add(findings, SECTION_CLUSTER, VERDICT_OK, NULL,
			     "no node of a cluster with several writers");
		return;
	}
	findings_add(findings, SECTION_CLUSTER, VERDICT_OK, NULL,
		     "a node of %s with several writers: leases work, "
		     "the row strategy needs --single-writer",
		     server->galera ? "a Galera cluster"
				    : "a replication group");
}

/* "Nov 20 12:00:00 2027 GMT" */
static bool days_left(const char *text, double *ret_days)
{
	struct tm end = { .tm_isdst = 0 };
	const char *rest = strptime(text, "%b %d %H:%M:%S %Y", &end);

	if (!rest)
		return false;
	*ret_days = difftime(timegm(&end), time(NULL)) / 86400;
	return true;
}

static void judge_certificate(struct patient *patient,
			      const struct facts *facts)
{
	double days;

	if (!days_left(facts->values[FACT_NOT_AFTER], &days))
		findings_add(&patient->findings, SECTION_TLS, VERDICT_UNKNOWN,
			     NULL,
			     "the connection has TLS (%s); the server does "
			     "not say until when its certificate is valid",
			     facts->values[FACT_CIPHER]);
	else if (days < CERTIFICATE_LEAST_DAYS)
		findings_add(&patient->findings, SECTION_TLS, VERDICT_ADVICE,
			     "give the server a new certificate: "
			     "rowlock-connect(7); then FLUSH SSL (MariaDB), "
			     "ALTER INSTANCE RELOAD TLS (MySQL)",
			     "the server's certificate ends on %s, after which "
			     "no verified connection is made",
			     facts->values[FACT_NOT_AFTER]);
	else
		findings_add(&patient->findings, SECTION_TLS, VERDICT_OK, NULL,
			     "the connection has TLS (%s), the certificate is "
			     "valid until %s",
			     facts->values[FACT_CIPHER],
			     facts->values[FACT_NOT_AFTER]);
}

static void judge_tls(struct patient *patient, const struct facts *facts)
{
	if (patient->target.flags & ROWLOCK_TLS_UNVERIFIED)
		findings_add(&patient->findings, SECTION_TLS, VERDICT_ADVICE,
			     "leave out --tls-unverified, with a certificate "
			     "as in rowlock-connect(7)",
			     "--tls-unverified is given: whoever is on the "
			     "network can take locks");
	if (!facts->known[FACT_CIPHER])
		return;
	if (*facts->values[FACT_CIPHER])
		judge_certificate(patient, facts);
	else if (!(patient->target.flags & ROWLOCK_TLS_UNVERIFIED))
		findings_add(&patient->findings, SECTION_TLS, VERDICT_OK, NULL,
			     "no TLS, and none is needed: the server is on "
			     "this host");
}

/* How much is used of a thing that there is for all. */
static void judge_share(struct patient *patient, const struct facts *facts,
			enum fact used, enum fact most)
{
	uint64_t have = number(facts, used), all = number(facts, most);
	char next[128];

	/* Nobody prepares a statement where there is none, and locks need
	 * none. */
	if (!facts->known[used] || !facts->known[most] || !all)
		return;
	if (have * 5 < all * 4) {
		findings_add(&patient->findings, SECTION_LOAD, VERDICT_OK, NULL,
			     "%s is %" PRIu64 " of %" PRIu64, names[used], have,
			     all);
		return;
	}
	snprintf(next, sizeof(next),
		 "end idle clients, or SET GLOBAL %s = %" PRIu64, names[most],
		 all * 2);
	findings_add(&patient->findings, SECTION_LOAD, VERDICT_ADVICE, next,
		     "%s is %" PRIu64 " of %" PRIu64
		     ": when all are used nobody gets another lock",
		     names[used], have, all);
}

static void judge_load(struct patient *patient, const struct facts *facts)
{
	uint64_t most = number(facts, FACT_USER_MOST);

	judge_share(patient, facts, FACT_CONNECTED, FACT_CONNECTIONS_MOST);
	judge_share(patient, facts, FACT_PREPARED, FACT_STATEMENTS_MOST);
	if (most > 0 && most < CONNECTIONS_OF_ONE)
		findings_add(&patient->findings, SECTION_LOAD, VERDICT_ADVICE,
			     "SET GLOBAL max_user_connections = 0, or a larger "
			     "number",
			     "max_user_connections is %" PRIu64
			     ": one client may need %d",
			     most, CONNECTIONS_OF_ONE);
}

void examine_server(struct patient *patient)
{
	const struct rlk_stmt_def *const looks[] = { &read_variables,
						     &read_status };
	struct rowlock_errinfo error;
	struct facts facts = { .known = { false } };

	judge_server(patient);
	judge_engine(patient);
	for (size_t i = 0; i < RLK_ARRAY_SIZE(looks); i++) {
		patient_more_time(patient->conn);
		if (rlk_stmt_each(patient->conn, looks[i], NULL, see_fact,
				  &facts, &error))
			findings_add(&patient->findings, SECTION_LOAD,
				     VERDICT_UNKNOWN, NULL, "%s",
				     error.message);
	}
	judge_durability(patient, &facts);
	judge_account(patient);
	judge_timeouts(patient, &facts);
	judge_cluster(patient);
	judge_tls(patient, &facts);
	judge_load(patient, &facts);
}
