/* SPDX-License-Identifier: MIT */
/*
 * Runs that succeed once per window, on the fake librowlock.
 */
#include <rowlock/once.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake_ask.h"
#include "fake_entry.h"

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
			" most=%" PRIu64 " keep=%" PRIu64,
			run->from_us, run->until_us, run->most, run->keep);
}

int rowlock_once_end(struct rowlock *lock, const struct rowlock_run *run,
		     int code, enum rowlock_once_outcome how,
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

struct told {
	rowlock_list_runs_fn fn;
	void *arg;
};

/* A line of harness.py, run_entry(). */
static int put_run(char *line, void *arg)
{
	static char word[7][2048];
	struct rowlock_run_entry entry = { .size = sizeof(entry) };
	struct told *told = arg;
	int state;

	if (sscanf(line,
		   "%d %2047s %2047s %2047s %2047s %2047s %2047s %2047s %d %u"
		   " %" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNu64,
		   &state, word[0], word[1], word[2], word[3], word[4], word[5],
		   word[6], &entry.code, &entry.pid, &entry.began_ms,
		   &entry.took_ms, &entry.left_ms, &entry.nth) != 14)
		abort();
	entry.state = (enum rowlock_run_state) state;
	entry.name = unhex(word[0]);
	entry.host = unhex(word[1]);
	entry.program = unhex(word[2]);
	entry.began_at = unhex(word[3]);
	entry.ended_at = unhex(word[4]);
	entry.from_at = unhex(word[5]);
	entry.until_at = unhex(word[6]);
	return told->fn(&entry, told->arg);
}

int rowlock_list_runs(struct rowlock_client *client,
		      const struct rowlock_list_options *options,
		      rowlock_list_runs_fn fn, void *arg,
		      struct rowlock_errinfo *reterr)
{
	struct told told = { fn, arg };

	(void) client;
	return fake_ask_list("runs", options, put_run, &told, reterr);
}
