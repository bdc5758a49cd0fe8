/* SPDX-License-Identifier: MIT */
#ifndef DB_TEST_H
#define DB_TEST_H

/*
 * What the tests of the db layer share. They link base and db, not the whole
 * library, and need a server: its connection string is in ROWLOCK_TEST_DSN;
 * without one a program is skipped.
 *
 * A test waits for events; test_patience_ms() is how long one may stay away.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "case.h"
#include "code.h"
#include "db/conn.h"
#include "db/pool.h"
#include "db/schema.h"
#include "dsn.h"
#include "patience.h"

/** A case that not every machine can run: where it cannot, it is left out, and
 *  that is said. (cmocka's skip() is a failure to meson.) */
struct db_need {
	bool (*met)(void);
	const char *what;
};
extern struct db_need db_need_address; /* db_address() gives one */
extern struct db_need db_need_ipv6;
#define CASE_NEEDS(sentence, need)                                             \
	CASES({ sentence, CASE_HERE, NULL, NULL, &(need) })

/** For CASE_MAIN(): play all on the server of ROWLOCK_TEST_DSN, or on a sandbox
 *  of the program's own, whose settings it may change. */
int db_main(void);
int db_main_own(void);

/** The same, and the sandbox has a certificate. Any program does so where
 *  ROWLOCK_TEST_TLS is set. */
int db_main_tls(void);

/** The server's connection string; of the sandbox's root. */
const char *db_dsn(void);
const char *db_root_dsn(void);

/** db_dsn() with more options; they win. Valid until the program ends. */
const char *db_dsn_with(const char *options);

/** To reach @dsn (NULL: db_dsn()). */
struct rlk_conn_target db_target(const char *dsn);

/** Now and so many milliseconds. */
int64_t db_in(int64_t ms);

/** In a loop that looks whether @what has come: fail the test once it has
 *  looked for test_patience_ms() since @since_ms, a db_in(0). */
void db_keep_waiting(int64_t since_ms, const char *what);

extern const struct rlk_conn_profile db_lease; /* autocommit */
extern const struct rlk_conn_profile db_row;   /* transactions */

/** Open by @dsn (NULL: db_dsn()), or fail the test. Deadline:
 * test_patience_ms(). */
struct rlk_conn *db_open(const char *dsn,
			 const struct rlk_conn_profile *profile);

/** rlk_conn_open() that must fail: the code and *@ret_error. */
int db_refused(const char *dsn, unsigned int flags,
	       struct rowlock_errinfo *ret_error);

/** How many connections exist in @bay now, and how many wait for one. */
unsigned int db_pool_count(struct rlk_pool *pool, size_t bay);
unsigned int db_pool_waiting(struct rlk_pool *pool, size_t bay);

/** Run text that must succeed, on @conn or as the sandbox's root. */
void db_exec(struct rlk_conn *conn, const char *sql);
void db_root(const char *sql);

/** The first number of the first row. @sql stays: a constant. */
uint64_t db_number(struct rlk_conn *conn, const char *sql);

/** Fail unless @fault is RLK_DONE; says what the file's err says. */
#define assert_done(fault) db_done(fault, &err, __FILE__, __LINE__)
void db_done(enum rlk_fault fault, const struct rowlock_errinfo *error,
	     const char *file, int line);

/** Fail unless @text has @part. */
#define assert_says(text, part) db_says(text, part, __FILE__, __LINE__)
void db_says(const char *text, const char *part, const char *file, int line);

/** A counter of @conn's session, or of the server if @global. */
uint64_t db_status(struct rlk_conn *conn, const char *variable, bool global);

/** An address of this host that is not loopback, "" without. */
void db_address(char *buffer, size_t size);

/** Wait until some other session of this server waits for a row lock. */
void db_await_lock_wait(struct rlk_conn *conn);

/*
 * A peer of ours between client and server, on a thread. It may be slow, or
 * say nothing at all.
 */
enum relay_mode {
	RELAY_STRAIGHT,
	RELAY_SILENT, /* accepts, and passes nothing on */
	RELAY_DRIP,   /* the server's bytes one by one, 50 ms apart */
	RELAY_BYTES,  /* the server's bytes one by one, as fast as it goes */
};

struct relay;

/** Listen on @address (NULL: 127.0.0.1; a path: a socket file) for db_dsn().
 *  NULL if this machine has no such address. */
struct relay *relay_start(enum relay_mode mode, const char *address);
void relay_end(struct relay *relay);

static inline void relay_endp(struct relay **at)
{
	relay_end(*at);
}

/** Declarations of what ends with its block, the last one first. */
#define DB_CONN(conn, made)                                                    \
	CASE_ENDS(rlk_conn_closep) struct rlk_conn *conn = made
#define DB_RELAY(name, made) CASE_ENDS(relay_endp) struct relay *name = made

void relay_set_mode(struct relay *relay, enum relay_mode mode);
/** db_dsn() by way of the relay. */
const char *relay_dsn(const struct relay *relay);
/** After so many more bytes of the server's nothing more comes, or, with
 *  @cut, the streams end; SIZE_MAX: never. */
void relay_stop_after(struct relay *relay, size_t bytes, bool cut);
/** Has it come to that? */
bool relay_stopped(const struct relay *relay);

/** Write @to for each @from (of the same length) that clients, or with @reply
 *  the server, send in one piece. */
void relay_replace(struct relay *relay, const char *from, const char *to,
		   bool reply);

/** Answer whatever a client says next by @bytes, again and again, until it
 *  ends the stream. */
void relay_flood(struct relay *relay, const char *bytes, size_t size);

/** Bytes that came from clients. */
size_t relay_heard(const struct relay *relay);
/** And of the server. */
size_t relay_said(const struct relay *relay);

#endif
