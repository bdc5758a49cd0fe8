/* SPDX-License-Identifier: MIT */
/*
 * Reads the existing tables, and the record of the migrations.
 *
 * An account that has no right on a table does not see it in
 * information_schema. Such a table may exist or not, so it is called hidden,
 * never missing.
 */
#include "migrate/migrate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define IN_TABLES                                                              \
	"('business_lock', 'business_lease', 'lease_session', 'lock_token', "  \
	"'lock_token_floor', 'lock_permits', 'job_run', 'lease_revocation', "  \
	"'rowlock_schema', "                                                   \
	"'lock_status', 'job_status', 'lock_summary')"

const char *const tables[TABLES] = {
	"business_lock", "business_lease",   "lease_session",
	"lock_token",    "lock_token_floor", "lock_permits",
	"job_run",       "lease_revocation", "rowlock_schema",
	"lock_status",   "job_status",       "lock_summary",
};

static bool is_denied(unsigned int number)
{
	return number == ERROR_DB_DENIED || number == ERROR_TABLE_DENIED ||
	       number == ERROR_COLUMN_DENIED;
}

static void see_table(const struct rlk_value *columns, void *arg)
{
	bool *there = arg;

	for (size_t i = 0; i < TABLES; i++)
		if (strcasecmp(columns[0].text, tables[i]) == 0)
			there[i] = true;
}

static void look_at_tables(struct run *run)
{
	struct rowlock_errinfo error;
	unsigned int number;
	char sql[96];

	memset(run->hidden, 0, sizeof(run->hidden));
	memset(run->there, 0, sizeof(run->there));
	query(run,
	      "SELECT table_name FROM information_schema.tables WHERE "
	      "table_schema = DATABASE() AND table_name IN " IN_TABLES,
	      see_table, run->there);
	for (size_t i = 0; i < TABLES; i++) {
		snprintf(sql, sizeof(sql), "SELECT 1 FROM %s LIMIT 0",
			 tables[i]);
		if (run->there[i])
			continue;
		/* DDL hides a table from information_schema for a moment. The
		 * statement waits for it. */
		number = ask(run, sql, &error);
		run->there[i] = number == 0;
		run->hidden[i] = is_denied(number);
		if (number && !run->hidden[i] && number != ERROR_NO_SUCH_TABLE)
			die(EXIT_SERVER, "%s; nothing was changed",
			    error.message);
	}
}

static void see_version(const struct rlk_value *columns, void *arg)
{
	struct run *run = arg;
	uint64_t version = columns[0].u64;

	if (version > run->theirs)
		run->theirs = version;
	if (version >= VERSIONS_MOST)
		return;
	snprintf(run->checksums[version], sizeof(run->checksums[0]), "%s",
		 columns[1].text);
	snprintf(run->applied[version], sizeof(run->applied[0]), "%s",
		 columns[2].text);
}

/* Look at the tables again after the record: another run may have made both
 * meanwhile, and makes the record last. */
void look(struct run *run)
{
	run->theirs = 0;
	memset(run->applied, 0, sizeof(run->applied));
	look_at_tables(run);
	if (!run->there[ROWLOCK_SCHEMA])
		return;
	query(run,
	      "SELECT version, checksum, CAST(applied_at AS CHAR) FROM "
	      "rowlock_schema WHERE version > 0",
	      see_version, run);
	look_at_tables(run);
}

unsigned int newest(void)
{
	unsigned int count = 0;

	while (sql_files[count].name)
		count++;
	return count;
}

bool is_missing(const struct run *run)
{
	for (unsigned int v = 1; v <= newest(); v++)
		if (!*run->applied[v])
			return true;
	return false;
}

static void check_checksums(const struct run *run)
{
	for (unsigned int v = 1; v <= newest(); v++) {
		const struct sql_file *file = &sql_files[v - 1];

		if (*run->applied[v] &&
		    strcmp(run->checksums[v], file->checksum) != 0)
			die(EXIT_REFUSED,
			    "migration %s in database '%s' on %s was applied "
			    "with another content (recorded SHA-256 %s, ours "
			    "%s). Nothing was changed. Use the rowlock-migrate "
			    "of the rowlock that is installed there, or "
			    "restore the file: a migration is never edited "
			    "once it was released",
			    file->name, run->database, run->where,
			    run->checksums[v], file->checksum);
	}
}

/* A view has no rows to lose, so it is just made again. */
static void check_tables(const struct run *run)
{
	for (size_t i = 0; i < VIEWS; i++)
		if (!run->there[i] && !run->hidden[i])
			die(EXIT_REFUSED,
			    "'%s' is missing in database '%s' on %s, though "
			    "its migration is recorded. If it was dropped by "
			    "mistake: DELETE FROM rowlock_schema WHERE version "
			    "> 0; then run this again, what is there is kept",
			    tables[i], run->database, run->where);
}

static void check_hidden(const struct run *run)
{
	for (size_t i = 0; i < TABLES; i++)
		if (run->hidden[i] &&
		    (run->mode != MODE_STATUS || i == ROWLOCK_SCHEMA))
			die(EXIT_SERVER,
			    "this account has no right on '%s' in database "
			    "'%s' on %s, and does not see whether it is "
			    "there%s. Nothing was changed",
			    tables[i], run->database, run->where,
			    rights(ERROR_TABLE_DENIED));
}

/* Refuses what this version does not know how to handle. */
void compare(struct run *run)
{
	check_hidden(run);
	check_checksums(run);
	refuse_foreign_tables(run);
	refuse_tokens(run);
	if (run->theirs > newest())
		die(EXIT_REFUSED,
		    "database '%s' on %s has schema version %" PRIu64
		    "; this rowlock-migrate knows up to %u. Nothing was "
		    "changed. Use the rowlock-migrate of that newer rowlock",
		    run->database, run->where, run->theirs, newest());
	if (!is_missing(run))
		check_tables(run);
}

/* Its definer may be gone, or may have lost its rights. */
static void try_view(struct run *run, enum table view)
{
	struct rowlock_errinfo error;
	unsigned int number;
	char sql[96];

	snprintf(sql, sizeof(sql), "SELECT 1 FROM %s LIMIT 0", tables[view]);
	number = ask(run, sql, &error);
	if (is_denied(number))
		run->hidden[view] = true;
	else if (number)
		snprintf(run->broken, sizeof(run->broken), "%s", error.message);
}

void try_views(struct run *run)
{
	*run->broken = '\0';
	if (is_missing(run))
		return;
	for (size_t i = VIEWS; i < TABLES; i++)
		if (!*run->broken && !run->hidden[i])
			try_view(run, (enum table) i);
}
