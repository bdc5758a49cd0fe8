/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_CROWD_H
#define ROWLOCK_TEST_CROWD_H

/*
 * For the tests of group commit: a client, a leader, whose acquire keeps the
 * commit connection as long as its answer is held back, and a crowd that has to
 * queue then: threads with a lock of their own each.
 */

#include "core/client.h"
#include "fake.h"
#include "hold/handle.h"

#define MANY 4

extern const struct fake_answer normal;
extern const struct fake_answer held_back;
extern const struct fake_answer lost_reply;
extern const struct fake_answer refused;
extern const struct fake_answer lost_request;

extern struct rowlock_client *client;
extern struct rowlock *leaders_lock;
extern struct fake_person *leader;
extern struct rowlock *lock[MANY];
extern struct fake_person *person[MANY];

/** How often the log said that the client shares no more. */
extern unsigned int warnings;

/** The session is there, and nobody holds anything. */
void crowd_begin(void);
void crowd_begin_with(struct rowlock_client_options options);
/** Everything that was begun comes to its end. */
void crowd_end(void);

/** The leader asks, and the answer stays away. */
void leader_asks(void);
/** The answer comes: the next one leads all that queue. */
void leader_goes(void);
/** Has its acquire returned? */
bool is_leader_gone(void *arg);
/** Wait until @count waiters queue. */
void await_queued(unsigned int count);
/** The same of those that have met a dead holder. */
void await_sweeps_queued(unsigned int count);

/** All of the others ask, one after the other, for as long as @wait_ms. */
void all_ask(enum fake_verb verb, uint64_t wait_ms);
void hear_all(int code);
/** All are told that they hold, and do. */
void all_hold(void);
/** Let them have their locks, without others. */
void all_have(void);
/** Is the name of @lock free in the server? */
bool is_free(void *lock);

#endif
