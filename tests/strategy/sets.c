/* SPDX-License-Identifier: MIT */
#include "sets.h"

#include <stdio.h>

#include "strategy/lease.h"

struct sets_trio sets_trio(const char *word)
{
	const char *name = test_name(word);
	struct sets_trio trio;

	for (int i = 0; i < SETS_NAMES; i++)
		snprintf(trio.names[i], sizeof(trio.names[i]), "%.70s-%d", name,
			 i);
	snprintf(trio.all, sizeof(trio.all), "%s\n%s\n%s", trio.names[0],
		 trio.names[1], trio.names[2]);
	snprintf(trio.first_two, sizeof(trio.first_two), "%s\n%s",
		 trio.names[0], trio.names[1]);
	snprintf(trio.last_two, sizeof(trio.last_two), "%s\n%s", trio.names[1],
		 trio.names[2]);
	snprintf(trio.last, sizeof(trio.last), "%s", trio.names[2]);
	return trio;
}

uint64_t sets_rows(const struct sets_trio *trio, uint64_t attempt)
{
	return test_sql_number(
	    ground->sql,
	    "SELECT COUNT(*) FROM business_lease WHERE name IN "
	    "('%s', '%s', '%s') AND slot = 0 AND attempt >= %llu AND "
	    "attempt <= %llu",
	    trio->names[0], trio->names[1], trio->names[2],
	    (unsigned long long) attempt,
	    (unsigned long long) (attempt ? attempt : UINT64_MAX));
}

struct rlk_request sets_take_one(int who, const char *name)
{
	struct rlk_request request = ground_request(who, name);
	struct rlk_holder holder;

	assert_int_equal(rlk_strategy_lease.acquire(ground->conns[who],
						    &request, RLK_ASK_FIRST,
						    &holder, &err),
			 RLK_DONE);
	return request;
}

void sets_release_one(int who, const struct rlk_request *request)
{
	bool found = false;

	assert_done(rlk_strategy_lease.release(ground->conns[who], request,
					       &found, &err));
	assert_true(found);
}
