/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_SOME_H
#define ROWLOCK_TEST_SOME_H

/*
 * Some of the permits that a name has, as they are asked for and given back.
 */

#include "base/random.h"
#include "ground.h"

#define SOME_MOST 8

/** A request for some, with room for their slots. */
struct some {
	struct rlk_request request;
	unsigned int slots[SOME_MOST];
};

static inline struct some some_of(int who, const char *name,
				  unsigned int permits, unsigned int count)
{
	return (struct some){
		.request = { .name = name,
			     .attempt = rlk_random(),
			     .session = ground->sessions[who],
			     .permits = permits,
			     .count = count },
	};
}

static inline enum rlk_fault ask(int who, struct some *some,
				 struct rlk_holder *ret_holder)
{
	some->request.slots = some->slots;
	return ground_ask(who, &some->request, RLK_ASK_FIRST, ret_holder);
}

static inline void release(struct some *some)
{
	some->request.slots = some->slots;
	assert_true(ground_release(0, &some->request));
}

static inline uint64_t rows_of(const char *name)
{
	return test_sql_number(
	    ground->sql,
	    "SELECT COUNT(*) FROM business_lease WHERE name = '%s'", name);
}

/* Somebody has removed one of its rows. */
static inline void remove_slot(const struct some *some, unsigned int which)
{
	test_sql(ground->sql,
		 "DELETE FROM business_lease WHERE name = '%s' AND slot = %u",
		 some->request.name, some->slots[which]);
}

#endif
