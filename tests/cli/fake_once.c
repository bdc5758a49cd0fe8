/* SPDX-License-Identifier: MIT */
/*
 * Runs that succeed once per window, on the fake librowlock.
 */
#include <rowlock/once.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake_ask.h"

/* The answer's text is the time. */
int rowlock_server_time(struct rowlock_client *client, int64_t *ret_us,
			struct rowlock_errinfo *reterr)
{
	int r = fake_ask(NULL, reterr, "server_time");

	(void) client;
	if (r == 0)
		*ret_us = strtoll(fake_reply_text, NULL, 10);
	return r;
}

int rowlock_once_begin(struct rowlock *lock, struct rowlock_run *run,
		       struct rowlock_errinfo *reterr)
{
	(void) lock;
	run->id = 11;
	return fake_ask(NULL, reterr,
			"once_begin from=%" PRId64 " until=%" PRId64
			" most=%" PRIu64,
			run->from_us, run->until_us, run->most);
}

int rowlock_once_end(struct rowlock *lock, const struct rowlock_run *run,
		     int code, enum rowlock_run_end how,
		     struct rowlock_errinfo *reterr)
{
	int r =
	    fake_ask(NULL, reterr, "once_end code=%d succeeded=%d id=%" PRIu64,
		     code, (int) how, run->id);

	if (r == 0 || r == ROWLOCK_ELOST || r == ROWLOCK_EDONE)
		fake_let_go(lock);
	return r;
}

int rowlock_once_sql(struct rowlock *lock, const struct rowlock_run *run,
		     char *text, size_t size, struct rowlock_errinfo *reterr)
{
	(void) run;
	(void) reterr;
	snprintf(text, size, "the guard and the success of %s",
		 rowlock_name(lock));
	return 0;
}
