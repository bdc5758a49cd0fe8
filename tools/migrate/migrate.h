/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_MIGRATE_H
#define TOOLS_MIGRATE_H

/*
 * One run of rowlock-migrate: its options, its connection, and what it found in
 * the database.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"
#include "db/conn.h"
#include "db/stmt.h"

/** Exit statuses, besides 0. */
enum {
	EXIT_SERVER = 2,  /* out of reach, or a statement was refused */
	EXIT_MISSING = 3, /* --status: not up to date */
	EXIT_REFUSED = 4, /* tables that are not adopted as they are */
	EXIT_BUSY = 5,    /* another run, or a program that uses the tables */
	EXIT_USAGE = 125,
};

/** Error numbers of the server, the same in MariaDB and MySQL. */
enum {
	ERROR_DB_DENIED = 1044,
	ERROR_NOT_NULL = 1048,
	ERROR_DUP_COLUMN = 1060,
	ERROR_TABLE_DENIED = 1142,
	ERROR_COLUMN_DENIED = 1143,
	ERROR_NO_SUCH_TABLE = 1146,
	ERROR_LOCK_WAIT = 1205,
	ERROR_DEADLOCK = 1213,
	ERROR_NEEDS_PRIVILEGE = 1227,
	ERROR_ROUTINE_EXISTS = 1304,
	ERROR_INTERRUPTED = 1317,
	ERROR_ROUTINE_DENIED = 1370,
	ERROR_SIGNAL = 1644,
};

enum mode { MODE_APPLY, MODE_STATUS, MODE_DRY };

/** A file of sql/, as it was when the program was built. */
struct sql_file {
	const char *name; /* "0001" */
	const char *checksum;
	const char *const *statements; /* up to NULL */
};

extern const struct sql_file sql_files[]; /* the migrations, up to NULL */
extern const struct sql_file sql_fence, sql_fence_procedure,
    sql_guard_procedure, sql_adopt;

/** A part that is made only if an option asks for it. */
struct part {
	const char *name;
	const struct sql_file *files[3]; /* in their order, up to NULL */
	const char *call;                /* does nothing, but fails */
	unsigned int answer;  /* with this number, if the procedure works */
	bool with_own_rights; /* the procedure has its definer's */
};

extern const struct part fence, guard;

/** Tables, then views, and their names. A view may read those before it. */
enum table {
	BUSINESS_LOCK,
	BUSINESS_LEASE,
	LEASE_SESSION,
	LOCK_TOKEN,
	LOCK_TOKEN_FLOOR,
	LOCK_PERMITS,
	JOB_RUN,
	LEASE_REVOCATION,
	ROWLOCK_SCHEMA,
	LOCK_STATUS,
	JOB_STATUS,
	LOCK_SUMMARY,
	TABLES,
	VIEWS = LOCK_STATUS, /* the first of them */
};

extern const char *const tables[TABLES];

enum { VERSIONS_MOST = 64 };

struct run {
	enum mode mode;
	bool convert;
	const struct part *part; /* NULL: the tables */
	unsigned int wait_s;     /* for another run */
	unsigned int ddl_wait_s; /* for a metadata lock */

	struct rlk_conn_target target; /* which the connection keeps */
	struct rlk_conn *conn;
	char *database;
	const char *where; /* "db1:3306 (MariaDB 10.11.19)" */
	bool cluster;

	bool there[TABLES];
	bool hidden[TABLES]; /* no right on it, so it may be there or not */
	char applied[VERSIONS_MOST][32]; /* when; "" if not */
	char checksums[VERSIONS_MOST][65];
	uint64_t theirs;  /* the newest version that is recorded */
	char adopt[1024]; /* the ALTER that business_lock needs, or "" */
	char broken[512]; /* why a view cannot be read, or "" */
};

/* run.c: messages, answers and statements. */

/** Report @format and end with @code. */
void die(int code, const char *format, ...) RLK_PRINTF(2, 3)
    __attribute__((noreturn));

/** Write @text to stdout; end the run if that fails. */
void put_text(const char *text);

/** Print a line on stdout: an answer, or a message. */
void put(const char *format, ...) RLK_PRINTF(1, 2);
#define say(...) put("rowlock-migrate: " __VA_ARGS__)

/** Run @sql, which changes nothing; rows go to @fn. A failure ends the run. */
void query(struct run *run, const char *sql, rlk_row_fn fn, void *arg);

/** The number that @sql has as its first column; 0 if there is no row. */
uint64_t query_number(struct run *run, const char *sql);

/** Try @sql, within the time of a question. Returns 0, or the server's number
 *  with its words in @ret_error. */
unsigned int ask(struct run *run, const char *sql,
		 struct rowlock_errinfo *ret_error);

/** As ask(), for statements that may take hours; with --dry-run print it. */
unsigned int apply(struct run *run, const char *sql,
		   struct rowlock_errinfo *ret_error);

/** A comment in what --dry-run prints. */
void remark(const struct run *run, const char *what, const char *which);

/** "; give the account ...", if @number is that of a missing privilege; else
 *  "". */
const char *rights(unsigned int number);

/* schema.c */
void look(struct run *run);
void compare(struct run *run);
void try_views(struct run *run);
bool is_missing(const struct run *run);
unsigned int newest(void);

/* apply.c */
void set_session(struct run *run);
void put_status(struct run *run);

/** Returns false if another run was faster: look again. */
bool migrate(struct run *run);

/* part.c */
void migrate_part(struct run *run);

/** Does this account not see whether the procedure of @part is there? */
bool part_is_hidden(struct run *run, const struct part *part);

/** Is there a procedure of @part that another version has made? */
bool part_is_old(struct run *run, const struct part *part);

/* adopt.c: tables that exist already. */
void refuse_foreign_tables(struct run *run);
void refuse_tokens(struct run *run);
void plan_adoption(struct run *run);

#endif
