/* SPDX-License-Identifier: MIT */
/*
 * Old tokens: what nobody drew for for 30 days goes, and nothing else, because
 * the next draw of such a name starts from the server's clock alone.
 */
#include <string.h>

#include "ground.h"
#include "strategy/reap.h"

static void draw_days_ago(struct ground *ground, const char *name, int days)
{
	test_sql(ground->sql,
		 "INSERT INTO lock_token (strategy, name, token, drawn_at) "
		 "VALUES ('lease', '%s', 17, UTC_TIMESTAMP(6) - "
		 "INTERVAL %d DAY)",
		 name, days);
}

/* How often a look shows the name. */
struct look {
	const char *name;
	unsigned int count;
};

static void see(const struct rlk_token_seen *token, void *arg)
{
	struct look *look = arg;

	look->count += strcmp(token->name, look->name) == 0;
}

static unsigned int look_for(struct ground *ground, const char *name)
{
	struct look look = { .name = name };
	struct rowlock_errinfo err;

	assert_done(rlk_tokens_old(ground->beside, 10000, see, &look, &err),
		    &err);
	return look.count;
}

static bool drop(struct ground *ground, const char *name)
{
	const struct rlk_token_seen token = { "lease", name };
	struct rowlock_errinfo err;
	bool dropped = false;

	assert_done(rlk_token_drop(ground->beside, &token, &dropped, &err),
		    &err);
	return dropped;
}

static void token_is_old_after_thirty_days_without_a_draw(void **state)
{
	struct ground *ground = *state;
	const char *young = test_name("young");
	const char *old = test_name("old");

	draw_days_ago(ground, young, 29);
	draw_days_ago(ground, old, 31);
	assert_int_equal(look_for(ground, young), 0);
	assert_int_equal(look_for(ground, old), 1);
}

/* Somebody may have drawn since the look. */
static void only_an_old_token_is_dropped(void **state)
{
	struct ground *ground = *state;
	const char *young = test_name("young");
	const char *old = test_name("old");

	draw_days_ago(ground, young, 29);
	draw_days_ago(ground, old, 31);
	assert_false(drop(ground, young));
	assert_true(drop(ground, old));
	assert_false(drop(ground, old));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		ON(ROWLOCK_LEASE,
		   "a token is old after thirty days without a draw",
		   token_is_old_after_thirty_days_without_a_draw),
		ON(ROWLOCK_LEASE, "only an old token is dropped",
		   only_an_old_token_is_dropped),
	};

	return test_main(tests);
}
