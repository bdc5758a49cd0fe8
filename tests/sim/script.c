/* SPDX-License-Identifier: MIT */
/*
 * The application's transactions, as the simulated server executes them: one
 * statement of a text after the other, others in between; the first that fails
 * is the last. What is written is there for others from the COMMIT on, and
 * gone if there is none, however the connection ends.
 *
 * From a guard to the COMMIT of the same text all happens at one instant: it
 * has the lease's row locked meanwhile, so nobody else could change it, nor see
 * anything of it. An early guard's lock lasts to the end of its transaction,
 * and others meet it (locks.c).
 */
#include "script.h"

#include <limits.h>
#include <string.h>

#include "fault.h"
#include "judge.h"
#include "locks.h"
#include "server.h"
#include "sim.h"
#include "tables_private.h"
#include "trace.h"

#define ERROR_SYNTAX 1064
#define ERROR_READ_ONLY 1290
#define ERROR_VALUE 1231
#define ERROR_NO_SAVEPOINT 1305
#define ERROR_OPEN 1568
#define ERROR_STILL_OPEN 1766
#define ERROR_DEADLOCK 1213
#define ERROR_INTERRUPTED 1317
#define ERROR_TIMEOUT 1205
#define ERROR_ROWS 1242
#define ERROR_SIGNAL 1644

/* What one who has the guard as text counts. */
#define COUNT_OF_TEXT 268435456

/* Between two statements. */
#define PAUSE_US 40

/* ------------------------------------------------------------ transaction */

/* The isolation of the next one is not of this one. */
void sim_work_roll_back(struct sim_session *session)
{
	sim_locks_release(session);
	sim_inside_release(session);
	session->work = (struct sim_work){ .rows = session->work.rows };
}

static void apply_guard(struct sim_session *session)
{
	struct sim_lease *lease = session->work.guard;

	if (!lease)
		return;
	lease->guards = session->work.guards;
	if (session->work.releases) {
		sim_receipt_leave(lease);
		sim_lease_remove(session, lease);
	}
}

static void commit(struct sim_session *session)
{
	struct sim_work *work = &session->work;

	if (work->work) {
		if (work->book == SIM_BOOK_GUARDED)
			sim_judge_counted(work->name, work->number, work->work);
		else
			sim_judge_booked(session);
		sim_tables.counts[work->book][work->name] = work->number;
	}
	apply_guard(session);
	sim_inside_apply(session);
	sim_work_roll_back(session);
}

/* A statement on a table begins one. */
void sim_script_touch(struct sim_session *session)
{
	struct sim_work *work = &session->work;

	work->open = true;
	if (work->snapshot && !work->seen)
		memcpy(work->counts, sim_tables.counts, sizeof(work->counts));
	work->seen = true;
}

static unsigned int find_savepoint(const struct sim_work *work,
				   const char *name)
{
	unsigned int i = 0;

	while (i < work->savepoint_count &&
	       strcmp(work->savepoints[i], name) != 0)
		i++;
	return i;
}

/* ------------------------------------------------------------- statements */

static unsigned int set_transaction(struct sim_session *session,
				    const struct sim_said *said)
{
	if (session->work.open)
		return ERROR_OPEN;
	session->work.snapshot = said->value == 1;
	return 0;
}

static unsigned int start(struct sim_session *session,
			  const struct sim_said *said)
{
	if (session->work.open)
		sim_violation("process %u starts a transaction in one that was "
			      "open",
			      session->proc);
	if (sim_world.nodes && sim_world.mysql && !session->caught_up)
		sim_violation("a begin does not wait for its node, which may "
			      "be behind");
	session->caught_up = false;
	session->work.open = true;
	if (said->value)
		sim_script_touch(session);
	return 0;
}

/* Not in a transaction. */
static unsigned int set_consistency(struct sim_session *session,
				    const struct sim_said *said)
{
	if (session->work.open)
		return ERROR_STILL_OPEN;
	session->consistent = said->op->verb == SIM_BE_CONSISTENT;
	return 0;
}

static unsigned int set_autocommit(struct sim_session *session,
				   const struct sim_said *said)
{
	uint64_t value = said->value;

	if (said->if_one && session->work.rows != 1)
		value = said->otherwise;
	if (value > 1)
		return ERROR_VALUE;
	if (value && !session->autocommit)
		commit(session);
	session->autocommit = value == 1;
	return 0;
}

/* With autocommit on it is none. */
static unsigned int set_savepoint(struct sim_session *session,
				  const struct sim_said *said)
{
	struct sim_work *work = &session->work;
	const unsigned int most = RLK_ARRAY_SIZE(work->savepoints);

	if (session->autocommit)
		return 0;
	work->open = true;
	if (work->savepoint_count == most)
		sim_violation("a transaction has more than %u savepoints",
			      most);
	memcpy(work->savepoints[work->savepoint_count++], said->savepoint,
	       sizeof(said->savepoint));
	return 0;
}

/* Those behind it go, too. */
static unsigned int release_savepoint(struct sim_session *session,
				      const struct sim_said *said)
{
	struct sim_work *work = &session->work;
	unsigned int at = find_savepoint(work, said->savepoint);

	if (at == work->savepoint_count)
		return ERROR_NO_SAVEPOINT;
	work->savepoint_count = at;
	return 0;
}

/* The row that is meant; NULL: it is not there. */
static struct sim_lease *find_lease(const struct sim_said *said)
{
	for (unsigned int i = 0; i < sim_tables.lease_places; i++) {
		struct sim_lease *lease = &sim_tables.leases[i];

		if (!lease->there || said->elsewhere ||
		    ((said->by & SIM_BY_NAME) && lease->name != said->name) ||
		    ((said->by & SIM_BY_SLOT) && lease->slot != said->slot) ||
		    ((said->by & SIM_BY_ATTEMPT) &&
		     lease->attempt != said->attempt) ||
		    ((said->by & SIM_BY_GUARDS) &&
		     lease->guards != said->guards))
			continue;
		return lease;
	}
	return NULL;
}

void sim_script_tell(struct sim_session *session, uint64_t number)
{
	struct sim_script *script = &session->script;

	script->numbers[script->answered] = number;
	session->answer.rows = 1;
}

/* The row, or gap, that is read, whatever attempt it has. */
static struct sim_lease *place_of(const struct sim_said *said)
{
	if (said->slot || !(said->by & SIM_BY_NAME) ||
	    !(said->by & SIM_BY_SLOT))
		return NULL;
	return &sim_tables.leases[said->name];
}

/* What does not fit is locked all the same under REPEATABLE READ. A read that
 * locks takes no snapshot: that is done by the next one. */
static void lock_row(struct sim_session *session, const struct sim_said *said,
		     const struct sim_lease *lease)
{
	session->work.open = true;
	if (lease || session->work.snapshot)
		sim_locks_take(session, place_of(said), SIM_WANTS_SHARED);
}

/* Of a row that is there: whether it is the server, and then its guards. */
static unsigned int look_at_guards(struct sim_session *session,
				   const struct sim_said *said)
{
	struct sim_said row = *said;
	const struct sim_lease *lease;
	uint64_t number = 0;

	row.elsewhere = false;
	lease = find_lease(&row);
	if (said->shares)
		lock_row(session, said, lease);
	else
		sim_script_touch(session);
	if (said->numbers && said->value == session->id)
		number = 1ull << 33;
	if (lease)
		sim_script_tell(
		    session, said->elsewhere ? 0 : number + lease->guards + 1);
	return 0;
}

static unsigned int catch_up(struct sim_session *session,
			     const struct sim_said *said)
{
	sim_script_touch(session);
	session->caught_up = session->consistent && session->autocommit;
	sim_script_tell(session, find_lease(said) != NULL);
	return 0;
}

/* The snapshot is taken by it, whether the row is there or not. */
static unsigned int look_first(struct sim_session *session,
			       const struct sim_said *said)
{
	sim_script_touch(session);
	return find_lease(said) ? 0 : ERROR_ROWS;
}

static unsigned int look_at_place(struct sim_session *session,
				  const struct sim_said *said)
{
	sim_script_tell(session,
			!said->elsewhere &&
			    (!said->numbers || said->value == session->id));
	return 0;
}

static bool is_there_but_for_its_count(const struct sim_said *said)
{
	struct sim_said row = *said;

	row.by &= ~(unsigned int) SIM_BY_GUARDS;
	return find_lease(&row) != NULL;
}

static unsigned int guard(struct sim_session *session,
			  const struct sim_said *said)
{
	struct sim_work *work = &session->work;

	sim_script_touch(session);
	session->lied = session->request.lies;
	work->guard = session->lied ? NULL : find_lease(said);
	work->releases = said->releases;
	work->guards = said->value;
	if (said->texts && work->guard)
		work->guards =
		    (work->guard->guards + COUNT_OF_TEXT) & UINT32_MAX;
	session->answer.affected = work->guard ? 1 : 0;
	if (!work->guard && !session->lied && is_there_but_for_its_count(said))
		sim_judge_miscounted(session, said->name);
	return 0;
}

static unsigned int judge_guard(struct sim_session *session,
				const struct sim_said *said)
{
	(void) said;
	return session->work.rows == 1 ? 0 : ERROR_ROWS;
}

static unsigned int call_guard(struct sim_session *session,
			       const struct sim_said *said)
{
	guard(session, said);
	return session->work.guard ? 0 : ERROR_SIGNAL;
}

static unsigned int read_counter(struct sim_session *session,
				 const struct sim_said *said)
{
	const struct sim_work *work = &session->work;

	sim_script_touch(session);
	sim_script_tell(session,
			work->snapshot
			    ? work->counts[said->book][said->name]
			    : sim_tables.counts[said->book][said->name]);
	return 0;
}

static unsigned int write_counter(struct sim_session *session,
				  const struct sim_said *said)
{
	struct sim_work *work = &session->work;

	sim_script_touch(session);
	work->work = said->work;
	work->book = said->book;
	work->name = said->name;
	work->number = said->value;
	session->answer.affected = 1;
	return 0;
}

static unsigned int allow_several(struct sim_session *session,
				  const struct sim_said *said)
{
	session->several = said->value == 1;
	return 0;
}

/* What was open before is committed by it, and nobody may have left that. */
static unsigned int begin_work(struct sim_session *session,
			       const struct sim_said *said)
{
	(void) said;
	if (session->work.open)
		sim_violation("process %u begins another one in a transaction "
			      "that was open",
			      session->proc);
	session->work.open = true;
	session->work.begun = true;
	session->work.snapshot |= session->repeatable;
	return 0;
}

static unsigned int do_nothing(struct sim_session *session,
			       const struct sim_said *said)
{
	(void) session;
	(void) said;
	return 0;
}

static unsigned int end_work(struct sim_session *session,
			     const struct sim_said *said)
{
	if (said->op->verb == SIM_COMMIT)
		commit(session);
	else
		sim_work_roll_back(session);
	return 0;
}

static unsigned int do_execute(struct sim_session *session,
			       const struct sim_said *said)
{
	static unsigned int (*const handlers[SIM_VERBS])(
	    struct sim_session *, const struct sim_said *) = {
		[SIM_SET_TRANSACTION] = set_transaction,
		[SIM_SET_AUTOCOMMIT] = set_autocommit,
		[SIM_SAVEPOINT] = set_savepoint,
		[SIM_RELEASE_SAVEPOINT] = release_savepoint,
		[SIM_BE_CONSISTENT] = set_consistency,
		[SIM_BE_AS_BEFORE] = set_consistency,
		[SIM_CATCH_UP] = catch_up,
		[SIM_GUARD_START] = start,
		[SIM_GUARD_FIRST] = look_first,
		[SIM_GUARD_LOOK] = look_at_guards,
		[SIM_GUARD_PLACE] = look_at_place,
		[SIM_GUARD_COUNT] = guard,
		[SIM_GUARD_CALL] = call_guard,
		[SIM_GUARD_JUDGE] = judge_guard,
		[SIM_COUNTER_READ] = read_counter,
		[SIM_COUNTER_WRITE] = write_counter,
		[SIM_ALLOW_SEVERAL] = allow_several,
		[SIM_INSIDE_BEGIN] = begin_work,
		[SIM_DO] = do_nothing,
		[SIM_INSIDE_TRY] = sim_inside_lock,
		[SIM_INSIDE_WAIT] = sim_inside_lock,
		[SIM_INSIDE_DRAW] = sim_inside_draw,
		[SIM_FENCE_PASS] = sim_resource_pass,
		[SIM_FENCE_LOOK] = sim_resource_look,
		[SIM_COMMIT] = end_work,
		[SIM_ROLLBACK] = end_work,
	};

	return handlers[said->op->verb](session, said);
}

/* Would it commit, if nothing is in its way? */
static bool commits(const struct sim_session *session,
		    const struct sim_said *said)
{
	return said->op->verb == SIM_COMMIT ||
	       (said->op->verb == SIM_SET_AUTOCOMMIT && said->value == 1 &&
		!session->autocommit);
}

static bool is_refused(const struct sim_session *session,
		       const struct sim_said *said)
{
	const struct sim_work *work = &session->work;

	if (sim_server.read_only_until <= sim_now)
		return false;
	return said->op->writes ||
	       (commits(session, said) &&
		(work->work || work->guard || work->token || work->pass));
}

/* What fails in a COMMIT is rolled back, or it is done all the same; a begin
 * that is interrupted may be done, too; and a deadlock ends the transaction in
 * any statement. */
static void refuse(struct sim_session *session, const struct sim_said *said,
		   unsigned int error)
{
	bool ends = commits(session, said);
	bool begins = said->op->verb == SIM_INSIDE_BEGIN ||
		      said->op->verb == SIM_GUARD_START;

	if (error == ERROR_INTERRUPTED)
		sim_rows_slip(session);
	if ((ends || begins) && error == ERROR_INTERRUPTED &&
	    !is_refused(session, said) && sim_below(2))
		do_execute(session, said);
	else if (ends || error == ERROR_DEADLOCK)
		sim_work_roll_back(session);
	session->answer.error = error;
}

static void execute_one(struct sim_session *session,
			const struct sim_said *said)
{
	struct sim_answer *answer = &session->answer;

	sim_verb_counts[said->op->verb]++;
	answer->rows = 0;
	answer->affected = 0;
	answer->insert_id = 0;
	if (is_refused(session, said))
		refuse(session, said, ERROR_READ_ONLY);
	else
		answer->error = do_execute(session, said);
	session->work.rows =
	    answer->rows ? -1 : (int64_t) session->answer.affected;
	if (session->autocommit && session->work.open && !session->work.begun)
		commit(session);
}

/* ------------------------------------------------------------------- fate */

/* A guard's goes on until it is committed. */
static unsigned int step_end(const struct sim_script *script)
{
	unsigned int at = script->answered;
	enum sim_verb verb = script->said[at].op->verb;

	if (verb != SIM_GUARD_COUNT)
		return at;
	while (++at < script->count) {
		const struct sim_said *said = &script->said[at];

		if (said->op->verb == SIM_COMMIT ||
		    (said->op->verb == SIM_SET_AUTOCOMMIT && said->value == 1))
			return at;
	}
	return script->count - 1;
}

/* Of one statement. */
static void draw_one(struct sim_session *session, unsigned int at)
{
	struct sim_request *request = &session->request;
	struct sim_script *script = &session->script;
	struct sim_request fate = { .op = script->said[at].op };
	bool ends = commits(session, &script->said[at]);

	sim_draw_fate(&fate);
	/* Before it has happened, or after. */
	if (fate.op->verb == SIM_COMMIT && sim_happens(SIM_INTERRUPTED))
		fate.refuse = ERROR_INTERRUPTED;
	if (ends && sim_world.nodes && sim_happens(SIM_DEADLOCK))
		fate.refuse = ERROR_DEADLOCK;
	if (fate.op->verb == SIM_ALLOW_SEVERAL)
		fate.refuse = 0;
	/* A KILL QUERY that came between two statements. */
	if (at == 0 && session->stray)
		fate.refuse = ERROR_INTERRUPTED;
	/* What it has locked is in nobody's way, but another node's. */
	if (!sim_world.nodes && fate.refuse != ERROR_INTERRUPTED &&
	    sim_inside_has(session, &script->said[at]))
		fate.refuse = 0;
	request->block_us += fate.block_us;
	request->reply_lost |= fate.reply_lost;
	request->break_after |= fate.break_after;
	if (fate.lies)
		script->lies_at = at;
	if (request->refuse || !fate.refuse)
		return;
	request->refuse = fate.refuse;
	script->fails_at = at;
}

static void draw_step(struct sim_session *session)
{
	struct sim_script *script = &session->script;
	unsigned int at = script->answered;

	script->drawn = true;
	script->lies_at = UINT_MAX;
	session->request.refuse = 0;
	script->last = step_end(script);
	for (; at <= script->last; at++)
		draw_one(session, at);
}

/* ------------------------------------------------------------------ steps */

/* A node rolls it back for another's, and the text goes on in a new one, until
 * the last statement says so. */
static bool is_aborted(struct sim_session *session)
{
	struct sim_request *request = &session->request;

	if (!sim_world.nodes || request->refuse != ERROR_DEADLOCK ||
	    session->autocommit || sim_below(2))
		return false;
	sim_work_roll_back(session);
	session->script.aborted = true;
	request->refuse = 0;
	return true;
}

/* False: it is the last one. */
static bool execute_statement(struct sim_session *session)
{
	struct sim_script *script = &session->script;
	const struct sim_said *said = &script->said[script->answered];
	struct sim_request *request = &session->request;

	request->op = said->op;
	request->lies = script->answered == script->lies_at;
	if (request->refuse && script->fails_at == script->answered &&
	    !is_aborted(session))
		refuse(session, said, request->refuse);
	else
		execute_one(session, said);
	sim_trace_statement(session);
	if (session->answer.error)
		return false;
	if (script->answered + 1 == script->count && script->aborted) {
		sim_work_roll_back(session);
		session->answer.error = ERROR_DEADLOCK;
		return false;
	}
	return ++script->answered < script->count;
}

/* The end of a text. A guard that is not committed yet keeps its row. Whoever
 * does not say all of one has noticed that the client has gone. */
static void finish(struct sim_session *session)
{
	struct sim_script *script = &session->script;
	bool cut = !session->answer.error && script->answered < script->count;

	if (session->work.guard)
		sim_locks_take(session, session->work.guard, SIM_WANTS_ALONE);
	script->autocommits = session->autocommit;
	script->in_transaction = session->work.open;
	sim_session_finish(session);
	if (cut)
		sim_session_end(session, SIM_END_BROKEN);
}

/* What the next step wants of a lease's row, the first that it is about. */
static bool waits_for_row(struct sim_session *session)
{
	const struct sim_script *script = &session->script;
	const struct sim_said *said = &script->said[script->answered];
	enum sim_verb verb = said->op->verb;
	struct sim_lease *lease = place_of(said);
	enum sim_want want = SIM_WANTS_NOTHING;

	if (sim_inside_holds_up(session, said))
		return true;
	if (verb == SIM_GUARD_LOOK && said->shares)
		want = SIM_WANTS_SHARED;
	if ((verb == SIM_GUARD_COUNT || verb == SIM_GUARD_CALL) && lease &&
	    lease->there)
		want = SIM_WANTS_ALONE;
	return sim_locks_hold_up_text(session, lease, want);
}

/* False: it is the text's last one, or the connection breaks behind it; a
 * server need not notice that the client has gone. */
static bool execute_step(struct sim_session *session)
{
	struct sim_script *script = &session->script;

	script->drawn = false;
	do {
		if (!execute_statement(session))
			return false;
		if (session->request.break_after && sim_below(2))
			return false;
		if (session->hung_up && sim_below(4) == 0)
			return false;
	} while (script->answered <= script->last);
	return true;
}

void sim_script_execute(struct sim_session *session)
{
	struct sim_request *request = &session->request;
	struct sim_script *script = &session->script;

	session->phase = SIM_EXECUTING;
	session->answer.error = 0;
	request->op = script->said[script->answered].op;
	if (script->count > 1 && !session->several) {
		session->answer.error = ERROR_SYNTAX;
		finish(session);
		return;
	}
	if (!script->drawn)
		draw_step(session);
	session->stray = false;
	if (request->block_us) {
		sim_event_set(&session->step, sim_now + request->block_us);
		request->block_us = 0;
		return;
	}
	if (waits_for_row(session))
		return;
	if (execute_step(session))
		sim_event_set(&session->step,
			      sim_now + sim_between(0, PAUSE_US));
	else
		finish(session);
}

void sim_script_go_on(struct sim_session *session, unsigned int error)
{
	struct sim_script *script = &session->script;
	const struct sim_said *said = &script->said[script->answered];

	session->phase = SIM_EXECUTING;
	if (error)
		refuse(session, said, error);
	else
		execute_one(session, said);
	if (!session->answer.error)
		script->answered++;
	finish(session);
}

void sim_script_interrupt(struct sim_session *session)
{
	const struct sim_script *script = &session->script;
	const struct sim_said *said;

	if (session->phase == SIM_WAITING) {
		sim_rows_give_up(session);
	} else if (session->phase != SIM_EXECUTING) {
		/* The next one may meet what was meant for this one. */
		session->stray =
		    session->phase != SIM_TRAVELLING && script->said[0].tag;
		return;
	}
	said = &script->said[script->answered];
	if (said->op->verb == SIM_ALLOW_SEVERAL)
		return;
	sim_event_clear(&session->step);
	refuse(session, said, ERROR_INTERRUPTED);
	finish(session);
}
