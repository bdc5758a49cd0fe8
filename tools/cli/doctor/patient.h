/* SPDX-License-Identifier: MIT */
#ifndef CLI_DOCTOR_PATIENT_H
#define CLI_DOCTOR_PATIENT_H

/*
 * The server under examination. The connections are the library's own, so that
 * what it refuses to talk to is refused here too, with its reason.
 */

#include "command.h"
#include "db/conn.h"
#include "db/stmt.h"
#include "doctor/findings.h"

struct patient {
	const struct common *common;
	struct rlk_conn_target target;
	struct rlk_conn *conn; /* NULL: the server was not reached */
	struct findings findings;
	int64_t began_us; /* the first look at both clocks, see clock.c */
	int64_t server_us;
	int64_t rtt_us;
};

/** Go through all sections: each has a finding then. */
void patient_examine(const struct common *common,
		     struct findings *ret_findings);

/** Open a connection of which the server keeps the session for @idle_s when it
 *  is silent. Returns 0 or the server errors. */
int patient_connect(struct patient *patient, unsigned int idle_s,
		    struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr);

/** Give all statements that follow on @conn their time. */
void patient_more_time(struct rlk_conn *conn);

/** Read the number that @def selects. Returns false without an answer. */
bool patient_number(struct rlk_conn *conn, const struct rlk_stmt_def *def,
		    uint64_t *ret_number, struct rowlock_errinfo *reterr);

/** Run @sql. Returns false, and the reason, if it is refused or not answered.
 */
bool patient_text(struct rlk_conn *conn, const char *sql,
		  struct rowlock_errinfo *reterr);

/** The section that a refused connection is about. */
enum section patient_section(const struct rowlock_errinfo *error);

/** Facts that are read by statements: server.c. */
void examine_server(struct patient *patient);

/** The tables, and the rights of the account on them: rights.c. */
void examine_tables(struct patient *patient);

/** The server's clock against ours: at the beginning, and when some seconds
 *  have passed: clock.c. */
void examine_clock_begin(struct patient *patient);
void examine_clock_end(struct patient *patient);

/** Locks, a KILL and user-level locks, tried out: live.c. */
void examine_live(struct patient *patient);

#endif
