/* SPDX-License-Identifier: MIT */
/*
 * Runs of jobs over the model's leases: of one job, whose windows are all the
 * same.
 */
#include "world.h"

#include <stdio.h>

#include "db/transaction.h"
#include "strategy/job_list.h"

struct fake_job fake_job;

static struct fake_call call_of(const struct rlk_job_run *run)
{
	struct fake_call call = { .attempt = run->request->attempt,
				  .id = run->id };

	snprintf(call.name, sizeof(call.name), "%s", run->request->name);
	return call;
}

static bool has_lease(const struct rlk_job_run *run)
{
	struct world_lease *lease = world_lease(run->request->name);

	return lease && lease->attempt == run->request->attempt;
}

bool rlk_transaction_is_left(const struct rlk_conn *conn)
{
	return conn->transacts && !rlk_conn_usable(conn);
}

/* The fault of a transaction, which stays open without an answer. */
static enum rlk_fault transact(struct world_op *op,
			       struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = world_fault(op, RLK_DONE, reterr);

	op->conn->transacts = !rlk_conn_usable(op->conn);
	return fault;
}

static enum rlk_claim claim(const struct rlk_job_run *run)
{
	if (!has_lease(run))
		return RLK_CLAIM_LOST;
	if (fake_job.id == run->id && !fake_job.succeeded) {
		fake_job.id = 0;
		fake_job.runs--;
	}
	if (fake_job.succeeded)
		return RLK_CLAIM_DONE;
	if (fake_job.runs >= run->most)
		return RLK_CLAIM_SPENT;
	if (fake_job.away)
		return RLK_CLAIM_AWAY;
	fake_job.id = run->id;
	fake_job.runs++;
	return RLK_CLAIMED;
}

enum rlk_fault rlk_job_run_claim(struct rlk_conn *conn,
				 const struct rlk_job_run *run,
				 enum rlk_claim *ret_claim,
				 struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_JOB_CLAIM, .conn = conn };
	struct fake_call call = call_of(run);

	if (world_begin(&op, &call))
		*ret_claim = claim(run);
	return transact(&op, reterr);
}

static enum rlk_job_end succeed(const struct rlk_job_run *run, int code)
{
	if (!has_lease(run))
		return fake_job.succeeded && fake_job.id == run->id
			   ? RLK_JOB_NOTED
			   : RLK_JOB_LOST;
	if (fake_job.id != run->id)
		return RLK_JOB_GONE;
	world_lease(run->request->name)->attempt = 0;
	fake_job.succeeded = true;
	fake_job.code = code;
	return RLK_JOB_NOTED;
}

enum rlk_fault rlk_job_run_succeed(struct rlk_conn *conn,
				   const struct rlk_job_run *run, int code,
				   enum rlk_job_end *ret_end,
				   struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_JOB_SUCCEED, .conn = conn };
	struct fake_call call = call_of(run);

	if (world_begin(&op, &call))
		*ret_end = succeed(run, code);
	return transact(&op, reterr);
}

enum rlk_fault rlk_job_run_fail(struct rlk_conn *conn,
				const struct rlk_job_run *run, int code,
				enum rlk_job_end *ret_end,
				struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_JOB_FAIL, .conn = conn };
	struct fake_call call = call_of(run);

	if (world_begin(&op, &call)) {
		*ret_end = fake_job.succeeded ? RLK_JOB_DONE : RLK_JOB_NOTED;
		if (!fake_job.succeeded)
			fake_job.code = code;
	}
	return transact(&op, reterr);
}

enum rlk_fault rlk_job_run_undo(struct rlk_conn *conn,
				const struct rlk_job_run *run,
				struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_JOB_UNDO, .conn = conn };
	struct fake_call call = call_of(run);

	if (world_begin(&op, &call) && fake_job.id == run->id) {
		fake_job.id = 0;
		fake_job.runs--;
	}
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_job_run_forget(struct rlk_conn *conn,
				  const struct rlk_job_run *run,
				  struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_JOB_FORGET, .conn = conn };
	struct fake_call call = { .id = run->keep };

	snprintf(call.name, sizeof(call.name), "%s", run->request->name);
	world_begin(&op, &call);
	return world_fault(&op, RLK_DONE, reterr);
}

struct rlk_job_listing rlk_job_listing_begin(const char *like,
					     rowlock_list_runs_fn fn, void *arg)
{
	return (struct rlk_job_listing){
		.like = like, .fn = fn, .arg = arg, .page = rlk_page_begin(2)
	};
}

/* One page. */
static void list(struct rlk_job_listing *listing)
{
	struct rlk_page *page = &listing->page;

	for (page->rows = 0; page->rows < page->limit && fake_job.listed;
	     page->rows++) {
		const struct rowlock_run_entry entry = {
			.size = sizeof(entry),
			.name = "job",
			.nth = fake_job.listed--,
		};

		if (!listing->ended)
			listing->ended = listing->fn(&entry, listing->arg);
	}
}

enum rlk_fault rlk_job_list(struct rlk_conn *conn,
			    struct rlk_job_listing *listing,
			    struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_JOB_LIST, .conn = conn };
	struct fake_call call = { .id = 0 };

	snprintf(call.name, sizeof(call.name), "%s", listing->like);
	if (world_begin(&op, &call))
		list(listing);
	return world_fault(&op, RLK_DONE, reterr);
}
