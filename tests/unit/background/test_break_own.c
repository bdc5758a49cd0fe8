/* SPDX-License-Identifier: MIT */
/* A client breaks a row hold of its own: no look who has it, no right. */
#include "fake/fake.h"

#include <stdatomic.h>
#include <string.h>

#include "test.h"

static bool job_is_free(void *arg)
{
	(void) arg;
	return fake_row("job") == 0;
}

FAKE("an own row is ended without a look who has it")
{
	FAKE_CLIENT();
	FAKE_LOCK(lock, client, ROWLOCK_ROW, 0, "job");
	FAKE_LOCK(next, client, ROWLOCK_ROW, 0, "job");
	FAKE_PERSON(bob);
	_Atomic int told = 0;

	rowlock_on_lost(lock, fake_count_loss, &told);
	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
	/* Its account may not. */
	fake_always(FAKE_BREAK_ROW,
		    (struct fake_answer){
			.given = true, .skip = true, .result = RLK_REFUSED });
	assert_ok(rowlock_break(client, ROWLOCK_ROW, "job", &err));
	assert_int_equal(fake_row("job"), 0);
	assert_int_equal(rowlock_held(lock), 0);
	assert_int_equal(fake_count(FAKE_BREAK_ROW), 0);
	fake_until(fake_is_one, &told);
	assert_ok(rowlock_acquire(next, 0, &err));
	assert_code(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), ROWLOCK_ELOST,
		    NULL);
	assert_ok(rowlock_verify(next, &err));
	assert_ok(rowlock_release(next, &err));
	/* It is nobody's now: asked as any other. */
	assert_code(rowlock_break(client, ROWLOCK_ROW, "job", &err),
		    ROWLOCK_EDB, &err);
}

FAKE("an owner that talks to the server is not waited for")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_PERSON(bob);

	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_VERIFY, lock, 0);
	fake_await(FAKE_CONFIRM, 1);
	assert_ok(rowlock_break(client, ROWLOCK_ROW, "job", &err));
	assert_int_equal(fake_row("job"), 0);
	assert_true(fake_busy(bob));
	fake_let(FAKE_CONFIRM);
	assert_code(fake_hear(bob, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "it was broken by hand"));
	assert_code(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), ROWLOCK_ELOST,
		    NULL);
}

/* It is not known then what the server has seen; it is not held in any case. */
FAKE("a server that does not answer to a break is told of")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_always(FAKE_FENCE, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_UNKNOWN });
	assert_code(rowlock_break(client, ROWLOCK_ROW, "job", &err),
		    ROWLOCK_ECONNECT, &err);
	assert_non_null(strstr(err.message, "not held any more"));
	assert_int_equal(rowlock_held(lock), 0);
	/* Its connection is closed all the same. */
	fake_until(job_is_free, NULL);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
}

CASE_MAIN(case_main)
