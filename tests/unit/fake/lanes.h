/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_LANES_H
#define ROWLOCK_TEST_LANES_H

/*
 * For the tests of group commit: a client, a thread whose acquire keeps its
 * only lanes as long as they are held back, and some others, each with a lock
 * of its own, who then have to queue.
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
/** One lane, so that all names meet there. */
#define LANES 1

extern struct rowlock *in_lane[LANES];
extern struct fake_person *of_lane[LANES];
extern struct rowlock *lock[MANY];
extern struct fake_person *person[MANY];

/** How often the log said that the client shares no more. */
extern unsigned int warnings;

/** The session is there, and nobody holds anything. */
void lanes_begin(void);
void lanes_begin_with(struct rowlock_client_options options);
/** Everything that was begun comes to its end. */
void lanes_end(void);

/** Both lanes are taken by acquires whose answers stay away. */
void fill_lanes(void);
/** One of them comes: who queues, goes. */
void free_a_lane(void);
/** Has its acquire returned? */
bool is_a_lane_free(void *arg);
/** Wait until so many queue. */
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
