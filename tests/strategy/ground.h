/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_GROUND_H
#define ROWLOCK_TEST_GROUND_H

/*
 * Where strategies are tried: two clients' connections, one beside them that
 * commits by itself, and one for statements typed by hand. Made anew for each
 * test.
 */

#include "sql.h"
#include "strategy/session_row.h"
#include "strategy/strategy.h"
#include "test.h"

/* No statement of a test may take longer. */
#define GROUND_UNTIL_MS test_patience_ms()

struct ground {
	const struct rlk_strategy *strategy;
	struct rlk_conn *conns[2];
	uint64_t sessions[2]; /* both alive; of lease only */
	struct rlk_conn *beside;
	struct test_sql *sql;
};

/** That of the case. */
extern struct ground *ground;

/** The lease strategy with the statements of a server that has no INSERT ...
 *  RETURNING, whatever the server is. */
#define GROUND_LEASE_LOOKS 100

/** Sets of leases; there is no strategy of a user for them. */
#define GROUND_SETS 101

/** The two sides of a read/write lock. */
#define GROUND_WRITERS 102
#define GROUND_READERS 103

/** Permits, of a semaphore that has GROUND_PERMITS_COUNT. */
#define GROUND_PERMITS 104
#define GROUND_PERMITS_COUNT 1

/** Candidates of an election that wait. */
#define GROUND_CANDIDATES 105

/** Setup and teardown of a case whose initial state is an enum rowlock_strategy
 *  or one of these. */
int ground_setup(void **state);
int ground_teardown(void **state);

#define ON(which, sentence, function)                                          \
	{                                                                      \
		sentence, function, ground_setup, ground_teardown,             \
		    (void *) (intptr_t) (which)                                \
	}

#define CASE_ON(sentence, which) CASES(ON(which, sentence, CASE_HERE))
#define LEASE(sentence) CASE_ON(sentence, ROWLOCK_LEASE)
#define ROW(sentence) CASE_ON(sentence, ROWLOCK_ROW)
#define BOTH(sentence)                                                         \
	CASES(ON(ROWLOCK_LEASE, "lease: " sentence, CASE_HERE),                \
	      ON(ROWLOCK_ROW, "row: " sentence, CASE_HERE))

/** One more connection; @lock_wait_s as in its profile. */
struct rlk_conn *ground_open(bool autocommit, unsigned int lock_wait_s);

/** A request of client @who for @name, with an attempt of its own. */
struct rlk_request ground_request(int who, const char *name);

/** @name, and a request for it of each client: @a, @b. */
#define GROUND_TWO(word)                                                       \
	const char *name = test_name(word);                                    \
	struct rlk_request a = ground_request(0, name);                        \
	struct rlk_request b = ground_request(1, name)

/** Ask on @who's connection, and make the name's row where that is needed.
 *  @ret_holder may be NULL. */
enum rlk_fault ground_ask(int who, const struct rlk_request *request,
			  enum rlk_ask ask, struct rlk_holder *ret_holder);

/** Release that must not fail; was it there? */
bool ground_release(int who, const struct rlk_request *request);
bool ground_confirm(int who, const struct rlk_request *request);
uint64_t ground_draw(const struct rlk_request *request);

/** Fail the test unless @fault is RLK_DONE, and say what the file's err says.
 */
#define assert_done(fault) ground_done(fault, &err, __FILE__, __LINE__)
void ground_done(enum rlk_fault fault, const struct rowlock_errinfo *error,
		 const char *file, int line);

#endif
