/* SPDX-License-Identifier: MIT */
/*
 * What tests say beforehand, and what they look at afterwards: the answers to
 * come, and the calls that came.
 *
 * A call is noted when it begins. It is executed by the model unless its
 * answer says otherwise, then its time passes, then its caller gets what was
 * said, or else what the model says.
 */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "test.h"

#define ANSWERS 16
#define CALLS 512

struct script {
	struct fake_answer next[ANSWERS];
	unsigned int nexts;
	struct fake_answer always;
	struct fake_call calls[CALLS];
	unsigned int count;
	unsigned int let;
};

static struct script scripts[FAKE_OPS];
static unsigned int order;

void world_script_reset(void)
{
	memset(scripts, 0, sizeof(scripts));
	order = 0;
}

void fake_next(enum fake_op op, struct fake_answer answer)
{
	struct script *script = &scripts[op];

	world_lock();
	if (script->nexts == ANSWERS)
		fake_problem("too many answers");
	else
		script->next[script->nexts++] = answer;
	world_unlock();
}

void fake_always(enum fake_op op, struct fake_answer answer)
{
	world_lock();
	scripts[op].always = answer;
	world_unlock();
}

void fake_let(enum fake_op op)
{
	world_lock();
	scripts[op].let++;
	world_ready(op);
	world_changed();
	world_unlock();
}

unsigned int fake_count(enum fake_op op)
{
	unsigned int count;

	world_lock();
	count = scripts[op].count;
	world_unlock();
	return count;
}

struct fake_call fake_call(enum fake_op op, unsigned int number)
{
	struct fake_call call = { .name = "" };
	bool there;

	world_lock();
	there = number < scripts[op].count && number < CALLS;
	if (there)
		call = scripts[op].calls[number];
	world_unlock();
	if (!there)
		fail_msg("there was no call %u of operation %d", number, op);
	return call;
}

struct awaited {
	enum fake_op op;
	unsigned int count;
};

static bool was_called(void *arg)
{
	const struct awaited *awaited = arg;

	return fake_count(awaited->op) >= awaited->count;
}

void fake_await_call(enum fake_op op, unsigned int count, const char *what,
		     const char *file, int line)
{
	fake_until_so(was_called, &(struct awaited){ op, count }, what, file,
		      line);
}

void fake_pass_await(enum fake_op op, unsigned int count)
{
	fake_pass_until(was_called, &(struct awaited){ op, count });
}

/* ---------------------------------------------------- a call's passage */

static struct fake_answer take(struct script *script)
{
	struct fake_answer answer = script->always;

	if (script->nexts == 0)
		return answer;
	answer = script->next[0];
	script->nexts--;
	memmove(&script->next[0], &script->next[1],
		script->nexts * sizeof(answer));
	return answer;
}

/* Held back until it is let go on, interrupted, or its deadline comes. */
void world_hold_back(struct world_op *op)
{
	struct script *script = &scripts[op->op];

	op->pending = false;
	while (script->let == 0) {
		if (op->conn && (op->conn->interrupted ||
				 fake_now() >= op->conn->until_ms)) {
			op->pending = true;
			return;
		}
		if (!world_wait(op->conn ? op->conn->until_ms : RLK_NEVER)) {
			fake_problem("operation %d was never let go on",
				     op->op);
			return;
		}
	}
	script->let--;
}

bool world_begin(struct world_op *op, const struct fake_call *call)
{
	struct script *script = &scripts[op->op];

	if (world_holds_mutex())
		fake_problem("operation %d was called with a mutex held",
			     op->op);
	world_lock();
	if (script->count < CALLS) {
		script->calls[script->count] = *call;
		script->calls[script->count].conn = op->conn ? op->conn->id : 0;
		script->calls[script->count].order = ++order;
	}
	script->count++;
	op->answer = take(script);
	world_changed();
	op->dead = op->conn && op->conn->dead;
	if (op->conn && !op->conn->lent)
		fake_problem("operation %d on a connection that was given back",
			     op->op);
	if (op->conn && op->conn->outstanding && !op->dead &&
	    op->op != FAKE_RESUME && op->op != FAKE_BELL_RESUME)
		fake_problem("operation %d on a connection that owes an answer",
			     op->op);
	if (!op->dead && op->answer.wait)
		world_hold_back(op);
	return !op->dead && !op->pending && !op->answer.skip;
}

/* The rest of the call's time, without the world's mutex. */
static void pass(struct world_op *op)
{
	world_changed();
	world_unlock();
	if (op->answer.ms)
		fake_advance(op->answer.ms);
	if (op->answer.creep_ms)
		fake_creep(op->answer.creep_ms);
}

static int code_of(const struct world_op *op, bool unknown)
{
	if (op->answer.given && op->answer.code)
		return op->answer.code;
	return unknown ? ROWLOCK_ECONNECT : ROWLOCK_EDB;
}

/* Its connection was told what is wrong with its server. */
static void note_code(struct world_op *op)
{
	if (op->conn && op->answer.given &&
	    op->answer.code == ROWLOCK_EREADONLY)
		op->conn->read_only = true;
}

enum rlk_fault world_fault(struct world_op *op, enum rlk_fault fault,
			   struct rowlock_errinfo *reterr)
{
	if (op->answer.given)
		fault = (enum rlk_fault) op->answer.result;
	if (op->pending)
		fault = RLK_PENDING;
	if (op->dead)
		fault = RLK_UNKNOWN;
	if (op->conn && fault == RLK_UNKNOWN)
		op->conn->dead = true;
	if (op->conn && fault == RLK_PENDING) {
		op->conn->outstanding = true;
		op->conn->asked = op->op;
		op->conn->answer = op->answer;
	}
	note_code(op);
	pass(op);
	if (fault && fault != RLK_PENDING)
		rlk_fail_db(reterr, code_of(op, fault == RLK_UNKNOWN),
			    op->answer.mysql ? op->answer.mysql : 1,
			    "operation %d: fault %d", op->op, fault);
	return fault;
}

enum rlk_fault world_resume(struct rlk_conn *conn,
			    struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = conn->asked, .conn = conn };

	world_lock();
	if (!conn->lent || !conn->outstanding)
		fake_problem("nothing is outstanding that could be resumed");
	op.answer = conn->answer;
	op.dead = conn->dead;
	conn->outstanding = false;
	if (!op.dead)
		world_hold_back(&op);
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault world_verdict(struct world_op *op, enum rlk_fault verdict,
			     struct rowlock_errinfo *reterr)
{
	if (op->answer.given)
		verdict = (enum rlk_fault) op->answer.result;
	if (op->pending)
		verdict = RLK_PENDING;
	if (op->dead)
		verdict = RLK_UNKNOWN;
	if (op->conn && verdict == RLK_UNKNOWN)
		op->conn->dead = true;
	if (op->conn && verdict == RLK_PENDING)
		op->conn->outstanding = true;
	note_code(op);
	pass(op);
	if (verdict == RLK_UNKNOWN || verdict == RLK_REFUSED)
		rlk_fail_db(reterr, code_of(op, verdict == RLK_UNKNOWN), 1,
			    "operation %d: verdict %d", op->op, verdict);
	return verdict;
}
