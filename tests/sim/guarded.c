/* SPDX-License-Identifier: MIT */
/*
 * A thread that has a transaction of its own under the lease that it holds: it
 * reads the counter of the lock's name, thinks, writes one more, and commits.
 * Now and then it is careless: it overlooks an error, ends the transaction
 * without saying so, or connects anew in the middle of it.
 */
#include <rowlock/mysql.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app_private.h"
#include "hold/handle.h"
#include "judge.h"
#include "proc.h"
#include "server.h"
#include "sim.h"
#include "tables.h"
#include "trace.h"

#define ERROR_DEADLOCK 1213

/* Between two questions after a commit, in guard/guarded_end.c; and a
 * millisecond for what is rounded. */
#define PAUSE_MS 21

struct play {
	struct sim_thread *thread;
	const struct sim_handle *handle;
	uint64_t work; /* its number, to the judge */
	bool over;     /* it has ended, and rowlock was not told */
	bool wrote;
	bool careful; /* rolls back after an error */
	bool early;   /* keeps its hold from the begin on */
	bool let_go;  /* the hold was lost, and its level is released */
};

static void say(struct play *play, const char *text, uint64_t *ret_number,
		unsigned int *ret_error)
{
	*ret_error = sim_own_say(&play->thread->own, text, ret_number);
	if (*ret_error == ERROR_DEADLOCK) {
		play->over = true;
		play->wrote = false;
	}
}

/* A hold that was lost because its row was gone has none: nobody makes a row
 * with another's attempt, whatever else goes wrong. */
static void check_lost(const struct sim_handle *handle, const char *what,
		       int code)
{
	const struct rlk_hold *hold = handle->lock->hold;
	const struct sim_lease *row = &sim_tables.leases[handle->name];

	if (code == ROWLOCK_ELOST && hold && hold->reason &&
	    strcmp(hold->reason, RLK_ROW_IS_GONE) == 0 && row->there &&
	    row->attempt == hold->attempt)
		sim_violation("S6: %s returned ROWLOCK_ELOST (%s), and the row "
			      "is there",
			      what, hold->reason);
}

/* ------------------------------------------------------------------- begin */

static int begin(struct sim_thread *thread, const struct sim_handle *handle,
		 bool early)
{
	bool open = sim_own_reads(&thread->own, SIM_BOOK_GUARDED);
	struct sim_call call;
	unsigned int flags;
	uint64_t number;
	int code;

	flags = sim_below(2) ? ROWLOCK_SNAPSHOT : 0;
	if (early)
		flags |= ROWLOCK_EARLY_GUARD;
	sim_call_begin(&call, "begin", sim_world.call_ms);
	code = rowlock_begin(handle->lock, sim_borrowed_mysql(&thread->own),
			     flags, NULL);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_BEGIN, code);
	check_lost(handle, "begin", code);
	sim_trace(
	    (struct sim_note){ "#begin serial=%u code=%d",
			       { thread->serial, (uint64_t) (int64_t) code } });
	if (open && !code)
		sim_violation("a transaction was begun in one that was open");
	sim_app_expect(
	    "begin", code,
	    (code == ROWLOCK_EINVAL && open) ||
		(code == ROWLOCK_EUNSUPPORTED && early && sim_world.nodes) ||
		(code == ROWLOCK_ELOST && !sim_world.calm));
	if (open && sim_borrowed_say(&thread->own, "ROLLBACK", &number))
		sim_borrowed_close(&thread->own);
	else if (code)
		sim_borrowed_check(&thread->own, "begin");
	return code;
}

/* --------------------------------------------------------------- mischief */

/* False: it failed, and may have ended the transaction or not. */
static bool end_unseen(struct play *play)
{
	unsigned int error;
	uint64_t number;

	say(play, sim_below(2) ? "COMMIT" : "ROLLBACK", &number, &error);
	if (error)
		play->careful = true;
	else
		play->over = true;
	return !error;
}

static void connect_anew(struct play *play)
{
	struct sim_borrowed *own = &play->thread->own;

	sim_borrowed_close(own);
	play->over = true;
	play->wrote = false;
	/* If there is none, the commit says so. */
	(void) sim_borrowed_open(own, play->thread->app->client);
}

/* Longer than its hold lives without it, if its process is paused, or cut off.
 * And longer than a call, where nothing but that can go wrong. */
static void take_long(const struct play *play)
{
	if (sim_world.calm && sim_below(8) == 0)
		sim_sleep(sim_between(0, (int64_t) sim_world.call_ms * 2000));
	if (play->early && sim_below(16) == 0)
		sim_sleep(sim_between(0, (int64_t) sim_world.ttl_ms * 2000));
}

/* Its transaction is in the way, but of a hold that is lost. */
static void release_early(struct play *play)
{
	struct rowlock *lock = play->handle->lock;
	struct sim_call call;
	int code;

	sim_judge_release(lock);
	sim_call_begin(&call, "release", sim_world.call_ms);
	code = rowlock_release(lock, NULL);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_RELEASE, code);
	if (code != ROWLOCK_EHELD && code != ROWLOCK_ELOST)
		sim_violation("S6: release in a transaction returned %d (%s)",
			      code, rowlock_strerror(code));
	sim_app_expect("release", code,
		       code == ROWLOCK_EHELD || !sim_world.calm);
	play->let_go = code == ROWLOCK_ELOST;
	if (play->let_go)
		sim_judge_released(lock, code);
	else
		sim_judge_gives(lock, false);
}

/* False: it cannot go on. */
static bool be_careless(struct play *play)
{
	uint64_t die = sim_below(128);

	if (die == 3)
		release_early(play);
	if (die < 2)
		return end_unseen(play);
	if (die == 2)
		connect_anew(play);
	return die != 2;
}

/* ------------------------------------------------------------------- work */

/* False: it is not known. An error is overlooked, now and then. */
static bool read_counter(struct play *play, const char *name,
			 uint64_t *ret_number)
{
	unsigned int error;
	char text[128];

	snprintf(text, sizeof(text),
		 "SELECT MAX(number) FROM counts WHERE name = '%s'", name);
	say(play, text, ret_number, &error);
	if (error && !play->careful)
		say(play, text, ret_number, &error);
	return !error;
}

static bool count(struct play *play)
{
	const char *name = sim_names[play->handle->name];
	unsigned int error;
	uint64_t number;
	char text[128];

	if (!read_counter(play, name, &number))
		return false;
	sim_thread_rest();
	take_long(play);
	if (!be_careless(play))
		return false;
	snprintf(text, sizeof(text),
		 "INSERT INTO counts (name, number, work) VALUES ('%s', "
		 "%" PRIu64 ", %" PRIu64 ")",
		 name, number + 1, play->work);
	say(play, text, &number, &error);
	play->wrote = !error;
	sim_thread_rest();
	return !error;
}

/* -------------------------------------------------------------------- end */

static void roll_back(struct play *play)
{
	struct rowlock *lock = play->handle->lock;
	struct sim_call call;
	int code;

	sim_call_begin(&call, "rollback", sim_world.call_ms);
	code = rowlock_rollback(lock, sim_borrowed_mysql(&play->thread->own),
				NULL);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_OTHER, code);
	if (code && code != ROWLOCK_EBROKEN)
		sim_violation("rollback returned %d (%s)", code,
			      rowlock_strerror(code));
	sim_app_expect("rollback", code,
		       code && (play->over || !sim_world.calm));
	sim_judge_outcome(play->work, play->wrote, ROWLOCK_EBROKEN);
}

uint64_t sim_app_late_commits;

/* Its commit was rolled back though its row was there: from then on nothing
 * keeps a hold that is late. */
static bool was_let_go(const struct play *play)
{
	const struct sim_session *session =
	    sim_session_find(play->thread->own.id);

	return session && session->lied;
}

static void check_code(const struct play *play, const struct sim_call *call,
		       int code)
{
	const struct rlk_hold *hold = play->handle->lock->hold;

	check_lost(play->handle, "commit", code);
	sim_app_late_commits +=
	    !code && play->early && hold && hold->state != RLK_HOLD_HELD;

	sim_app_expect(
	    "commit", code,
	    (code == ROWLOCK_EBROKEN && play->over) ||
		((code == ROWLOCK_ELOST || code == ROWLOCK_EUNKNOWN ||
		  /* A node rolls back what others met. */
		  (code == ROWLOCK_EBROKEN && sim_world.nodes)) &&
		 !sim_world.calm));
	if (!code && play->over)
		sim_violation("S6: a transaction that had ended before was "
			      "committed");
	if (code == ROWLOCK_ELOST && play->early && !was_let_go(play))
		sim_violation("a hold is lost that its transaction had kept");
	/* Nobody else counts: its own client has, and did not know. */
	if ((code == ROWLOCK_ELOST || code == ROWLOCK_EBROKEN) && hold &&
	    !hold->guard.told && sim_judge_was_miscounted(play->work))
		sim_violation("S6: a commit returned %d (%s), and the row of "
			      "its hold is there, as it was but for its count",
			      code, rowlock_strerror(code));
	if (code == ROWLOCK_EUNKNOWN && hold && hold->state == RLK_HOLD_HELD &&
	    !hold->guard.told &&
	    sim_proc_ms(sim_self->proc) + PAUSE_MS < call->until_ms)
		sim_violation("S6: it is not known whether a transaction was "
			      "committed, though there was time to find out");
}

static int commit(struct play *play, bool gives)
{
	struct rowlock *lock = play->handle->lock;
	struct st_mysql *conn = sim_borrowed_mysql(&play->thread->own);
	struct sim_call call;
	int code;

	if (gives)
		sim_judge_gives(lock, true);
	sim_trace(
	    (struct sim_note){ "#%s serial=%u",
			       { sim_text(gives ? "commit, release" : "commit"),
				 play->thread->serial } });
	sim_call_begin(&call, gives ? "commit_release" : "commit",
		       sim_world.call_ms);
	code = gives ? rowlock_commit_release(lock, conn, NULL)
		     : rowlock_commit(lock, conn, NULL);
	sim_call_end(&call);
	sim_app_code(gives ? SIM_CALL_COMMIT_RELEASE : SIM_CALL_COMMIT, code);
	sim_trace((struct sim_note){
	    "#committed serial=%u code=%d",
	    { play->thread->serial, (uint64_t) (int64_t) code } });
	sim_judge_outcome(play->work, play->wrote, code);
	check_code(play, &call, code);
	if (gives && !code)
		sim_judge_released(lock, 0);
	else if (gives && !play->let_go)
		sim_judge_gives(lock, false);
	if (gives && code == ROWLOCK_EUNKNOWN && rowlock_held(lock))
		sim_violation("S3: a hold goes on that its transaction may "
			      "have given back");
	return code;
}

static bool end(struct play *play, bool done, struct sim_turn *turn)
{
	uint64_t die = sim_below(16);
	bool gives = die < 5;
	int code = -1;

	if (die == 15 || (!done && play->careful))
		roll_back(play);
	else
		code = commit(play, gives);
	turn->unknown = turn->unknown || code == ROWLOCK_EUNKNOWN;
	if (sim_world.calm && !play->over && !play->thread->own.conn)
		sim_violation("the end of a transaction has closed the "
			      "application's connection in a calm world");
	sim_borrowed_check(&play->thread->own, "end");
	return (gives && !code) || play->let_go;
}

bool sim_guarded_play(struct sim_thread *thread, struct sim_handle *handle,
		      struct sim_turn *turn)
{
	struct sim_borrowed *own = &thread->own;
	struct play play = {
		.thread = thread,
		.handle = handle,
		.careful = sim_below(2) == 0,
		.early = sim_world.early && sim_below(3) == 0,
	};
	bool done;

	if (own->conn && sim_below(64) == 0)
		sim_borrowed_close(own);
	if (!own->conn && !sim_borrowed_open(own, thread->app->client))
		return false;
	sim_thread_rest();
	if (sim_world.texts && !turn->unknown && sim_below(4) == 0) {
		turn->over = !sim_told_play(thread, handle);
		return false;
	}
	if (begin(thread, handle, play.early))
		return false;
	play.work =
	    sim_judge_guarded(handle->lock, handle->name, own->id,
			      play.early ? SIM_GUARD_KEEPS : SIM_GUARD_AT_END);
	done = count(&play);
	return end(&play, done, turn);
}
