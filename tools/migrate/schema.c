/* SPDX-License-Identifier: MIT */
/*
 * What is applied, what is missing, and applying it.
 *
 * DDL commits by itself, so no step is taken back: every statement can be run
 * again instead, and a run that was killed is simply repeated. Runs at the same
 * time exclude each other by a user-level lock. Where another one was faster,
 * this one looks again.
 */
#include "migrate/migrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define TABLES                                                                 \
	"'business_lock','business_lease','lease_session','lock_token',"       \
	"'lock_token_floor','lock_permits','rowlock_schema','lock_status'"
static const char *const tables[] = {
	"business_lock",    "business_lease", "lease_session",
	"lock_token",       "lock_token_floor", "lock_permits",
	"rowlock_schema",   "lock_status",
};

/* MySQL Server Error Reference, the same in MariaDB. */
enum {
	ERROR_DUP_COLUMN = 1060,
	ERROR_LOCK_WAIT = 1205,
	ERROR_DEADLOCK = 1213,
	ERROR_ROUTINE_EXISTS = 1304,
	ERROR_INTERRUPTED = 1317,
};

/* ------------------------------------------------------------------ look */

static void see_table(const struct rlk_value *columns, void *arg)
{
	bool *there = arg;

	for (size_t i = 0; i < RLK_ARRAY_SIZE(tables); i++)
		if (strcasecmp(columns[0].text, tables[i]) == 0)
			there[i] = true;
}

static void see_version(const struct rlk_value *columns, void *arg)
{
	struct run *run = arg;
	unsigned int version = (unsigned int) columns[0].u64;

	if (version > run->theirs)
		run->theirs = version;
	if (version >= VERSIONS_MOST)
		return;
	snprintf(run->checksums[version], sizeof(run->checksums[0]), "%s",
		 columns[1].text);
	snprintf(run->applied[version], sizeof(run->applied[0]), "%s",
		 columns[2].text);
}

static void look_at_tables(struct run *run)
{
	bool there[RLK_ARRAY_SIZE(tables)] = { false };

	query(run,
	      "SELECT table_name FROM information_schema.tables WHERE "
	      "table_schema = DATABASE() AND table_name IN (" TABLES ")",
	      see_table, there);
	run->has_business_lock = there[0];
	run->has_tokens = there[3];
	run->has_record = there[6];
	run->missing_table[0] = '\0';
	for (size_t i = 0; i < RLK_ARRAY_SIZE(tables); i++)
		if (!there[i])
			snprintf(run->missing_table, sizeof(run->missing_table),
				 "%s", tables[i]);
}

/* The tables once more after the record: another run may have made both
 * meanwhile, and makes the record last. */
void look(struct run *run)
{
	run->theirs = 0;
	memset(run->applied, 0, sizeof(run->applied));
	look_at_tables(run);
	if (!run->has_record)
		return;
	query(run,
	      "SELECT version, checksum, CAST(applied_at AS CHAR) FROM "
	      "rowlock_schema WHERE version > 0",
	      see_version, run);
	look_at_tables(run);
}

static unsigned int newest(void)
{
	unsigned int count = 0;

	while (sql_files[count].name)
		count++;
	return count;
}

static bool is_missing(const struct run *run)
{
	for (unsigned int v = 1; v <= newest(); v++)
		if (!*run->applied[v])
			return true;
	return false;
}

/* Refuses what this version cannot know how to handle. */
void compare(const struct run *run)
{
	for (unsigned int v = 1; v <= newest(); v++)
		if (*run->applied[v] &&
		    strcmp(run->checksums[v], sql_files[v - 1].checksum) != 0)
			die(EXIT_REFUSED,
			    "migration %s in database '%s' on %s was applied "
			    "with another content (recorded SHA-256 %s, ours "
			    "%s). Nothing was changed. Use the rowlock-migrate "
			    "of the rowlock that is installed there",
			    sql_files[v - 1].name, run->database, run->where,
			    run->checksums[v], sql_files[v - 1].checksum);
	if (run->theirs > newest())
		die(EXIT_REFUSED,
		    "database '%s' on %s has schema version %u; this "
		    "rowlock-migrate knows up to %u. Nothing was changed. Use "
		    "the rowlock-migrate of that newer rowlock",
		    run->database, run->where, run->theirs, newest());
	if (!is_missing(run) && *run->missing_table)
		die(EXIT_REFUSED,
		    "'%s' is missing in database '%s' on %s, though its "
		    "migration is recorded. If it was dropped by mistake: "
		    "DELETE FROM rowlock_schema WHERE version > 0; then run "
		    "this again, what is there is kept",
		    run->missing_table, run->database, run->where);
}

void put_status(const struct run *run)
{
	printf("database '%s' on %s\n", run->database, run->where);
	for (unsigned int v = 1; v <= newest(); v++)
		if (*run->applied[v])
			printf("%s  applied %s UTC\n", sql_files[v - 1].name,
			       run->applied[v]);
		else
			printf("%s  missing\n", sql_files[v - 1].name);
	if (*run->adopt)
		printf("business_lock  has to be altered: %s\n", run->adopt);
	if (is_missing(run) || *run->adopt)
		exit(EXIT_MISSING);
}

/* ----------------------------------------------------------------- apply */

bool apply(struct run *run, const char *sql)
{
	struct rowlock_errinfo error;
	unsigned int number;

	if (run->mode == MODE_DRY) {
		printf("%s;\n", sql);
		return true;
	}
	number = execute(run, sql, &error);
	if (!number)
		return true;
	/* The column of another run that was as fast; or, on a cluster, the
	 * same DDL on another node. */
	if (number == ERROR_DUP_COLUMN ||
	    (run->cluster &&
	     (number == ERROR_DEADLOCK || number == ERROR_INTERRUPTED)))
		return false;
	if (number == ERROR_LOCK_WAIT)
		die(EXIT_BUSY,
		    "a program holds a lock or has an open transaction on the "
		    "tables of database '%s' on %s for more than %u s, and "
		    "while we wait it keeps new ones out. Run it again at a "
		    "quieter time, or with a longer --wait",
		    run->database, run->where, run->ddl_wait_s);
	die(EXIT_SERVER,
	    "migrating database '%s' on %s stopped: %s. What was done stays; "
	    "run it again when the reason is gone",
	    run->database, run->where, error.message);
}

static bool apply_file(struct run *run, const struct sql_file *file)
{
	for (const char *const *sql = file->statements; *sql; sql++)
		if (!apply(run, *sql))
			return false;
	return true;
}

static bool apply_version(struct run *run, unsigned int version)
{
	const struct sql_file *file = &sql_files[version - 1];
	char record[256];

	snprintf(record, sizeof(record),
		 "INSERT INTO rowlock_schema (version, checksum, applied_at) "
		 "VALUES (%u, '%s', UTC_TIMESTAMP(6)) "
		 "ON DUPLICATE KEY UPDATE version = version",
		 version, file->checksum);
	if (!apply_file(run, file) || !apply(run, record))
		return false;
	if (run->mode == MODE_APPLY)
		report(ROWLOCK_LOG_INFO,
		       "applied migration %s to database '%s' on %s",
		       file->name, run->database, run->where);
	return true;
}

static void see_number(const struct rlk_value *columns, void *arg)
{
	*(uint64_t *) arg = columns[0].u64;
}

/* Its name has a secret, so that no account without rights can take it first;
 * the secret is made by whoever comes first. On Galera GET_LOCK excludes on one
 * node only: two runs then apply the same statements in one order, which they
 * bear. */
static bool take_lock(struct run *run)
{
	char sql[256];
	uint64_t locked = 0;

	if (!apply(run, sql_files[0].statements[0]) ||
	    !apply_file(run, &sql_files[5]))
		return false;
	if (run->mode == MODE_DRY || run->cluster)
		return true;
	snprintf(sql, sizeof(sql),
		 "SELECT CAST(GET_LOCK(CONCAT('rowlock-migrate.', LEFT(SHA2("
		 "CONCAT('migrate', secret), 256), 40)), %u) AS UNSIGNED) "
		 "FROM rowlock_schema WHERE version = 0",
		 run->wait_s);
	query(run, sql, see_number, &locked);
	if (!locked)
		die(EXIT_BUSY,
		    "another rowlock-migrate is at work in database '%s' on "
		    "%s for more than %u s. Try again later, or look at SHOW "
		    "PROCESSLIST there",
		    run->database, run->where, run->wait_s);
	/* Somebody may have been faster. */
	look(run);
	compare(run);
	plan_adoption(run);
	return true;
}

bool migrate(struct run *run)
{
	unsigned int missing = 0;

	for (unsigned int v = 1; v <= newest(); v++)
		missing += !*run->applied[v];
	if (!missing && !*run->adopt) {
		if (run->mode == MODE_APPLY)
			report(ROWLOCK_LOG_INFO,
			       "database '%s' on %s is up to date (version %u)",
			       run->database, run->where, newest());
		return true;
	}
	if (!take_lock(run))
		return false;
	if (*run->adopt && !apply(run, run->adopt))
		return false;
	for (unsigned int v = 1; v <= newest(); v++)
		if (!*run->applied[v] && !apply_version(run, v))
			return false;
	return true;
}

/* -------------------------------------------------------------- optional */

static void see_fence(const struct rlk_value *columns, void *arg)
{
	snprintf(arg, 256, "%s", columns[0].text);
}

static uint64_t count(struct run *run, const char *sql)
{
	uint64_t number = 0;

	query(run, sql, see_number, &number);
	return number;
}

static void check_lease(struct run *run)
{
	if (count(run,
		  "SELECT COUNT(*) FROM information_schema.columns WHERE "
		  "table_schema = DATABASE() AND table_name = "
		  "'business_lease' AND column_name IN ('slot', 'attempt', "
		  "'guards')") != 3)
		die(EXIT_REFUSED,
		    "database '%s' on %s has no table business_lease of "
		    "rowlock's. Nothing was changed. Run rowlock-migrate "
		    "without --guard-procedure first",
		    run->database, run->where);
}

static bool is_there(struct run *run, const struct sql_file *file)
{
	char columns[256] = "";

	if (file == &sql_fence_procedure || file == &sql_guard_procedure)
		return count(run,
			     file == &sql_fence_procedure
				 ? "SELECT COUNT(*) FROM information_schema"
				   ".routines WHERE routine_schema = "
				   "DATABASE() AND routine_name = "
				   "'rowlock_fence'"
				 : "SELECT COUNT(*) FROM information_schema"
				   ".routines WHERE routine_schema = "
				   "DATABASE() AND routine_name = "
				   "'rowlock_guard'");
	query(run,
	      "SELECT IFNULL(GROUP_CONCAT(LOWER(column_name) ORDER BY "
	      "ordinal_position), '') FROM information_schema.columns WHERE "
	      "table_schema = DATABASE() AND table_name = 'lock_fence'",
	      see_fence, columns);
	if (*columns && strcmp(columns, "resource,token,passes,passed_at") != 0)
		die(EXIT_REFUSED,
		    "database '%s' on %s has a table 'lock_fence' that is not "
		    "rowlock's. Nothing was changed. Rename it, or use another "
		    "database",
		    run->database, run->where);
	return *columns;
}

int migrate_optional(struct run *run)
{
	int status = 0;

	if (run->optional[0] == &sql_guard_procedure)
		check_lease(run);
	if (run->mode == MODE_STATUS)
		printf("database '%s' on %s\n", run->database, run->where);
	for (size_t i = 0; run->optional[i]; i++) {
		const struct sql_file *file = run->optional[i];
		bool there = is_there(run, file);

		if (run->mode == MODE_STATUS) {
			printf("%-16s %s\n", file->name,
			       there ? "there" : "missing");
			status = there ? status : EXIT_MISSING;
		} else if (!there) {
			apply_file(run, file);
		}
	}
	return status;
}
