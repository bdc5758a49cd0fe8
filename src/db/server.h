/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_SERVER_H
#define RLK_DB_SERVER_H

/*
 * Differences between servers: server.c, and nothing else, decides everything
 * that MariaDB and MySQL, or their versions, do differently.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "db/packet.h"
#include "db/stmt.h"

enum rlk_flavour {
	RLK_MARIADB,
	RLK_MYSQL,
};

/** One server, as seen when a connection was opened. */
struct rlk_server {
	enum rlk_flavour flavour;
	unsigned int version; /* 101119, 90704 */
	bool galera;          /* a node of a Galera cluster (wsrep_on) */
	bool multi_primary;   /* in a replication group with many writers */
	bool read_only;
	char identity[96]; /* server_uid and server_id, or server_uuid, and
			      start time as far as it is known: another server,
			      or the same one restarted, differs */
	char name[300];    /* for messages: "db1:3306 (MariaDB 10.11.19)" */
};

/** Are these two identities of one server, started anew or not? */
static inline bool rlk_server_same(const char *identity, const char *other)
{
	size_t length = strcspn(identity, "@");

	return strcspn(other, "@") == length &&
	       strncmp(identity, other, length) == 0;
}

/** Can other nodes of its cluster or group be written to? A node does not know
 *  another one's locks. */
static inline bool rlk_server_many_writers(const struct rlk_server *server)
{
	return server->galera || server->multi_primary;
}

/** Statements whose text depends on the server. */
struct rlk_dialect {
	/**
	 * First try of a lease. Parameters: name, slot, session, attempt,
	 * maximum in microseconds or NULL, info or NULL.
	 *
	 * On MariaDB INSERT ... ON DUPLICATE KEY UPDATE ... RETURNING: one row
	 * comes back in any case, with the attempt that is there (see
	 * lease_acquire_returns_row).
	 * On MySQL INSERT ... SELECT ... WHERE NOT EXISTS: 1 affected row is
	 * ours, 0: held.
	 */
	const struct rlk_stmt_def *lease_acquire;
	bool lease_acquire_returns_row;
	/** Further tries: INSERT ... SELECT ... WHERE NOT EXISTS, which touches
	 *  no lock of a held row. The same parameters; 1 affected row: ours, 0:
	 *  held. On MySQL it is the first try too. */
	const struct rlk_stmt_def *lease_again;
	/** Release many leases. Values of a row: name, attempt. On MariaDB the
	 *  attempts that were there come back; MySQL cannot do that, and is
	 *  asked with lease_present_many before, in the same packet. */
	const struct rlk_many_def *lease_release_many;
	const struct rlk_many_def *lease_present_many; /* NULL: not needed */
	/**
	 * First try of many leases, which may go in one transaction with the
	 * releases before it: it waits for nobody (RLK_BUSY), and the server
	 * ends a transaction whose client falls silent in the middle
	 * (idle_transaction_timeout; MySQL has neither). Values of a row: name,
	 * session, attempt, maximum in microseconds or NULL, info or NULL.
	 * Affects as many rows as were free. NULL if there is none.
	 */
	const struct rlk_many_def *lease_acquire_many;
	/** The same for one that also takes the bell, if nobody has it; the
	 *  bell is one more value. Answers as lease_acquire_ringing. */
	const struct rlk_many_def *lease_acquire_one_ringing;
	/** As lease_acquire_seeing_line, with the values of a row of
	 *  lease_acquire_many and the bell. NULL if there is none. */
	const struct rlk_many_def *lease_acquire_one_seeing_line;
	/** Draw for many leases, and tell name and token of each that is there.
	 *  Values of a row: name, attempt. NULL: a statement for each. */
	const struct rlk_many_def *lease_draw_many;
	/** First try that also takes the bell, if nobody has it. Parameters: as
	 *  lease_acquire, with the attempt and the bell behind them. The same
	 *  row comes back, with one more column: 1 if the row and the bell are
	 *  ours. NULL: the server cannot do both at once. */
	const struct rlk_stmt_def *lease_acquire_ringing;
	/** First try that looks who has the bell, where it cannot take it.
	 *  Parameters: as lease_acquire, then the bell. 1 affected row: ours,
	 *  and the insert id is the connection that has the bell, 0 if none
	 *  has. NULL: lease_acquire_ringing takes it. */
	const struct rlk_stmt_def *lease_acquire_seeing_line;
	/** Release a lease and let its bell go. Parameters: name, slot,
	 *  attempt, bell. On MariaDB a row comes back if there was one, and the
	 *  bell was let go then; on MySQL one row is affected, and the bell is
	 *  still to be let go. */
	const struct rlk_stmt_def *lease_release_ringing;
	/** GET_LOCK() can wait for parts of seconds. */
	bool bell_fractions;
	/** Lock the name's row of business_lock now or fail with RLK_BUSY.
	 *  Parameter: name. One row: locked. No row: there is none. */
	const struct rlk_stmt_def *row_try;
	/** Lock the name's row, waiting. Parameter: name. */
	const struct rlk_stmt_def *row_wait;
	/** Who holds what connection ? waits for: CONNECTION_IDs of running
	 *  transactions in its way. Needs a privilege that an application's
	 *  account does not have. Parameter: CONNECTION_ID of the waiter. */
	const struct rlk_stmt_def *row_blocker;
	/** Put one of those into the variable @rowlock_holder, if it still is
	 *  in the way; else NULL. In a packet. Values of the row: CONNECTION_ID
	 *  of the waiter, and of that one. */
	const struct rlk_many_def *row_choose_blocker;
	/** List the transactions that have locked rows of business_lock: how
	 *  InnoDB shows the row, CONNECTION_ID, host, since when (UTC) and for
	 *  how many microseconds it is open. Each by a privilege that an
	 *  application's account does not have. */
	const struct rlk_stmt_def *row_holders;
	/** 1 if it lists all locks. NULL: those that somebody waits for. */
	const struct rlk_stmt_def *row_holders_all;
	/**
	 * List the connections that wait for rows of business_lock, or in line
	 * for user-level locks whose names begin with "rlb:"; in the order in
	 * which they wait, as far as the server shows it. Columns: how InnoDB
	 * shows the row, or the lock's name; CONNECTION_ID; host; since when
	 * (UTC) and for how many microseconds; a text with its RLK_SQL_WHO; 1
	 * if it does not wait but has the lock. An account without a privilege
	 * is refused, or is shown its own connections only.
	 */
	const struct rlk_stmt_def *waits_for_rows;
	const struct rlk_stmt_def *waits_in_line;
	/** The owner of a lock, if waits_in_line leaves it out: CONNECTION_ID
	 *  and host. Parameter: the lock's name. NULL if it lists them. */
	const struct rlk_stmt_def *line_owner;
	/** 1 if the server records user-level locks, and since when one waits,
	 *  where waits_in_line looks. NULL: it always does. */
	const struct rlk_stmt_def *line_recorded;
	/** The privilege by which an account sees all of them. */
	const char *waits_privilege;
	/** Read names of business_lock that nobody has locked, by locking them
	 *  for the statement's time. Parameter: LIKE pattern with '!' as its
	 *  escape character. */
	const struct rlk_stmt_def *row_probe;
};

const struct rlk_dialect *rlk_server_dialect(const struct rlk_server *server);

/** An expression for what @server's identity begins with, to ask whether
 *  another connection leads there. One that leads elsewhere has another value,
 *  or has no such variable (1193). Looks into no table. */
const char *rlk_server_identity_sql(const struct rlk_server *server);

/** How a node comes to have all that was committed in its cluster before. */
struct rlk_catch_up {
	const char *select; /* put before a SELECT, it waits for that; "": there
			       is no such word */
	/* Or between these statements one does, in no transaction; none begins
	 * before the last one. The first fails (1766, 1568) where one is open.
	 * NULL: there are none. */
	const char *first;
	const char *last;
};

const struct rlk_catch_up *rlk_server_catch_up(const struct rlk_server *server);

#endif
