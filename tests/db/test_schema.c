/* SPDX-License-Identifier: MIT */
/* Tables that are not as they must be; on a sandbox of our own. */
#include "db_test.h"

#include <stdio.h>

#include "base/macro.h"
#include "db/connect.h"

/* The time goes on by itself to the end of each pause, which begins with the
 * statement of the test, if there is one. */
static const char *in_pause;
static int64_t ahead_ms;

static int64_t now_ms(const struct rlk_clock *clock)
{
	(void) clock;
	return db_in(ahead_ms);
}

static int timer_new(const struct rlk_clock *clock)
{
	(void) clock;
	return rlk_clock_real()->ops->timer_new(rlk_clock_real());
}

static void timer_set(const struct rlk_clock *clock, int timer, int64_t at_ms)
{
	if (in_pause)
		db_root(in_pause);
	in_pause = NULL;
	if (at_ms > now_ms(clock))
		ahead_ms += at_ms - now_ms(clock);
	rlk_clock_real()->ops->timer_set(rlk_clock_real(), timer, 1);
}

static const struct rlk_clock_ops hurried = { now_ms, timer_new, timer_set };
static const struct rlk_clock clock_of_test = { &hurried };

static struct rlk_conn *open_hurried(void)
{
	static struct rlk_conn_target target;
	struct rowlock_errinfo error = { 0 };
	struct rlk_conn *conn = NULL;

	target = db_target(NULL);
	target.clock = &clock_of_test;
	ahead_ms = 0;
	assert_int_equal(rlk_conn_open(&target, &db_lease,
				       db_in(test_patience_ms()), &conn,
				       &error),
			 0);
	return conn;
}

static int check(struct rowlock_errinfo *ret_error)
{
	struct rlk_conn *conn = open_hurried();
	struct rlk_key key = { { 0 } };
	int code;

	*ret_error = (struct rowlock_errinfo){ 0 };
	code = rlk_schema_check(conn, &key, ret_error);
	rlk_conn_close(conn);
	assert_true(code || key.words[0]);
	if (code)
		print_message("# %s\n", ret_error->message);
	return code;
}

/* Change the tables by @change, expect the words, and change them back. */
static void refuse(const char *change, const char *back, const char *word,
		   const char *next)
{
	struct rowlock_errinfo error;

	db_root(change);
	assert_code(check(&error), ROWLOCK_ESCHEMA, &error);
	db_root(back);
	assert_says(error.message, word);
	assert_says(error.message, next);
	assert_code(check(&error), 0, &error);
}

CASE("good tables pass")
{
	assert_code(check(&err), 0, &err);
}

CASE("missing tables are said")
{
	refuse("RENAME TABLE rowlock_schema TO away",
	       "RENAME TABLE away TO rowlock_schema", "rowlock_schema",
	       "rowlock-migrate");
	refuse("RENAME TABLE lock_token TO away",
	       "RENAME TABLE away TO lock_token", "table lock_token",
	       "rowlock-migrate");
	refuse("RENAME TABLE lock_token_floor TO away",
	       "RENAME TABLE away TO lock_token_floor",
	       "table lock_token_floor", "rowlock-migrate");
}

/* The first look finds the tables after @change, the next one after @back. */
static void pass_after(const char *change, const char *back)
{
	_cleanup_(rlk_conn_closep) struct rlk_conn *conn = open_hurried();
	struct rowlock_errinfo error = { 0 };
	struct rlk_key key = { { 0 } };

	db_root(change);
	in_pause = back;
	assert_int_equal(rlk_schema_check(conn, &key, &error), 0);
	assert_null(in_pause);
}

/* OPTIMIZE and a swap by RENAME show this for a moment; in earnest it depends
 * on the moment. */
CASE("tables that are away for a moment are there")
{
	pass_after("RENAME TABLE business_lease TO away",
		   "RENAME TABLE away TO business_lease");
	pass_after("RENAME TABLE rowlock_schema TO away",
		   "RENAME TABLE away TO rowlock_schema");
	pass_after("ALTER TABLE lock_token ENGINE=MyISAM",
		   "ALTER TABLE lock_token ENGINE=InnoDB");
}

#define TEXT_OF(number) TEXT(number)
#define TEXT(text) #text
#define RECORD(version)                                                        \
	"INSERT INTO rowlock_schema (version, checksum, applied_at) VALUES "   \
	"(" TEXT_OF(version) ", '', UTC_TIMESTAMP(6))"
#define FORGET(version)                                                        \
	"DELETE FROM rowlock_schema WHERE version = " TEXT_OF(version)

CASE("an older and a newer schema are said")
{
	db_root(FORGET(RLK_SCHEMA_VERSION));
	refuse(FORGET(RLK_SCHEMA_LEAST), RECORD(RLK_SCHEMA_LEAST),
	       "version 6, this library works with 7 to 9", "rowlock-migrate");
	db_root(RECORD(RLK_SCHEMA_VERSION));
	refuse(RECORD(1 + RLK_SCHEMA_MOST), FORGET(1 + RLK_SCHEMA_MOST),
	       "version 10, this library works with 7 to 9",
	       "newer version of rowlock");
}

CASE("the version before is taken")
{
	db_root(FORGET(RLK_SCHEMA_VERSION));
	assert_int_equal(check(&err), 0);
	db_root(RECORD(RLK_SCHEMA_VERSION));
}

CASE("the next version is taken")
{
	db_root(RECORD(RLK_SCHEMA_MOST));
	assert_code(check(&err), 0, &err);
	db_root(FORGET(RLK_SCHEMA_MOST));
}

CASE("a missing secret is said")
{
	refuse("UPDATE rowlock_schema SET secret = NULL WHERE version = 0",
	       "UPDATE rowlock_schema SET secret = SHA2(RAND(), 256) WHERE "
	       "version = 0",
	       "no secret", "rowlock-migrate");
	refuse("DELETE FROM rowlock_schema WHERE version = 0",
	       "INSERT INTO rowlock_schema VALUES (0, '', UTC_TIMESTAMP(6), "
	       "SHA2(RAND(), 256))",
	       "no secret", "rowlock-migrate");
}

CASE("another engine is said")
{
	refuse("ALTER TABLE business_lease ENGINE=MyISAM",
	       "ALTER TABLE business_lease ENGINE=InnoDB",
	       "business_lease is MyISAM, not InnoDB",
	       "ALTER TABLE business_lease ENGINE = InnoDB (rowlock-migrate");
	refuse("ALTER TABLE business_lock ENGINE=MyISAM",
	       "ALTER TABLE business_lock ENGINE=InnoDB",
	       "business_lock is MyISAM, not InnoDB", "run 'rowlock-migrate'");
}

CASE("other columns are said")
{
	refuse("ALTER TABLE business_lock MODIFY name VARCHAR(100) CHARACTER "
	       "SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL",
	       "ALTER TABLE business_lock MODIFY name VARCHAR(100) CHARACTER "
	       "SET utf8mb4 COLLATE utf8mb4_bin NOT NULL",
	       "utf8mb4_general_ci", "run 'rowlock-migrate'");
	refuse("ALTER TABLE business_lease MODIFY name VARCHAR(50) CHARACTER "
	       "SET utf8mb4 COLLATE utf8mb4_bin NOT NULL",
	       "ALTER TABLE business_lease MODIFY name VARCHAR(100) CHARACTER "
	       "SET utf8mb4 COLLATE utf8mb4_bin NOT NULL",
	       "varchar(50)", "as sql/schema has it (rowlock-migrate");
	refuse("ALTER TABLE business_lease MODIFY attempt INT NOT NULL",
	       "ALTER TABLE business_lease MODIFY attempt BIGINT UNSIGNED NOT "
	       "NULL",
	       "business_lease.attempt", "rowlock-migrate");
	refuse("ALTER TABLE lease_session RENAME COLUMN beat TO beats",
	       "ALTER TABLE lease_session RENAME COLUMN beats TO beat",
	       "lease_session.beat", "rowlock-migrate");
}

CASE("other keys are said")
{
	refuse("ALTER TABLE business_lease DROP PRIMARY KEY, ADD PRIMARY KEY "
	       "(slot, name)",
	       "ALTER TABLE business_lease DROP PRIMARY KEY, ADD PRIMARY KEY "
	       "(name, slot)",
	       "primary key", "rowlock-migrate");
	refuse("ALTER TABLE business_lease DROP PRIMARY KEY",
	       "ALTER TABLE business_lease ADD PRIMARY KEY (name, slot)",
	       "primary key", "rowlock-migrate");
	refuse("ALTER TABLE business_lease DROP PRIMARY KEY, ADD PRIMARY KEY "
	       "(name(50), slot)",
	       "ALTER TABLE business_lease DROP PRIMARY KEY, ADD PRIMARY KEY "
	       "(name, slot)",
	       "first characters of column name", "rowlock-migrate");
	refuse("ALTER TABLE business_lock DROP PRIMARY KEY, ADD PRIMARY KEY "
	       "(name(50))",
	       "ALTER TABLE business_lock DROP PRIMARY KEY, ADD PRIMARY KEY "
	       "(name)",
	       "first characters of column name", "rowlock-migrate");
	refuse("ALTER TABLE lock_token DROP PRIMARY KEY, ADD PRIMARY KEY "
	       "(strategy, name(50))",
	       "ALTER TABLE lock_token DROP PRIMARY KEY, ADD PRIMARY KEY "
	       "(strategy, name)",
	       "first characters of column name", "rowlock-migrate");
	refuse("ALTER TABLE business_lease ADD UNIQUE KEY u (attempt)",
	       "ALTER TABLE business_lease DROP KEY u", "unique key",
	       "rowlock-migrate");
}

/* The check only reads; a connection is opened with what locks. */
static void check_by_way_of(const char *from, const char *to, const char *word)
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	struct rowlock_errinfo error = { 0 };
	struct rlk_key key = { { 0 } };

	relay_replace(relay, from, to, false);
	DB_CONN(conn, db_open(relay_dsn(relay), &db_lease));
	assert_code(rlk_schema_check(conn, &key, &error), ROWLOCK_EUNSUPPORTED,
		    &error);
	print_message("# %s\n", error.message);
	assert_says(error.message, word);
}

CASE("reads from elsewhere are refused")
{
	check_by_way_of("CRC32(@@hostname)), CONNECTION_ID() FROM",
			"CRC32(@@version )), CONNECTION_ID() FROM",
			"splits reads from writes");
	check_by_way_of("CONNECTION_ID() FROM", "  4000000000+1  FROM",
			"shares sessions");
}

CASE_MAIN(db_main_own)
