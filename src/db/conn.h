/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_CONN_H
#define RLK_DB_CONN_H

/*
 * One connection to the server.
 *
 * One thread at a time, except for rlk_conn_interrupt(). Every call ends at the
 * connection's deadline: all I/O goes through Connector/C's non-blocking calls
 * (mysql_real_query_start() and its kin, MariaDB Connector/C manual,
 * "Non-blocking API"), and rowlock polls the socket.
 *
 * Set on every connection: reconnect off, LOCAL INFILE off, close-on-exec,
 * CLIENT_FOUND_ROWS refused (a held lock would answer "1 row"), TCP keepalive
 * and TCP_USER_TIMEOUT, TLS with a verified certificate unless the peer's
 * address is local or the client said ROWLOCK_TLS_UNVERIFIED. The session's
 * state is set and read back; a connection whose state is not as set is refused
 * with a sentence that names the variable.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/where.h"
#include "db/fault.h"
#include "db/refusal.h"
#include "db/server.h"

struct rlk_conn;

/** The server as the options named it when it was asked last: for the messages
 * of threads that wait for a connection. Any thread. */
struct rlk_asked {
	struct rlk_mutex mutex; /* protects the text; a leaf */
	char where[300];
};

/** How to reach the server; shared by all connections of a client. */
struct rlk_conn_target {
	struct rlk_sources sources;
	char *unverified_auth; /* NULL: none; as in the client's options */
	unsigned int flags;    /* enum rowlock_client_flags */
	const char *program;   /* connection attribute program_name */
	const char *who;       /* connection attribute rowlock, and told by
				  statements that wait: "job[42]@db7"; NULL:
				  neither */
	const struct rlk_clock *clock;
	const struct rlk_log *log;
	uint64_t refusal_ms; /* how long a pool's connects and statements may
				be refused that worked before */
	struct rlk_refusal *refusal; /* the pool's; NULL: no pool */
	struct rlk_asked *asked;     /* likewise */
};

/** The purpose of a connection, which decides its session's bounds. */
struct rlk_conn_profile {
	const char *label;        /* for logs: "control", "lease", "row" */
	bool autocommit;          /* row: off */
	unsigned int lock_wait_s; /* innodb_lock_wait_timeout; with
				     autocommit lock_wait_timeout too; at
				     least 1 */
	unsigned int idle_s;      /* wait_timeout: how long the server keeps
				     the session of a silent peer */
	bool packets;             /* several statements in one text */
	bool plain;               /* prepares nothing: texts */
	unsigned int peer_s;      /* how long TCP waits for a peer that does not
				     answer; 0: as long as the server */
	unsigned int exact_wait_s; /* innodb_lock_wait_timeout where a wait
				      ends in time (MariaDB); 0: the same */
};

/**
 * Close. An idle connection says goodbye to the server (COM_QUIT) without
 * waiting; one with a reply outstanding or that is dead just ends its socket.
 * Accepts NULL, returns NULL. Does not block. In a forked child it must not be
 * called at all.
 */
struct rlk_conn *rlk_conn_close(struct rlk_conn *conn);

static inline void rlk_conn_closep(struct rlk_conn **conn)
{
	*conn = rlk_conn_close(*conn);
}

/** Have the server keep the session of a silent peer for @idle_s from now on.
 * As rlk_stmt_text(). */
enum rlk_fault rlk_conn_keep(struct rlk_conn *conn, unsigned int idle_s,
			     struct rowlock_errinfo *reterr);

/** The time now, by the clock that @conn's deadline is on. */
int64_t rlk_conn_now(const struct rlk_conn *conn);

/** The deadline of all that follows on @conn. */
void rlk_conn_set_until(struct rlk_conn *conn, int64_t until_ms);

/**
 * Let the call that is under way on @conn, or else the next one that has to
 * wait for its answer, return RLK_PENDING at once. Any thread, as long as @conn
 * is not closed meanwhile. The only other thing that clears it is
 * rlk_conn_set_until().
 */
void rlk_conn_interrupt(struct rlk_conn *conn);

/** False once it is dead or a reply is outstanding, or when a newer connection
 *  has found another server at the same address (db/opener.c). */
bool rlk_conn_usable(const struct rlk_conn *conn);

/** Is @conn usable, and as far as its socket shows not closed by the server?
 *  For one that is idle. Does not block. */
bool rlk_conn_alive(const struct rlk_conn *conn);

/** Its server takes no writes any more: a new connection may lead to one that
 *  does. Locks that it keeps in the server may stay, but nothing new shall
 *  begin on it. See db/retire.c. */
bool rlk_conn_retired(const struct rlk_conn *conn);

/** The socket, to watch for its end; owned by @conn. */
int rlk_conn_fd(const struct rlk_conn *conn);

/** A number that core keeps with @conn, 0 at first. Nothing here looks at it.
 */
uint64_t *rlk_conn_note(struct rlk_conn *conn);

/** Did the hash of the password let @conn in, which the server forgets when it
 *  restarts, and would it not be told the password then? Reads /proc. */
bool rlk_conn_may_not_come_back(const struct rlk_conn *conn);

/** The database that statements are about. */
const char *rlk_conn_schema(const struct rlk_conn *conn);

/** Mark @conn as unusable. Closing it releases all that it keeps there. */
void rlk_conn_spoil(struct rlk_conn *conn);

/** The server's CONNECTION_ID(), for KILL. */
uint64_t rlk_conn_id(const struct rlk_conn *conn);

/** May @conn send a KILL? Not where a proxy numbers sessions itself: the KILL
 *  would end another one. */
bool rlk_conn_may_kill(const struct rlk_conn *conn);

const struct rlk_server *rlk_conn_server(const struct rlk_conn *conn);
static inline const struct rlk_dialect *rlk_conn_dialect(
    const struct rlk_conn *conn)
{
	return rlk_server_dialect(rlk_conn_server(conn));
}

const struct rlk_conn_profile *rlk_conn_profile(const struct rlk_conn *conn);

/**
 * The mark of a connection: a user-level lock (GET_LOCK) that no other
 * connection can have, taken when it was opened. It tells whether a session of
 * ours still exists in the server, and which one to KILL, without ever hitting
 * another connection that got the same number after a restart.
 */
struct rlk_mark {
	char lock[48];      /* "rl:" and a random number; "" without marks */
	uint64_t id;        /* CONNECTION_ID() */
	char identity[96];  /* of the server */
	uint64_t silent_ms; /* after this long with nothing sent on it, the
			       server begins no statement of it */
};

void rlk_conn_mark(const struct rlk_conn *conn, struct rlk_mark *ret_mark);

/**
 * The server's clock now, in microseconds since 1970 (UTC_TIMESTAMP(6)): a
 * ping that tells the time.
 */
enum rlk_fault rlk_conn_server_time(struct rlk_conn *conn, int64_t *ret_us,
				    struct rowlock_errinfo *reterr);

#endif
