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

/** Write the errinfo for Connector/C's errno @number and words @text. */
enum rlk_fault rlk_conn_fault(struct rlk_conn *conn, const char *label,
			      unsigned int number, const char *text,
			      struct rowlock_errinfo *reterr);

#endif
