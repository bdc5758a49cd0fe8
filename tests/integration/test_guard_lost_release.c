/* SPDX-License-Identifier: MIT */
/*
 * A COMMIT that gives its lock back, whose answer, or which itself, does not
 * arrive.
 */
#include <pthread.h>

#include <rowlock/admin.h>

#define ACCOUNT "guard_lost_release"

#include "lost_scene.h"

LOST("a release that was committed is found out")
{
	struct scene *scene = *state;

	scene->relay.fate = ANSWER_IS_LOST;
	assert_ok(rowlock_commit_release(scene->lock, scene->mysql, &err));
	assert_int_equal(balance(scene), 90);
	assert_int_equal(rows(scene), 0);
	assert_int_equal(rowlock_held(scene->lock), 0);
	assert_ok(rowlock_acquire(scene->lock, 0, &err));
	assert_goes_on(scene->lock);
}

LOST("a release that is late does not take place")
{
	struct scene *scene = *state;

	scene->relay.fate = QUESTION_IS_LATE;
	assert_code(rowlock_commit_release(scene->lock, scene->mysql, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_late_one_does_nothing(scene);
	assert_int_equal(rows(scene), 1);
	assert_ok(rowlock_verify(scene->lock, &err));
	assert_goes_on(scene->lock);
}

/* Another lock, with a maximum, and a transaction of it. */
static struct rowlock *begin_under_a_maximum(const struct scene *scene)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *lock;

	options.max_hold_ms = test_ttl_ms(TTL_MS);
	options.flags = ROWLOCK_OWNER_HANDLE;
	assert_ok(rowlock_rollback(scene->lock, scene->mysql, &err));
	assert_ok(rowlock_new(scene->client, test_name("most"), &options, &lock,
			      &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_begin(lock, scene->mysql, 0, &err));
	assert_int_equal(mysql_query(scene->mysql,
				     "UPDATE " ACCOUNT " SET balance = 80 "
				     "WHERE id = 1"),
			 0);
	return lock;
}

/* Whether the hold is given back is found out as that of any other. */
LOST("a release under a maximum is found out")
{
	struct scene *scene = *state;
	TEST_LOCK(lock, begin_under_a_maximum(scene));

	scene->relay.fate = ANSWER_IS_LOST;
	assert_ok(rowlock_commit_release(lock, scene->mysql, &err));
	assert_int_equal(balance(scene), 80);
	assert_int_equal(rowlock_held(lock), 0);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ENOTHELD, &err);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_goes_on(lock);
	assert_ok(rowlock_release(lock, &err));
}

struct releasing {
	struct scene *scene;
	struct rowlock *lock;
	int code;
	struct rowlock_errinfo err;
};

static void *commit_release(void *arg)
{
	struct releasing *releasing = arg;

	releasing->code = rowlock_commit_release(
	    releasing->lock, releasing->scene->mysql, &releasing->err);
	return NULL;
}

/* The maximum was the hold's, which is over. The receipt proves its commit, and
 * no reaper takes it away while the answer is waited for. */
LOST("a receipt outlasts the maximum")
{
	struct scene *scene = *state;
	struct releasing releasing = { .scene = scene };
	TEST_CLIENT(reaper, test_client(test_ttl_ms(TTL_MS)));
	uint64_t began = test_now_ns();
	pthread_t thread;

	releasing.lock = begin_under_a_maximum(scene);
	scene->relay.fate = ANSWER_STAYS_AWAY;
	assert_int_equal(
	    pthread_create(&thread, NULL, commit_release, &releasing), 0);
	while (balance(scene) != 80)
		test_keep_waiting(began, "the commit to take place");
	test_sql(scene->sql, "UPDATE business_lease SET expires_at = "
			     "UTC_TIMESTAMP(6) WHERE expires_at IS NOT NULL "
			     "AND name LIKE CONCAT(CHAR(1), '%%')");
	assert_ok(rowlock_reap(reaper, NULL, NULL, &err));
	pthread_join(thread, NULL);
	assert_code(releasing.code, 0, &releasing.err);
	test_lock_end(releasing.lock);
}

static void begin_with(struct scene *scene, struct rowlock *lock)
{
	assert_ok(rowlock_rollback(scene->lock, scene->mysql, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_begin(lock, scene->mysql, 0, &err));
	assert_int_equal(mysql_query(scene->mysql,
				     "UPDATE " ACCOUNT " SET balance = 80 "
				     "WHERE id = 1"),
			 0);
}

static void count_loss(struct rowlock *lost, void *losses)
{
	(void) lost;
	++*(_Atomic int *) losses;
}

/* Another lease of the session is broken meanwhile, so the client looks which
 * of its rows are there. */
LOST("a release that waits for its answer is no loss")
{
	struct scene *scene = *state;
	struct releasing releasing = { .scene = scene };
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(1500));
	const char *name = test_name("broken");
	uint64_t began = test_now_ns();
	pthread_t thread;

	options.call_timeout_ms = test_timeout_ms(6000);
	TEST_CLIENT(client, test_client_with(&options));
	TEST_LOCK(broken, test_lock(client, ROWLOCK_LEASE, 0, name));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE,
				  test_name("given-back")));
	_Atomic int losses = 0;

	assert_ok(rowlock_acquire(broken, 0, &err));
	begin_with(scene, lock);
	rowlock_on_lost(lock, count_loss, &losses);
	releasing.lock = lock;
	scene->relay.fate = ANSWER_STAYS_AWAY;
	assert_int_equal(
	    pthread_create(&thread, NULL, commit_release, &releasing), 0);
	while (balance(scene) != 80)
		test_keep_waiting(began, "the commit to take place");
	assert_ok(rowlock_break(scene->client, ROWLOCK_LEASE, name, &err));
	while (rowlock_held(broken))
		test_keep_waiting(began, "the other's loss");
	pthread_join(thread, NULL);
	assert_code(releasing.code, 0, &releasing.err);
	rowlock_on_lost(lock, NULL, NULL);
	assert_int_equal(losses, 0);
}

LOST("a late release under a maximum does not take place")
{
	struct scene *scene = *state;
	TEST_LOCK(lock, begin_under_a_maximum(scene));

	scene->relay.fate = QUESTION_IS_LATE;
	assert_code(rowlock_commit_release(lock, scene->mysql, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_late_one_does_nothing(scene);
	assert_int_equal(rowlock_held(lock), 1);
	assert_goes_on(lock);
	assert_ok(rowlock_release(lock, &err));
}

/* Somebody has deleted the row by hand. That is no proof of a commit. */
LOST("a release of what is gone is not known")
{
	struct scene *scene = *state;

	assert_int_equal(test_sql(scene->sql,
				  "DELETE FROM business_lease WHERE name = "
				  "'%s'",
				  scene->name),
			 1);
	scene->relay.fate = ANSWER_IS_LOST;
	assert_code(rowlock_commit_release(scene->lock, scene->mysql, &err),
		    ROWLOCK_EUNKNOWN, &err);
	assert_int_equal(balance(scene), 100);
	assert_int_equal(rowlock_held(scene->lock), 0);
	assert_code(rowlock_release(scene->lock, &err), ROWLOCK_EUNKNOWN, &err);
}

CASE_MAIN(test_main)
