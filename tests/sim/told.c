/* SPDX-License-Identifier: MIT */
/*
 * A transaction of the thread's own whose guard is said as text, as by an
 * application without Connector/C (rowlock_guard_sql(), rowlock_guard_call()):
 * what the library does in rowlock_begin() and rowlock_commit() it does itself.
 * Whatever fails is rolled back; a COMMIT that fails stays unknown.
 */
#include <rowlock/mysql.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app_private.h"
#include "judge.h"
#include "sim.h"
#include "trace.h"

struct told {
	struct sim_borrowed *own;
	const struct sim_handle *handle;
	uint64_t work; /* its number, to the judge */
	bool wrote;
};

/* False: it failed. */
static bool say(const struct told *told, const char *text, uint64_t *ret_number)
{
	return !sim_own_say(told->own, text, ret_number);
}

/* Its statements one by one, where they may not come together. */
static bool say_guard(const struct told *told, char *text)
{
	while (text) {
		char *next = told->own->several ? NULL : strstr(text, "; ");
		uint64_t number;

		if (next)
			*next = '\0';
		if (!say(told, text, &number))
			return false;
		text = next ? next + 2 : NULL;
	}
	return true;
}

static bool count(struct told *told)
{
	const char *name = sim_names[told->handle->name];
	uint64_t number;
	char text[128];

	snprintf(text, sizeof(text),
		 "SELECT MAX(number) FROM counts WHERE name = '%s'", name);
	if (!say(told, text, &number))
		return false;
	sim_thread_rest();
	snprintf(text, sizeof(text),
		 "INSERT INTO counts (name, number, work) VALUES ('%s', "
		 "%" PRIu64 ", %" PRIu64 ")",
		 name, number + 1, told->work);
	told->wrote = say(told, text, &number);
	return told->wrote;
}

/* The session is as it was; or it is closed. */
static void restore(const struct told *told)
{
	uint64_t number;

	if (!say(told, "ROLLBACK", &number) ||
	    (told->own->autocommit &&
	     !say(told, "SET SESSION autocommit = 1", &number)))
		sim_borrowed_close(told->own);
}

static bool play(struct told *told, char *guard)
{
	int code = ROWLOCK_EBROKEN;
	uint64_t number;

	if (say(told, "SET SESSION autocommit = 0", &number) && count(told) &&
	    say_guard(told, guard)) {
		sim_thread_rest();
		code = say(told, "COMMIT", &number) ? 0 : ROWLOCK_EUNKNOWN;
	}
	sim_judge_outcome(told->work, told->wrote, code);
	restore(told);
	return code != ROWLOCK_EUNKNOWN;
}

bool sim_told_play(struct sim_thread *thread, const struct sim_handle *handle)
{
	struct told told = { .own = &thread->own, .handle = handle };
	char guard[ROWLOCK_GUARD_SQL_SIZE];
	struct sim_call call;
	int code;

	sim_call_begin(&call, "guard", sim_world.call_ms);
	code =
	    sim_below(2)
		? rowlock_guard_sql(handle->lock, guard, sizeof(guard), NULL)
		: rowlock_guard_call(handle->lock, guard, sizeof(guard), NULL);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_OTHER, code);
	sim_app_expect("guard", code, code == ROWLOCK_ELOST && !sim_world.calm);
	if (code || thread->own.in_transaction)
		return true;
	told.work = sim_judge_guarded(handle->lock, handle->name,
				      thread->own.id, SIM_GUARD_IS_TOLD);
	return play(&told, guard);
}
