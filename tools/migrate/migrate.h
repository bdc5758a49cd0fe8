/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_MIGRATE_H
#define TOOLS_MIGRATE_H

/*
 * One run of rowlock-migrate: its options, its connection, and what was found
 * in the database.
 */

#include <stdbool.h>

#include "common/report.h"
#include "db/conn.h"

/** Exit statuses, besides 0 and EXIT_USAGE. */
enum {
	EXIT_SERVER = 2,  /* out of reach, or a statement was refused */
	EXIT_MISSING = 3, /* --status: not up to date */
	EXIT_REFUSED = 4, /* tables that are not adopted as they are */
	EXIT_BUSY = 5,    /* another run, or a user of the tables */
	EXIT_USAGE = 125,
};

enum mode { MODE_APPLY, MODE_STATUS, MODE_DRY };

/** A file of sql/, as it was when the program was built: its statements. */
struct sql_file {
	const char *name; /* "0001" */
	const char *checksum;
	const char *const *statements; /* up to NULL */
};
extern const struct sql_file sql_files[]; /* the migrations, up to NULL */
extern const struct sql_file sql_fence, sql_fence_procedure,
    sql_guard_procedure;

enum { VERSIONS_MOST = 32 };

struct run {
	enum mode mode;
	bool convert;
	const struct sql_file *const *optional; /* up to NULL; or NULL */
	unsigned int wait_s;                    /* for another run */
	unsigned int ddl_wait_s;                /* for a metadata lock */

	struct rlk_conn *conn;
	const char *database;
	const char *where; /* "db1:3306 (MariaDB 10.11.19)" */
	bool cluster;

	/* What was found. */
	bool has_record, has_business_lock, has_tokens;
	char missing_table[65];
	char applied[VERSIONS_MOST][32]; /* when; "" if not */
	char checksums[VERSIONS_MOST][65];
	unsigned int theirs; /* the newest version that is recorded */
	char adopt[1024];    /* the ALTER that business_lock needs, or "" */
};

/** Report @format and end with @code. */
void die(int code, const char *format, ...) RLK_PRINTF(2, 3)
    __attribute__((noreturn));

/** Run @sql; a failure ends the run. Rows go to @fn. */
void query(struct run *run, const char *sql, rlk_row_fn fn, void *arg);

/** Run @sql without an end of its time (DDL). 0, or the server's number. */
unsigned int execute(struct run *run, const char *sql,
		     struct rowlock_errinfo *ret_error);

/** Print @sql, or run it and end with a message if that fails. False: another
 *  run was faster, look again. */
bool apply(struct run *run, const char *sql);

/* adopt.c: what to do with tables that are there already. */
void refuse_foreign_tables(struct run *run);
void refuse_tokens(struct run *run);
void plan_adoption(struct run *run);

/* schema.c */
void look(struct run *run);
void compare(const struct run *run);
void put_status(const struct run *run);
bool migrate(struct run *run);
int migrate_optional(struct run *run);

#endif
