/* SPDX-License-Identifier: MIT */
/*
 * A thread that acquires a row lock in a transaction of its own: it reads the
 * counter of the lock's name, thinks, writes one more, draws a token or two,
 * and ends the transaction as any application does. Now and then it begins in
 * one that is open, or draws when it is over.
 */
#include <rowlock/mysql.h>

#include "app_private.h"
#include "judge.h"
#include "sim.h"
#include "trace.h"

#define ERROR_DEADLOCK 1213

struct play {
	struct sim_thread *thread;
	struct sim_handle *handle;
	uint64_t work;   /* its number, to the judge */
	uint64_t serial; /* of the lock of its row; 0: it was over at once */
	uint64_t token;  /* that was drawn last; 0: none */
};

/* ---------------------------------------------------------------- handles */

static void make(struct sim_thread *thread, struct sim_handle *handle)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo error;

	options.strategy = ROWLOCK_ROW;
	options.flags = sim_below(2) ? ROWLOCK_OWNER_HANDLE : 0;
	if (sim_below(8) == 0)
		options.info = sim_below(2) ? "night" : "day";
	handle->flags = options.flags;
	handle->row = true;
	if (rowlock_new(thread->app->client, sim_names[handle->name], &options,
			&handle->lock, &error))
		sim_violation("no handle: %s", error.message);
}

void sim_insides_free(struct sim_thread *thread)
{
	for (int i = 0; i < SIM_NAMES; i++)
		sim_thread_give_back(&thread->insides[i]);
}

/* ---------------------------------------------------------------- acquire */

/* Where it cannot be interrupted its connection is closed. */
static bool may_close(uint64_t wait)
{
	return wait && sim_world.no_kill;
}

static int ask(struct sim_thread *thread, struct sim_handle *handle,
	       uint64_t wait)
{
	struct sim_call call;
	int code;

	thread->serial++;
	sim_trace((struct sim_note){ "#acquire_in serial=%u name=%n wait=%d",
				     { thread->serial, handle->name, wait } });
	sim_publish(thread);
	thread->waits = handle;
	sim_call_begin(&call, "acquire_in",
		       wait == ROWLOCK_FOREVER ? wait
					       : wait + sim_world.call_ms);
	code = rowlock_acquire_in_transaction(
	    handle->lock, sim_borrowed_mysql(&thread->own), wait, NULL);
	sim_thread_asked(thread, &call);
	sim_app_code(SIM_CALL_ACQUIRE_IN, code);
	sim_trace(
	    (struct sim_note){ "#acquired_in serial=%u code=%d",
			       { thread->serial, (uint64_t) (int64_t) code } });
	return code;
}

static int acquire(struct sim_thread *thread, struct sim_handle *handle)
{
	bool open = sim_own_reads(&thread->own, SIM_BOOK_INSIDE);
	uint64_t wait = sim_thread_wait();
	int code = ask(thread, handle, wait);

	if (open && !code)
		sim_violation("a row lock was acquired in a transaction that "
			      "was open");
	sim_app_expect("acquire_in", code,
		       (code == ROWLOCK_EINVAL && open) ||
			   (code == ROWLOCK_EBUSY && !wait) ||
			   (code == ROWLOCK_ETIMEDOUT && wait &&
			    wait != ROWLOCK_FOREVER) ||
			   (code == ROWLOCK_ECANCELED && handle->cancels) ||
			   (code == ROWLOCK_ECONNECT && may_close(wait)));
	sim_thread_forget_cancels(handle);
	if (open)
		sim_own_restore(thread);
	if (code && sim_world.calm && !sim_world.no_kill && !thread->own.conn)
		sim_violation("acquire_in returned %d (%s), and has closed the "
			      "application's connection in a calm world",
			      code, rowlock_strerror(code));
	if (code)
		sim_borrowed_check(&thread->own, "acquire_in");
	return code;
}

void sim_inside_again(struct sim_thread *thread, struct sim_handle *handle)
{
	int code;

	if (!sim_own_open(thread))
		return;
	code = rowlock_acquire_in_transaction(
	    handle->lock, sim_borrowed_mysql(&thread->own), 0, NULL);
	sim_app_code(SIM_CALL_ACQUIRE_IN, code);
	/* If it is lost, it may be anybody's. */
	sim_app_expect("acquire_in", code,
		       code == ROWLOCK_EDEADLOCK ||
			   (code == ROWLOCK_EBUSY && !sim_world.calm) ||
			   (code == ROWLOCK_ECANCELED && handle->cancels));
	sim_thread_forget_cancels(handle);
	if (!code)
		sim_own_restore(thread);
	sim_borrowed_check(&thread->own, "acquire_in");
}

/* ------------------------------------------------------------------- work */

/* @over: its transaction is, and another one may be open. */
static bool draw(struct play *play, bool over)
{
	struct sim_borrowed *own = &play->thread->own;
	const struct sim_handle *handle = play->handle;
	struct rowlock_errinfo error = { 0 };
	struct sim_call call;
	uint64_t token = 0;
	int code;

	sim_call_begin(&call, "draw_in", sim_world.call_ms);
	code = rowlock_token_in_transaction(
	    handle->lock, sim_borrowed_mysql(own), &token, &error);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_DRAW_IN, code);
	sim_trace((struct sim_note){ "#drew in it code=%d token=%u",
				     { (uint64_t) (int64_t) code, token } });
	sim_app_expect("draw_in", code, code == ROWLOCK_ENOTHELD && over);
	sim_judge_drew(own, handle->name, code, token);
	if (code && !over)
		sim_judge_stays_open(own, "draw_in", code, error.mysql);
	if (!code && token <= play->token)
		sim_violation("S2: a transaction draws a token that is not "
			      "larger than its last one");
	if (!code)
		play->token = token;
	return !code;
}

static bool work(struct play *play)
{
	struct sim_thread *thread = play->thread;
	unsigned int name = play->handle->name;

	sim_thread_rest();
	if (sim_below(4) == 0 && !draw(play, false))
		return false;
	if (play->token && sim_below(4) == 0 && !draw(play, false))
		return false;
	if (!play->token || !sim_world.fences || sim_below(2))
		return sim_own_count(thread, SIM_BOOK_INSIDE, name, play->work);
	return sim_own_fence(thread, SIM_BOOK_FENCED_ROW, name, play->token) &&
	       sim_own_count(thread, SIM_BOOK_FENCED_ROW, name, play->work);
}

/* -------------------------------------------------------------------- end */

/* In none, or in one that has not got the lock, but may get it. */
static void draw_too_late(struct play *play)
{
	uint64_t number;

	if (sim_own_say(&play->thread->own,
			"SELECT MAX(number) FROM counts_inside WHERE name = "
			"'seat-0'",
			&number))
		return;
	play->token = 0;
	draw(play, true);
}

static void end(struct play *play)
{
	static const char *const ends[] = {
		"ROLLBACK",
		"ROLLBACK",
		"CREATE TABLE IF NOT EXISTS scratch (id INT)",
	};
	struct sim_thread *thread = play->thread;
	uint64_t die = sim_below(32);
	const char *text = die < RLK_ARRAY_SIZE(ends) ? ends[die] : "COMMIT";
	uint64_t number;

	if (die == 3) {
		sim_borrowed_close(&thread->own);
		return;
	}
	if (sim_own_say(&thread->own, text, &number))
		return;
	if (play->token && *text != 'R')
		sim_judge_inside_token(play->handle->lock, play->handle->name,
				       play->serial, play->token);
	if (die == 4)
		draw_too_late(play);
}

void sim_inside_cycle(struct sim_thread *thread)
{
	struct play play = {
		.thread = thread,
		.handle = sim_thread_handle(thread, thread->insides, make),
	};
	const struct sim_session *session;

	if (!sim_own_open(thread) || acquire(thread, play.handle)) {
		/* Nobody asks again and again without a rest. */
		sim_sleep(sim_between(0, 2000));
		return;
	}
	play.work = sim_judge_inside(play.handle->name, &thread->own);
	session = sim_borrowed_session(&thread->own);
	if (session)
		play.serial = session->lock_serial;
	if (work(&play))
		end(&play);
	sim_own_restore(thread);
	sim_borrowed_check(&thread->own, "the end of a row lock");
	sim_cycles++;
	sim_cycles_by[1]++;
	sim_world.cycles++;
}
