/* SPDX-License-Identifier: MIT */
/*
 * Candidates: who leads, in which term, and until when.
 */
#include "fake/fake.h"

#include <rowlock/election.h>
#include <stdatomic.h>
#include <string.h>

#include "test.h"

static struct rowlock *candidate(struct rowlock_client *client,
				 enum rowlock_strategy strategy)
{
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *election = NULL;

	lock.strategy = strategy;
	options.lock_options = &lock;
	assert_ok(
	    rowlock_election_new(client, "crown", &options, &election, &err));
	return election;
}

static void end(struct rowlock *election)
{
	assert_ok(rowlock_try_free(election, &err));
}

/* No statement is made for it. */
static uint64_t term_of(struct rowlock *election)
{
	int draws = fake_count(FAKE_DRAW) + fake_count(FAKE_BATCH);
	uint64_t term = 0;

	assert_ok(rowlock_token(election, &term, &err));
	assert_int_equal(fake_count(FAKE_DRAW) + fake_count(FAKE_BATCH), draws);
	return term;
}

static void assert_leads(struct rowlock *election)
{
	assert_int_equal(rowlock_held(election), 1);
	assert_true(term_of(election) > 0);
	assert_true(rowlock_remaining_ms(election) > 0);
}

static void assert_leads_not(struct rowlock *election, int code)
{
	uint64_t term = 0;

	assert_int_equal(rowlock_held(election), 0);
	assert_code(rowlock_token(election, &term, &err), code, &err);
	assert_true(term == 0);
	assert_true(rowlock_remaining_ms(election) == 0);
}

static void lead_and_resign(enum rowlock_strategy strategy)
{
	FAKE_CLIENT();
	struct rowlock *election = candidate(client, strategy);
	uint64_t term;

	assert_string_equal(rowlock_name(election), "crown");
	assert_leads_not(election, ROWLOCK_ENOTHELD);
	assert_code(rowlock_release(election, &err), ROWLOCK_ENOTHELD, &err);
	assert_code(rowlock_verify(election, &err), ROWLOCK_ENOTHELD, &err);
	assert_ok(rowlock_acquire(election, 0, &err));
	assert_leads(election);
	assert_ok(rowlock_verify(election, &err));
	term = term_of(election);
	assert_code(rowlock_acquire(election, 0, &err), ROWLOCK_EDEADLOCK,
		    &err);
	assert_code(rowlock_try_free(election, &err), ROWLOCK_EHELD, &err);
	assert_ok(rowlock_release(election, &err));
	assert_leads_not(election, ROWLOCK_ENOTHELD);
	assert_ok(rowlock_acquire(election, ROWLOCK_FOREVER, &err));
	assert_true(term_of(election) > term);
	assert_ok(rowlock_release(election, &err));
	end(election);
}

FAKE("a leader leads until it resigns (lease)")
{
	lead_and_resign(ROWLOCK_LEASE);
}

FAKE("a leader leads until it resigns (row)")
{
	lead_and_resign(ROWLOCK_ROW);
}

FAKE("of two candidates one leads")
{
	FAKE_CLIENT();
	struct rowlock *a = candidate(client, ROWLOCK_LEASE);
	struct rowlock *b = candidate(client, ROWLOCK_LEASE);
	uint64_t term;

	assert_ok(rowlock_acquire(a, 0, &err));
	term = term_of(a);
	assert_code(rowlock_acquire(b, 0, &err), ROWLOCK_EBUSY, &err);
	assert_leads_not(b, ROWLOCK_ENOTHELD);
	assert_ok(rowlock_release(a, &err));
	assert_ok(rowlock_acquire(b, 0, &err));
	assert_leads_not(a, ROWLOCK_ENOTHELD);
	assert_true(term_of(b) > term);
	assert_ok(rowlock_release(b, &err));
	end(a);
	end(b);
}

static void count_loss(struct rowlock *election, void *arg)
{
	_Atomic int *losses = arg;

	if (!rowlock_held(election))
		(*losses)++;
}

static bool is_counted(void *arg)
{
	return *(_Atomic int *) arg > 0;
}

/* It was not heard of for a TTL: it leads no longer by its own clock, is told
 * so, and may stand again. */
FAKE("a leader steps down at its deadline")
{
	FAKE_CLIENT();
	struct rowlock *election = candidate(client, ROWLOCK_LEASE);
	_Atomic int losses = 0;
	uint64_t term;

	rowlock_on_lost(election, count_loss, (void *) &losses);
	assert_ok(rowlock_acquire(election, 0, &err));
	term = term_of(election);
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .skip = true,
						     .result = RLK_UNKNOWN });
	fake_advance(27000);
	assert_leads_not(election, ROWLOCK_ELOST);
	fake_until(is_counted, (void *) &losses);
	assert_code(rowlock_verify(election, &err), ROWLOCK_ELOST, &err);
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = false });
	err = (struct rowlock_errinfo){ .code = 1 };
	fake_lease_remove("crown");
	assert_ok(rowlock_acquire(election, 0, &err));
	/* What a campaign met on its way is no error of it. */
	assert_int_equal(err.code, 1);
	assert_true(term_of(election) > term);
	rowlock_on_lost(election, NULL, NULL);
	assert_ok(rowlock_release(election, &err));
	assert_int_equal(losses, 1);
	end(election);
}

FAKE("a resignation after a loss says so")
{
	FAKE_CLIENT();
	struct rowlock *election = candidate(client, ROWLOCK_LEASE);

	assert_ok(rowlock_acquire(election, 0, &err));
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .skip = true,
						     .result = RLK_UNKNOWN });
	fake_advance(27000);
	assert_code(rowlock_release(election, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_release(election, &err), ROWLOCK_ENOTHELD, &err);
	end(election);
}

/* Elected, but its term could not be drawn: nobody may act without one. */
FAKE("without a term nobody leads")
{
	FAKE_CLIENT();
	struct rowlock *election = candidate(client, ROWLOCK_LEASE);

	fake_always(FAKE_BATCH, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_REFUSED });
	fake_always(FAKE_DRAW, (struct fake_answer){ .given = true,
						     .skip = true,
						     .result = RLK_REFUSED });
	assert_code(rowlock_acquire(election, 0, &err), ROWLOCK_EDB, &err);
	assert_leads_not(election, ROWLOCK_ENOTHELD);
	fake_always(FAKE_BATCH, (struct fake_answer){ .given = false });
	fake_always(FAKE_DRAW, (struct fake_answer){ .given = false });
	assert_ok(rowlock_acquire(election, 0, &err));
	assert_leads(election);
	assert_ok(rowlock_release(election, &err));
	end(election);
}

FAKE("bad candidates are refused")
{
	FAKE_CLIENT();
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *none = NULL;

	assert_code(rowlock_election_new(client, NULL, NULL, &none, &err),
		    ROWLOCK_ENAME, &err);
	lock.strategy = (enum rowlock_strategy) 7;
	options.lock_options = &lock;
	assert_code(rowlock_election_new(client, "a", &options, &none, &err),
		    ROWLOCK_EINVAL, &err);
	lock = (struct rowlock_options){ 0 };
	assert_code(rowlock_election_new(client, "a", &options, &none, &err),
		    ROWLOCK_EINVAL, &err);
	options = (struct rowlock_election_options){ 0 };
	assert_code(rowlock_election_new(client, "a", &options, &none, &err),
		    ROWLOCK_EINVAL, &err);
	assert_null(none);
	assert_ok(rowlock_try_free(NULL, &err));
}

CASE_MAIN(case_main)
