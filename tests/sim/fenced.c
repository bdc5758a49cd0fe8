/* SPDX-License-Identifier: MIT */
/*
 * A transaction of the thread's own on data that are not on the lock's server:
 * it passes a fence with the token of its hold, reads the counter that the
 * fence protects, thinks, writes one more, and commits as any application does.
 * By then its hold may long be another's.
 */
#include <rowlock/mysql.h>

#include <inttypes.h>
#include <stdio.h>

#include "app_private.h"
#include "judge.h"
#include "sim.h"
#include "trace.h"

/* -------------------------------------------------- any of its transactions */

unsigned int sim_own_say(struct sim_borrowed *own, const char *text,
			 uint64_t *ret_number)
{
	unsigned int error = sim_borrowed_say(own, text, ret_number);

	sim_trace((struct sim_note){
	    "#%s error=%u number=%u",
	    { sim_text("application's statement"), error, *ret_number } });
	if (error && sim_world.calm)
		sim_violation("the application's '%s' failed in a calm world: "
			      "%u",
			      text, error);
	return error;
}

bool sim_own_reads(struct sim_borrowed *own, enum sim_book book)
{
	uint64_t number;
	char text[128];

	if (own->autocommit || sim_below(16))
		return false;
	snprintf(text, sizeof(text),
		 "SELECT MAX(number) FROM %s WHERE name = 'seat-0'",
		 sim_book_table(book));
	sim_borrowed_say(own, text, &number);
	return own->conn && own->in_transaction;
}

bool sim_own_open(struct sim_thread *thread)
{
	struct sim_borrowed *own = &thread->own;

	if (own->conn && sim_below(64) == 0)
		sim_borrowed_close(own);
	return own->conn || sim_borrowed_open(own, thread->app->client);
}

/* Longer than a hold lives, and a connection is let idle. */
static void think(void)
{
	sim_thread_rest();
	if (sim_below(64) == 0)
		sim_sleep(sim_between(0, (int64_t) sim_world.ttl_ms * 2000));
}

bool sim_own_count(struct sim_thread *thread, enum sim_book book,
		   unsigned int name, uint64_t work)
{
	const char *table = sim_book_table(book);
	uint64_t number;
	char text[128];

	snprintf(text, sizeof(text),
		 "SELECT MAX(number) FROM %s WHERE name = '%s'", table,
		 sim_names[name]);
	if (sim_own_say(&thread->own, text, &number))
		return false;
	think();
	snprintf(text, sizeof(text),
		 "INSERT INTO %s (name, number, work) VALUES ('%s', "
		 "%" PRIu64 ", %" PRIu64 ")",
		 table, sim_names[name], number + 1, work);
	if (sim_own_say(&thread->own, text, &number))
		return false;
	sim_thread_rest();
	return true;
}

void sim_own_restore(struct sim_thread *thread)
{
	uint64_t number;

	if (thread->own.conn && sim_own_say(&thread->own, "ROLLBACK", &number))
		sim_borrowed_close(&thread->own);
}

/* ------------------------------------------------------------------- fence */

bool sim_own_fence(struct sim_thread *thread, enum sim_book book,
		   unsigned int name, uint64_t token)
{
	struct sim_borrowed *own = &thread->own;
	bool open = own->in_transaction;
	bool commits = own->autocommits && !open;
	struct rowlock_errinfo error = { 0 };
	char resource[64];
	int code;

	snprintf(resource, sizeof(resource), "%s%s",
		 book == SIM_BOOK_FENCED_ROW ? "row " : "", sim_names[name]);
	code = rowlock_fence(sim_borrowed_mysql(own), resource, token, &error);
	sim_app_code(SIM_CALL_FENCE, code);
	sim_trace((struct sim_note){ "#fence token=%u code=%d",
				     { token, (uint64_t) (int64_t) code } });
	if (!code && commits)
		sim_violation("a fence was passed outside of a transaction");
	sim_app_expect("fence", code,
		       (code == ROWLOCK_EINVAL && commits) ||
			   (code == ROWLOCK_ELOST && !sim_world.calm));
	sim_judge_fenced(own, book, name, token, code);
	/* Another node may end it while the larger token is asked for. */
	if (code && open && !(code == ROWLOCK_ELOST && sim_world.nodes))
		sim_judge_stays_open(own, "fence", code, error.mysql);
	return !code;
}

/* ------------------------------------------------------- behind one's hold */

static bool begin(struct sim_thread *thread)
{
	uint64_t number;

	/* Now and then it is forgotten. */
	if (sim_below(64) == 0)
		return true;
	return !sim_own_say(&thread->own, "START TRANSACTION READ WRITE",
			    &number);
}

static void play(struct sim_thread *thread, const struct sim_handle *handle,
		 uint64_t token)
{
	enum sim_book book =
	    handle->row ? SIM_BOOK_FENCED_ROW : SIM_BOOK_FENCED_LEASE;
	uint64_t work = sim_judge_fencing(handle->name);
	uint64_t number;

	think();
	if (!begin(thread) ||
	    !sim_own_fence(thread, book, handle->name, token) ||
	    !sim_own_count(thread, book, handle->name, work))
		return;
	if (sim_below(8) == 0 &&
	    !sim_own_fence(thread, book, handle->name, token))
		return;
	sim_own_say(&thread->own, sim_below(8) ? "COMMIT" : "ROLLBACK",
		    &number);
}

void sim_fenced_play(struct sim_thread *thread, struct sim_handle *handle)
{
	uint64_t token = sim_thread_token(handle);

	if (!token || !sim_own_open(thread))
		return;
	play(thread, handle, token);
	sim_own_restore(thread);
	sim_borrowed_check(&thread->own, "fence");
}
