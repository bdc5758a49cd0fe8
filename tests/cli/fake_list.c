/* SPDX-License-Identifier: MIT */
/*
 * The lists of locks, on the fake librowlock.
 */
#include <stdio.h>

#include "fake_ask.h"
#include "fake_entry.h"

struct told {
	rowlock_list_fn fn;
	void *arg;
};

static int put(char *line, void *arg)
{
	struct told *told = arg;

	return put_entry(line, told->fn, told->arg);
}

int rowlock_list(struct rowlock_client *client,
		 const struct rowlock_list_options *options, rowlock_list_fn fn,
		 void *arg, struct rowlock_errinfo *reterr)
{
	struct told told = { fn, arg };

	(void) client;
	return fake_ask_list("list", options, put, &told, reterr);
}

int rowlock_list_waiters(struct rowlock_client *client,
			 const struct rowlock_list_options *options,
			 rowlock_list_fn fn, void *arg,
			 struct rowlock_waiters_result *result,
			 struct rowlock_errinfo *reterr)
{
	struct told told = { fn, arg };
	int r = fake_ask_list("waiters", options, put, &told, reterr);

	(void) client;
	/* A reply of 0 has it as its text. */
	snprintf(result->incomplete, 256, "%.255s", r ? "" : fake_listed_text);
	return r;
}
