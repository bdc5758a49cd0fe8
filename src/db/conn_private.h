/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_CONN_PRIVATE_H
#define RLK_DB_CONN_PRIVATE_H

/*
 * The inside of a connection, for the files of db/ only.
 *
 * Connector/C runs each of its blocking calls in a coroutine that comes back
 * to us whenever it would wait for the socket. So a connection is in one of
 * three states: at rest, suspended inside a call (struct rlk_io), or dead.
 */

#include <mysql.h>
#include <stdatomic.h>

#include "base/list.h"
#include "db/conn.h"
#include "db/frame.h"
#include "db/sql.h"
#include "db/stmt.h"

/** net_read_timeout of every session: of a statement whose beginning has come,
 *  the rest may stay away so long. */
#define RLK_NET_READ_S 30u

/** The calls of Connector/C that may wait for the socket. */
enum rlk_call {
	RLK_CALL_CONNECT,
	RLK_CALL_QUERY, /* conn->io.sql */
	RLK_CALL_STORE, /* its result, to conn->io.result */
	RLK_CALL_NEXT,  /* the next answer of the same text */
	RLK_CALL_PING,
	RLK_CALL_PREPARE, /* conn->io.stmt with conn->io.sql */
	RLK_CALL_EXECUTE, /* conn->io.stmt */
	RLK_CALL_BUFFER,  /* the result of conn->io.stmt */
};

/** A login that is under way (login.c). All zero: before the greeting. */
struct rlk_login {
	unsigned int number; /* of the packet before */
	bool greeted;
	bool over;     /* what comes now are answers */
	bool answered; /* the plugin's first question, or hash */
	bool reveals;  /* it was refused, since it asks for the password */
	char plugin[64];
};

/** What the next packet of an answer has to be. */
enum rlk_awaits {
	RLK_AWAITS_NOTHING, /* nothing was asked, or all is said */
	RLK_AWAITS_OK,
	RLK_AWAITS_ANSWER,   /* OK, or the number of columns */
	RLK_AWAITS_PREPARED, /* the numbers of parameters and columns */
	RLK_AWAITS_PARAMS,   /* a definition, or their end */
	RLK_AWAITS_COLUMNS,
	RLK_AWAITS_ROWS,
};

/** Bits of what a MariaDB is capable of (mariadb_com.h has them with 32 zeros
 *  behind). */
#define RLK_EXTENDED_METADATA (1u << 3)
#define RLK_EXTENDED_CACHE_METADATA (1u << 4)

/** An answer that is being read (answer.c). */
struct rlk_answer {
	enum rlk_awaits awaits;
	bool binary;   /* rows of a prepared statement */
	bool prepares; /* one */
	unsigned int params;
	unsigned int columns;
	unsigned int defined; /* of those that come */
	unsigned char types[RLK_STMT_COLUMNS];
	size_t weight; /* about what Connector/C makes of it, in bytes */
};

/** The call that is under way, what it is about, and what came out. */
struct rlk_io {
	enum rlk_call call;
	bool suspended;
	int waits_for; /* MYSQL_WAIT_*, while suspended */
	const char *sql;
	MYSQL_STMT *stmt;
	int status;        /* 0, or something else after a failure */
	MYSQL *connected;  /* RLK_CALL_CONNECT */
	MYSQL_RES *result; /* RLK_CALL_STORE */

	/* RLK_CALL_CONNECT, of several hosts; lists begin with a comma. */
	const char *hosts;      /* those that are left; NULL: all */
	const char *next_hosts; /* one did not greet: go on with these */
	int64_t host_until_ms;  /* its share of the time; 0: not begun */

	/* What has come (intake.c). */
	size_t heard;    /* of this answer */
	size_t late;     /* of that, past the deadline */
	const char *cut; /* why the stream was ended; static. NULL: it was
			    not */
	struct rlk_frames frames;
	struct rlk_login login;
	struct rlk_answer answer;
};

/** What rlk_stmt_resume() has to go on with. */
enum rlk_stage {
	RLK_STAGE_NONE,
	RLK_STAGE_PREPARE,
	RLK_STAGE_EXECUTE,
	RLK_STAGE_BUFFER,
	RLK_STAGE_QUERY,
	RLK_STAGE_STORE,
	RLK_STAGE_NEXT,
	RLK_STAGE_PING,
};

struct rlk_stmt;

struct rlk_conn {
	const struct rlk_conn_target *target;
	struct rlk_conn_profile profile;
	MYSQL *mysql;
	struct rlk_io io;

	int64_t until_ms;
	int wake;                 /* an eventfd */
	_Atomic bool interrupted; /* set after wake was written */

	_Atomic bool stale;   /* another server answers at this address now */
	_Atomic bool retired; /* its server takes no writes */
	bool useless;         /* it was told so */
	bool dead;            /* also as long as it is not connected */
	enum rlk_stage stage;
	struct rlk_stmt *stmt; /* of this stage */
	const char *label;     /* of this stage, for messages */
	bool again;            /* may still be prepared again */
	struct rlk_list stmts;
	struct rlk_packet *packet; /* NULL before the first */
	struct rlk_sql plain;      /* the text of stmt, if that is plain */

	struct rlk_server server;
	unsigned long extended; /* capabilities of a MariaDB */
	char where[300]; /* for messages, also before there is a server */
	uint64_t id;
	bool renumbered; /* the greeting has another number: something between
			    numbers sessions itself, and takes a KILL for one
			    of its own */
	char mark[48];

	/* TLS, and the peer that we are connecting to (peer.c). */
	bool tls;
	bool peer_seen;
	bool local;      /* a socket file, or a local address that was named */
	bool verified;   /* it is a socket file, or will have to prove under TLS
			    who it is before anything is sent */
	bool blinded;    /* but the environment says that it has not to */
	bool needs_tls;  /* the user asks for it, and it is no socket file */
	bool asks_tls;   /* the user does, */
	bool pins_key;   /* by a fingerprint, */
	my_bool verify;  /* or by an authority and a name */
	bool port_named; /* by the connection string or an option file */

	uint64_t note; /* core's */

	/* For the pool. */
	struct rlk_list in_bay; /* idle, or lent */
	int64_t idle_since_ms;
	size_t bay;
};

/* io.c */

/**
 * Start @call, or go on with it if it is suspended, until it has finished
 * (true) or the deadline or an interrupt has come (false: still suspended).
 * What is there already when it is gone on with is taken in any case.
 */
bool rlk_io_run(struct rlk_conn *conn, enum rlk_call call);

/** End a suspended call without waiting and without sending anything. */
void rlk_io_abandon(struct rlk_conn *conn);

/** Sleep for @ms, at most until the deadline or an interrupt (false). */
bool rlk_io_sleep(struct rlk_conn *conn, int ms);

/** Once per process, before the first connection. */
void rlk_io_init(void);

/** The connection whose call runs on this thread, NULL if none does. */
struct rlk_conn *rlk_io_current(void);

/** Leave nothing in OpenSSL's queue of errors of this thread, neither for our
 *  other connections nor for the application's. */
void rlk_io_forget_errors(const struct rlk_conn *conn);

/** Let Connector/C's own waits (the TLS handshake) follow our deadlines. False:
 * out of memory. */
bool rlk_io_hook(MYSQL *mysql);

/* intake.c */

/** Once per process, before the first connection. */
void rlk_intake_init(void);

/** False: there was no memory for that. */
bool rlk_intake_ready(void);

/** A call begins. */
void rlk_intake_begin(struct rlk_conn *conn);

/** It is about to talk to another peer. */
void rlk_intake_another(struct rlk_conn *conn);

/** Something has come that is no data; it counts, and may be too much. */
void rlk_intake_no_data(struct rlk_conn *conn);

/* login.c */

/** Look at a packet of a login; @more: of the same read is behind it. Returns
 * NULL, or why it has to end: static. Connector/C must not see it then. */
const char *rlk_login_judge(struct rlk_conn *conn,
			    const struct rlk_frame *frame, bool more);

/** @bytes were sent. */
void rlk_login_wrote(struct rlk_conn *conn, const unsigned char *bytes,
		     size_t count);

/* answer.c */

/** conn->io.call is about to ask for one, or goes on to its next one. */
void rlk_answer_begin(struct rlk_conn *conn);

/** As rlk_login_judge(), of a packet of an answer. */
const char *rlk_answer_judge(struct rlk_conn *conn,
			     const struct rlk_frame *frame);

/** Can Connector/C read this OK packet? */
bool rlk_answer_is_ok(const struct rlk_conn *conn,
		      const struct rlk_frame *frame, unsigned int *ret_status);

/** This error, and is it one? (It may be a report of progress.) */
bool rlk_answer_is_error(const struct rlk_frame *frame);

/* peer.c */

/** Before anything is known of the user's wishes. */
void rlk_peer_begin(struct rlk_conn *conn);

/** Look at a socket as soon as it exists: close-on-exec, and short waits. */
void rlk_peer_socket(struct rlk_conn *conn);

/** Decide about TLS and passwords, when a greeting comes: then the peer is
 *  known, and nothing was sent. */
void rlk_peer_decide(struct rlk_conn *conn);

/** What the connection string or an option file says; NULL: nothing. */
const char *rlk_peer_option(const struct rlk_conn *conn,
			    enum mysql_option option);

/** After the connect: is the connection as safe as it must be? */
int rlk_peer_check(struct rlk_conn *conn, struct rowlock_errinfo *reterr);

/** Has the connect got as far as somebody who takes it? */
bool rlk_peer_is_there(const struct rlk_conn *conn);

/** Of several hosts those behind the one that is connected to, with the comma
 *  before them. NULL: there are none. */
const char *rlk_peer_next_hosts(const struct rlk_conn *conn);

/** Is the peer a socket file, where no port counts? */
bool rlk_peer_is_file(const struct rlk_conn *conn);

/** Keepalive and how long unacknowledged data may stay so. */
void rlk_peer_keep(struct rlk_conn *conn);

/* tls.c */

/** Once, after Connector/C was made ready: what is no data under TLS is counted
 *  from then on. */
void rlk_tls_init(void);

/** Where OpenSSL has the authorities that it trusts: a file, NULL if there is
 *  none, and a directory. */
const char *rlk_tls_trusted_file(void);
const char *rlk_tls_trusted_directory(void);

/** OpenSSL's object; NULL without TLS. */
void *rlk_tls_session(const struct rlk_conn *conn);

/* session.c */

/** Set the session's state, read it back, learn about the server. */
int rlk_session_setup(struct rlk_conn *conn, struct rowlock_errinfo *reterr);

/* stmt.c */

void rlk_stmt_free_all(struct rlk_conn *conn);

/* packet.c */

void rlk_packet_drop(struct rlk_conn *conn);

/* stmt.c */

/** RLK_PENDING becomes RLK_UNKNOWN, and the connection dead: a reply that
 * nobody will read is still to come. Everything else stays as it is. */
enum rlk_fault rlk_stmt_give_up(struct rlk_conn *conn, enum rlk_fault fault,
				struct rowlock_errinfo *reterr);

/** Run @sql unprepared; *@ret_result is NULL if it has none. */
enum rlk_fault rlk_stmt_query(struct rlk_conn *conn, const char *sql,
			      const char *label, MYSQL_RES **ret_result,
			      struct rowlock_errinfo *reterr);

/* conn.c */

/** Write the errinfo for Connector/C's errno @number and words @text. */
enum rlk_fault rlk_conn_fault(struct rlk_conn *conn, const char *label,
			      unsigned int number, const char *text,
			      struct rowlock_errinfo *reterr);

#endif
