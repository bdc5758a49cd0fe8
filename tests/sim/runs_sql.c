/* SPDX-License-Identifier: MIT */
/*
 * The statements of strategy/job_run.c. The conditions that a run stands on may
 * be left out of their text, and then do not hold: so that the judge can be
 * seen to miss them.
 */
#include <string.h>

#include "runs.h"
#include "sim.h"

#define OF_WINDOW                                                              \
	"GREATEST(COUNT(IF(j.nth > 0, 1, NULL)), COALESCE(MAX(IF(j.from_at = " \
	"? AND j.until_at = ?, j.nth, 0)), 0))"
#define RUN "FROM job_run WHERE name = ? AND run = ?"
#define FORGET(kind)                                                           \
	"DELETE j FROM job_run j FORCE INDEX (PRIMARY) JOIN (SELECT number "   \
	"FROM job_run FORCE INDEX (PRIMARY) WHERE name = ? AND run <> ? AND "  \
	"succeeded " kind " ORDER BY number DESC LIMIT 1 OFFSET ?) k WHERE "   \
	"j.name = ? AND j.run <> ? AND j.succeeded " kind " AND j.number <= "  \
	"k.number"

#define WITHIN "UTC_TIMESTAMP(6) >= ? AND UTC_TIMESTAMP(6) < ? "
#define NOT_YET "HAVING COALESCE(MAX(j.succeeded), 0) = 0 "
#define OF_A_DAY " AND j.until_at < UTC_TIMESTAMP(6) - INTERVAL 1 DAY"
#define OF_A_MINUTE " AND j.until_at < UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE"

static const struct {
	enum sim_verb verb;
	const char *label;
	const char *begins;
	const char *ends; /* or NULL, where nothing follows */
} texts[] = {
	{ SIM_RUN_LOCK, "lock-lease",
	  "SELECT attempt FROM business_lease WHERE name = ? AND slot = ? AND "
	  "attempt = ? FOR UPDATE",
	  NULL },
	{ SIM_RUN_LOOK, "look-at-run",
	  "SELECT CAST(succeeded AS UNSIGNED) " RUN, NULL },
	{ SIM_RUN_LOOK, "look-at-run", "SELECT run " RUN " AND succeeded = 0",
	  NULL },
	{ SIM_RUN_EXPLAIN, "why-no-run",
	  "SELECT CAST(COALESCE(MAX(succeeded), 0) AS UNSIGNED), "
	  "CAST(" OF_WINDOW " AS UNSIGNED), CAST(UTC_TIMESTAMP(6) >= ? AND "
	  "UTC_TIMESTAMP(6) < ? AS UNSIGNED) FROM job_run j WHERE name = ? AND "
	  "began_at >= ? AND began_at < ?",
	  NULL },
	{ SIM_RUN_CLAIM, "claim-run",
	  "INSERT INTO job_run (name, run, number, attempt, from_at, until_at, "
	  "nth, began_at, host, pid, program) SELECT l.name, ?, "
	  "COALESCE((SELECT MAX(o.number) FROM job_run o WHERE o.name = "
	  "l.name), 0) + 1, MAX(l.attempt), ?, ?, " OF_WINDOW " + 1 AS "
	  "nth_now, UTC_TIMESTAMP(6), COALESCE(MAX(s.host), ''), "
	  "COALESCE(MAX(s.pid), 0), COALESCE(MAX(s.program), '') FROM "
	  "business_lease l LEFT JOIN lease_session s ON s.id = l.session LEFT "
	  "JOIN job_run j ON j.name = l.name AND j.began_at >= ? AND "
	  "j.began_at < ? WHERE l.name = ? AND l.slot = ? AND l.attempt = ? "
	  "AND ",
	  " AND nth_now <= ? ON DUPLICATE KEY UPDATE number = "
	  "job_run.number" },
	{ SIM_RUN_END, "end-run",
	  "UPDATE job_run SET ended_at = UTC_TIMESTAMP(6), code = ?, succeeded "
	  "= ? WHERE name = ? AND run = ? AND succeeded = 0",
	  NULL },
	{ SIM_RUN_UNDO, "undo-run", "DELETE " RUN " AND succeeded = 0", NULL },
	{ SIM_RUN_FORGET, "forget-failures", FORGET("= 0"), NULL },
	{ SIM_RUN_FORGET, "forget-successes", FORGET("> 0"), "" },
};

static bool is_text(size_t i, const char *sql)
{
	size_t length = strlen(texts[i].begins);
	size_t end = texts[i].ends ? strlen(texts[i].ends) : 0;
	size_t whole = strlen(sql);

	if (strncmp(sql, texts[i].begins, length) != 0)
		return false;
	if (!texts[i].ends)
		return whole == length;
	return whole >= length + end &&
	       strcmp(sql + whole - end, texts[i].ends) == 0;
}

bool sim_run_read(struct sim_op *op, const char *sql)
{
	size_t i = 0;

	while (i < RLK_ARRAY_SIZE(texts) && !is_text(i, sql))
		i++;
	if (i == RLK_ARRAY_SIZE(texts))
		return false;
	*op = (struct sim_op){
		.verb = texts[i].verb,
		.label = texts[i].label,
		.writes = texts[i].verb >= SIM_ROW_MAKE,
		.in_window = strstr(sql, WITHIN) != NULL,
		.first_only = strstr(sql, NOT_YET) != NULL,
		.succeeded = strstr(sql, "j.succeeded > 0") != NULL,
	};
	if (strstr(sql, OF_A_DAY))
		op->older_us = SIM_DAY_US;
	if (strstr(sql, OF_A_MINUTE))
		op->older_us = 60 * 1000000ll;
	if (op->verb == SIM_RUN_LOOK)
		op->open_only = strstr(sql, "succeeded = 0") != NULL;
	return true;
}

const char *sim_run_label(enum sim_verb verb)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(texts); i++)
		if (texts[i].verb == verb)
			return texts[i].label;
	return NULL;
}
