/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_SQL_H
#define ROWLOCK_SIM_SQL_H

/*
 * The statements that the simulated server understands: what they are is found
 * in their text, once per text. A DELETE means what its WHERE says, so that a
 * condition that is left out is a condition that does not hold.
 */

#include <stdbool.h>
#include <stdint.h>

struct rlk_stmt_def;
struct rlk_many_def;

enum sim_verb {
	SIM_BEGIN,
	SIM_COMMIT,
	SIM_ROLLBACK,
	SIM_KILL_CONN,
	SIM_KILL_STMT,
	SIM_KEEP,
	SIM_PING,
	SIM_TIME,
	SIM_FIND_MARK,
	SIM_FIND_ID,
	SIM_FIND_TAG,
	SIM_BLOCKER,
	SIM_ROW_HOLDERS,
	SIM_CHOOSE_BLOCKER,
	SIM_KILL_CHOSEN,
	SIM_READ_CHOSEN,
	SIM_LOOK,
	SIM_LOOK_READER,
	SIM_LOOK_RWLOCK,
	SIM_LOOK_PERMITS,
	SIM_LOOK_CANDIDATES,
	SIM_LEASES_OF_NAME,
	SIM_PLEA_LOOK,
	SIM_PLEA_COUNT,
	SIM_PRESENT,
	SIM_COUNT,      /* of an attempt: how many rows are there, */
	SIM_COUNT_LIVE, /* and have a session */
	SIM_AHEAD,
	SIM_LIST_LEASES,
	SIM_LIST_ROWS,
	SIM_CONFIRM,
	SIM_LEASES_OF,
	SIM_KEEP_STILL,
	SIM_KEEP_TAKEN,
	SIM_OFFER_LOOK,
	SIM_OFFER_HOLDER,
	SIM_SESSIONS_AFTER,
	SIM_LEASES_DEAD,
	SIM_DEAD_OF_NAME,
	SIM_TOKENS_OLD,
	SIM_REQUESTS_OVER, /* nobody asks for a lease here */
	SIM_DUTY_LOOK,
	SIM_STILL_LEASE, /* what a DELETE by the same conditions is about */
	SIM_STILL_SESSION,
	SIM_BEATS,
	SIM_LAST_ID,
	SIM_LOOK_BREAKS,
	SIM_LOOK_RECEIPT,
	SIM_RUN_LOOK,
	SIM_RUN_EXPLAIN,
	SIM_GLANCE_GUARDS,
	SIM_ALLOW_SEVERAL, /* said on the application's connections, */
	SIM_SET_TRANSACTION,
	SIM_SET_AUTOCOMMIT,
	SIM_SAVEPOINT,
	SIM_RELEASE_SAVEPOINT,
	SIM_BE_CONSISTENT,
	SIM_BE_AS_BEFORE,
	SIM_CATCH_UP,
	SIM_GUARD_START,
	SIM_GUARD_FIRST,
	SIM_GUARD_LOOK,
	SIM_GUARD_PLACE,
	SIM_GUARD_JUDGE,
	SIM_INSIDE_BEGIN,
	SIM_DO,
	SIM_COUNTER_READ, /* up to here */
	SIM_BELL_WAIT,
	SIM_BELL_WAIT_READING,
	SIM_BELL_WAIT_WRITING,
	SIM_GATE_LOOK,
	SIM_GATE_OPEN,
	SIM_GATE_LEAVE,
	SIM_GATE_CLOSE,
	SIM_LANE_LEAVE,
	SIM_BELL_RING,
	SIM_ROW_TRY,
	SIM_ROW_SKIP,
	SIM_ROW_WAIT,
	SIM_LOOK_GUARDS,
	SIM_RUN_LOCK,
	SIM_ROW_MAKE,
	SIM_ACQUIRE,
	SIM_ACQUIRE_RINGING,
	SIM_ACQUIRE_LOOKING,
	SIM_ACQUIRE_SEEING,
	SIM_ACQUIRE_SET,
	SIM_ACQUIRE_READER,
	SIM_ACQUIRE_PERMITS,
	SIM_ACQUIRE_GUESS,
	SIM_PERMITS_MAKE,
	SIM_PERMITS_SET,
	SIM_DRAW_LEASE,
	SIM_DRAW_ROW,
	SIM_RAISE_LEASE,
	SIM_RAISE_ROW,
	SIM_RAISE_FLOOR,
	SIM_DUTY_TAKE,
	SIM_DUTY_KEEP,
	SIM_DROP_TOKEN,
	SIM_PLEA_MAKE,
	SIM_PLEA_HEAR,
	SIM_SESSION_OPEN,
	SIM_BEAT,
	SIM_BREAK,
	SIM_KEEP_TAKE,
	SIM_KEEP_BEAT,
	SIM_KEEP_BEAT_WHOLE,
	SIM_KEEP_LEAVE,
	SIM_OFFER_ADOPT,
	SIM_DELETE_SESSION,
	SIM_DELETE_LEASE,
	SIM_OVERTAKE,
	SIM_RUN_CLAIM,
	SIM_RUN_END,
	SIM_RUN_UNDO,
	SIM_RUN_FORGET,
	SIM_GUARD_COUNT, /* and these */
	SIM_GUARD_CALL,
	SIM_COUNTER_WRITE,
	SIM_INSIDE_TRY,
	SIM_INSIDE_WAIT,
	SIM_INSIDE_DRAW,
	SIM_FENCE_PASS,
	SIM_FENCE_LOOK,
	SIM_VERBS,
};

enum sim_test {
	SIM_IF_NAME,
	SIM_IF_SLOT,
	SIM_IF_ATTEMPT,
	SIM_IF_SESSION,
	SIM_IF_ID,
	SIM_IF_BEAT,
	SIM_IF_KEEP,
	SIM_IF_EXPIRED,
	SIM_IF_NO_SESSION,
	SIM_IF_STRATEGY,
	SIM_IF_OLD,
	SIM_IF_PAST,
	SIM_IF_FLOOR,
	SIM_IF_NO_LEASE,
	SIM_IF_NOBODY_PLEADS,
};

struct sim_condition {
	enum sim_test test;
	unsigned int param;
};

struct sim_op {
	enum sim_verb verb;
	const char *label;
	unsigned int params;
	bool writes;
	bool greatest;    /* a beat or a draw that never goes back */
	bool floor;       /* a draw that begins above the floor */
	bool counts;      /* a beat that changes its row in any case */
	bool by_attempt;  /* a draw for one attempt only */
	bool rings;       /* a DELETE that lets the bell go */
	bool nowait;      /* it fails where another would wait */
	bool passes;      /* it does not see rows that another has locked */
	bool in_window;   /* a claim that looks at the clock, */
	bool first_only;  /* and for a success */
	bool open_only;   /* a look for a run that has not succeeded */
	bool succeeded;   /* a DELETE of old runs: of which kind, */
	int64_t older_us; /* and how long over */
	unsigned int conditions;
	struct sim_condition condition[6];
};

/** How a member of a group is told to wait for the others, and the end of it.
 */
#define SIM_BE_CONSISTENT_TEXT                                                 \
	"SET @rowlock_consistency = @@SESSION.group_replication_consistency, " \
	"SESSION group_replication_consistency = 'BEFORE'"
#define SIM_BE_AS_BEFORE_TEXT                                                  \
	"SET SESSION group_replication_consistency = @rowlock_consistency"

/** What @def is; the end of the run if it is not known. */
const struct sim_op *sim_op_of(const struct rlk_stmt_def *def);
/** The same for a text that is not prepared; *@ret_number: of a KILL. */
const struct sim_op *sim_op_of_text(const char *sql, uint64_t *ret_number);

/** A statement of a packet. Its row's values, put where one alone has them. */
struct sim_many {
	struct sim_op each;
	bool returns; /* attempts, instead of a count */
	int at[8];    /* the value for each parameter, or SIM_ZERO */
};
#define SIM_ZERO (-1)
const struct sim_many *sim_many_of(const struct rlk_many_def *def);

/** How often each was executed, and its name. */
extern uint64_t sim_verb_counts[SIM_VERBS];
const char *sim_verb_name(enum sim_verb verb);

#endif
