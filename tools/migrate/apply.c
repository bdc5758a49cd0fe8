/* SPDX-License-Identifier: MIT */
/*
 * Applies missing migrations.
 *
 * DDL commits by itself, so no step is taken back: every statement can be run
 * again instead, and a run that was killed is simply repeated. Runs at the same
 * time exclude each other by a user-level lock. If another run was faster, it
 * looks again.
 *
 * All of it is SQL, so that --dry-run prints what would be run.
 */
#include "migrate/migrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/schema.h"

#define CHECK_MS 60000
#define BUSY "rowlock_migrate_busy"
#define CHANGED "rowlock_migrate_changed"

enum { RECORD = 1, SECRET = 6 }; /* versions that make these */

/* Returns false if another run was faster, so that this one has to look again:
 * it has recorded the version, or made the column; or it has changed the same
 * table, on this server or on another node of a cluster. */
static bool step(struct run *run, const char *sql)
{
	struct rowlock_errinfo error;
	unsigned int number = apply(run, sql, &error);

	if (!number)
		return true;
	if (strstr(error.message, CHANGED) || number == ERROR_DUP_COLUMN ||
	    number == ERROR_DEADLOCK ||
	    (run->cluster && number == ERROR_INTERRUPTED))
		return false;
	if (strstr(error.message, BUSY))
		die(EXIT_BUSY,
		    "another rowlock-migrate is at work in database '%s' on %s "
		    "for more than %u s. Try again later, or look at SHOW "
		    "PROCESSLIST there",
		    run->database, run->where, run->wait_s);
	if (number == ERROR_LOCK_WAIT)
		die(EXIT_BUSY,
		    "a program holds a lock or has an open transaction on the "
		    "tables of database '%s' on %s for more than %u s, and "
		    "while we wait it keeps new ones out. Run it again at a "
		    "quieter time, or with a longer --wait",
		    run->database, run->where, run->ddl_wait_s);
	die(EXIT_SERVER,
	    "migrating database '%s' on %s stopped: %s%s. What was done stays; "
	    "run it again when the reason is gone",
	    run->database, run->where, error.message, rights(number));
}

void set_session(struct run *run)
{
	char sql[160];

	snprintf(sql, sizeof(sql),
		 "SET SESSION sql_mode = 'STRICT_ALL_TABLES,"
		 "NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', autocommit = "
		 "1, lock_wait_timeout = %u",
		 run->ddl_wait_s);
	step(run, sql);
	/* Required by a server with binlog_format STATEMENT. */
	step(run, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
}

/* A script for the client mariadb cannot branch, but it stops at the first
 * error, and a statement that is just @mark is one. */
static bool stop_unless(struct run *run, const char *condition,
			const char *mark)
{
	char sql[160];

	snprintf(sql, sizeof(sql), "SET @rowlock_do = IF(%s, 'DO 0', '%s')",
		 condition, mark);
	return step(run, sql) &&
	       step(run, "PREPARE rowlock_step FROM @rowlock_do") &&
	       step(run, "EXECUTE rowlock_step") &&
	       step(run, "DEALLOCATE PREPARE rowlock_step");
}

static bool run_file(struct run *run, const struct sql_file *file)
{
	for (const char *const *sql = file->statements; *sql; sql++)
		if (!step(run, *sql))
			return false;
	return true;
}

/* The lock's name has a secret, so that no account without rights can take it
 * first. The first run makes the secret, or two at the same time. */
static bool make_secret(struct run *run)
{
	remark(run, "what the lock is named by", "");
	return step(run, sql_files[RECORD - 1].statements[0]) &&
	       run_file(run, &sql_files[SECRET - 1]);
}

/* On Galera GET_LOCK() excludes on one node only, and some versions refuse it.
 * Two runs on two nodes then apply the same statements twice, in one order on
 * all nodes, which the statements bear. */
static bool take_lock(struct run *run)
{
	struct rowlock_errinfo error;
	char sql[96];

	if (run->cluster &&
	    ask(run, "DO GET_LOCK('rowlock-migrate.probe', 0)", &error))
		return true;
	snprintf(sql, sizeof(sql),
		 "SET @rowlock_lock = GET_LOCK(@rowlock_name, %u)",
		 run->wait_s);
	return step(run, "SELECT CONCAT('rowlock-migrate.', LEFT(SHA2("
			 "CONCAT('migrate', secret), 256), 40)) FROM "
			 "rowlock_schema WHERE version = 0 INTO "
			 "@rowlock_name") &&
	       step(run, sql) && stop_unless(run, "@rowlock_lock = 1", BUSY);
}

static bool apply_version(struct run *run, unsigned int version)
{
	const struct sql_file *file = &sql_files[version - 1];
	char seen[96], record[256];

	snprintf(seen, sizeof(seen),
		 "SET @rowlock_seen = (SELECT COUNT(*) FROM rowlock_schema "
		 "WHERE version = %u)",
		 version);
	snprintf(record, sizeof(record),
		 "INSERT INTO rowlock_schema (version, checksum, applied_at) "
		 "VALUES (%u, '%s', UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE "
		 "version = version",
		 version, file->checksum);
	remark(run, "if nobody was faster, migration ", file->name);
	if (!step(run, seen) || !stop_unless(run, "@rowlock_seen = 0", CHANGED))
		return false;
	if (!run_file(run, file) || !step(run, record))
		return false;
	if (run->mode == MODE_APPLY)
		say("applied migration %s to database '%s' on %s", file->name,
		    run->database, run->where);
	return true;
}

static bool adopt(struct run *run)
{
	remark(run, "adopt the table that is there", "");
	if (!step(run, run->adopt))
		return false;
	if (run->mode == MODE_APPLY)
		say("altered business_lock in database '%s' on %s",
		    run->database, run->where);
	return true;
}

/* The view's last definition. */
static const char *view_sql(const char *name)
{
	char begins[64];

	snprintf(begins, sizeof(begins), "VIEW %s AS", name);
	for (unsigned int v = newest(); v > 0; v--) {
		const char *const *sql = sql_files[v - 1].statements;

		for (; *sql; sql++)
			if (strstr(*sql, begins))
				return *sql;
	}
	abort();
}

/* All of them: whoever made one that fails made the others, too. */
static bool make_views_again(struct run *run)
{
	remark(run, "the views, of which one fails", "");
	for (size_t i = VIEWS; i < TABLES; i++)
		if (!step(run, view_sql(tables[i])))
			return false;
	if (run->mode == MODE_APPLY)
		say("made the views again in database '%s' on %s, as one "
		    "failed: %s",
		    run->database, run->where, run->broken);
	return true;
}

/* check_tables() looks at what is in it. */
static bool has_row_of_secret(struct run *run)
{
	return query_number(run, "SELECT COUNT(*) FROM rowlock_schema WHERE "
				 "version = 0") == 1;
}

/* Each migration was applied; has a table been changed since? Returns 0, or the
 * error, which says what repairs it. An account that may not see all looks at
 * nothing. */
static int check_tables(struct run *run, struct rowlock_errinfo *ret_error)
{
	struct rlk_key key;

	for (size_t i = 0; i < TABLES; i++)
		if (run->hidden[i])
			return 0;
	rlk_conn_set_until(run->conn, rlk_conn_now(run->conn) + CHECK_MS);
	return rlk_schema_check(run->conn, &key, ret_error);
}

void put_status(struct run *run)
{
	bool missing, old = part_is_old(run, &guard);
	struct rowlock_errinfo error;

	put("database '%s' on %s", run->database, run->where);
	for (unsigned int v = 1; v <= newest(); v++)
		if (*run->applied[v])
			put("%s  applied %s UTC", sql_files[v - 1].name,
			    run->applied[v]);
		else
			put("%s  missing", sql_files[v - 1].name);
	for (size_t i = 0; i < TABLES; i++)
		if (run->hidden[i])
			put("%-16s  not seen: this account has no right on it",
			    tables[i]);
	if (*run->broken)
		put("the views have to be made again: %s", run->broken);
	if (old)
		put("rowlock_guard()   is of another version than this "
		    "program: rowlock-migrate --guard-procedure makes it "
		    "again");
	if (part_is_hidden(run, &guard))
		put("rowlock_guard()   not seen: this account has no right on "
		    "it, so it may be there, and of another version");
	plan_adoption(run);
	if (*run->adopt)
		put("business_lock  has to be altered: %s", run->adopt);
	missing = is_missing(run) || *run->adopt || *run->broken || old;
	if (!missing && check_tables(run, &error)) {
		put("%s", error.message);
		missing = true;
	}
	exit(missing ? EXIT_MISSING : 0);
}

bool migrate(struct run *run)
{
	const bool applied = !is_missing(run) && !*run->adopt && !*run->broken;
	struct rowlock_errinfo error;

	if (run->mode == MODE_APPLY && applied && has_row_of_secret(run)) {
		if (check_tables(run, &error))
			die(EXIT_SERVER, "%s; nothing was changed",
			    error.message);
		say("database '%s' on %s is up to date (version %u)",
		    run->database, run->where, newest());
		return true;
	}
	set_session(run);
	if (!make_secret(run) || !take_lock(run))
		return false;
	if (run->mode == MODE_APPLY && applied)
		say("made the secret of database '%s' on %s again",
		    run->database, run->where);
	if (*run->adopt && !adopt(run))
		return false;
	for (unsigned int v = 1; v <= newest(); v++)
		if (!*run->applied[v] && !apply_version(run, v))
			return false;
	return !*run->broken || make_views_again(run);
}
