/* SPDX-License-Identifier: MIT */
#ifndef METRICS_LOOK_H
#define METRICS_LOOK_H

/*
 * A look at the locks of a database, for a monitor: how many of which kind, in
 * which state, of which class, and since when the oldest is.
 *
 * It locks nothing. All of it is one snapshot of the tables. It counts 50,000
 * leases, sessions and names each at the most, which bounds its cost, and tells
 * whether there were more.
 */

#include <rowlock/admin.h>

#include "common/connection.h"
#include "db/conn.h"
#include "metrics/classes.h"

#define LOOK_KINDS 5  /* without ROWLOCK_KIND_RWLOCK */
#define LOOK_STATES 6 /* those that leases have, and room */
#define LOOK_ROWS_MOST 50000

struct tally {
	uint64_t count;
	int64_t age_us; /* of the oldest of them */
};

struct look {
	struct rowlock_errinfo error; /* code 0: all else is known */
	uint64_t took_ms;
	bool truncated;
	/** [class][kind][state] */
	struct tally leases[CLASSES_MOST + 1][LOOK_KINDS][LOOK_STATES];
	uint64_t sessions_live, sessions_dead;
	uint64_t names; /* of the row strategy */
	bool sees_waiters;
	struct tally waiters[2]; /* [strategy] */
	int64_t offset_us;       /* the server's clock before ours */
	uint64_t floor;          /* of tokens */
	int64_t turn_us;         /* since 1970: a client's reaper; 0: never */
};

/** The place from which looks are made: one thread at a time. */
struct lookout {
	struct rlk_conn_target target;
	uint64_t connect_timeout_ms;
	const struct classes *classes;
	struct rlk_conn *conn; /* NULL: none yet, or it failed */
};

/** @connection and @classes are kept, not copied. */
void lookout_init(struct lookout *lookout, const struct connection *connection,
		  const char *program, const struct classes *classes);
void lookout_fini(struct lookout *lookout);

/** Look. Blocks: for the connection's time-out, and 3 seconds. The next look
 *  goes on with the connection if it is well. */
void lookout_look(struct lookout *lookout, struct look *ret_look);

#endif
