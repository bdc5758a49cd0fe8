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
#include "db/lend.h"
#include "db/peer.h"
#include "db/stage.h"
#include "db/stmt.h"

/** net_read_timeout of every session: how long the server waits for the rest of
 *  a statement whose beginning has come. */
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
	bool by_hash;  /* the plugin's hash was enough, this time */
	bool reveals;  /* it was refused, since it asks for the password */
	char plugin[64];
};

/** The kind of packet that must come next in an answer. */
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

	/* Data that was received (intake.c). */
	size_t heard;    /* of this answer */
	size_t late;     /* of that, past the deadline */
	const char *cut; /* why the stream was ended; static. NULL if it was
			    not */
	struct rlk_frames frames;
	struct rlk_login login;
	struct rlk_answer answer;
};

struct rlk_conn {
	const struct rlk_conn_target *target;
	struct rlk_conn_profile profile;
	char keep_sql[48]; /* until it is answered */
	MYSQL *mysql;
	struct rlk_io io;

	int64_t until_ms;
	struct {
		int fd;                   /* an eventfd */
		_Atomic bool interrupted; /* set after fd was written */
	} wake;

	_Atomic bool stale;   /* another server answers at this address now */
	_Atomic bool retired; /* its server takes no writes */
	bool useless;         /* it was told so */
	bool transacts; /* a transaction of several statements is under way */
	bool dead;      /* also as long as it is not connected */
	struct rlk_run run;
	struct rlk_list stmts;
	struct rlk_packet *packet; /* NULL before the first */

	struct rlk_server server;
	unsigned long extended; /* capabilities of a MariaDB */
	char where[300]; /* for messages, also before there is a server */
	bool port_named; /* by the connection string or an option file */
	struct rlk_peer peer;
	struct {
		uint64_t id;
		bool renumbered; /* the greeting has another number: something
				    between numbers sessions itself, and takes a
				    KILL for one of its own */
		char mark[48];
	} session;

	uint64_t note; /* core's */
	struct rlk_loan loan;
};

#endif
