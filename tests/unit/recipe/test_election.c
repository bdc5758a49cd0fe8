/* SPDX-License-Identifier: MIT */
/*
 * Candidates: who leads, in which term, and until when.
 */
#include "fake/fake.h"

#include <rowlock/election.h>
#include <stdatomic.h>
#include <string.h>

#include "test.h"

static struct rowlock_election *candidate(struct rowlock_client *client,
					  enum rowlock_strategy strategy)
{
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;
	struct rowlock_election *election = NULL;
	struct rowlock_errinfo err;

	options.strategy = strategy;
	assert_ok(
	    rowlock_election_new(client, "crown", &options, &election, &err));
	return election;
}

static void end(struct rowlock_election *election)
{
	struct rowlock_errinfo err;

	assert_ok(rowlock_election_free(election, &err));
}

static void assert_leads(struct rowlock_election *election)
{
	assert_int_equal(rowlock_election_is_leader(election), 1);
	assert_true(rowlock_election_term(election) > 0);
	assert_true(rowlock_election_remaining_ms(election) > 0);
}

static void assert_leads_not(struct rowlock_election *election)
{
	assert_int_equal(rowlock_election_is_leader(election), 0);
	assert_true(rowlock_election_term(election) == 0);
	assert_true(rowlock_election_remaining_ms(election) == 0);
}

static void lead_and_resign(enum rowlock_strategy strategy)
{
	struct rowlock_client *client = fake_client();
	struct rowlock_election *election = candidate(client, strategy);
	struct rowlock_errinfo err;
	uint64_t term;

	assert_string_equal(rowlock_election_name(election), "crown");
	assert_leads_not(election);
	assert_code(rowlock_election_resign(election, &err), ROWLOCK_ENOTHELD,
		    &err);
	assert_code(rowlock_election_verify(election, &err), ROWLOCK_ENOTHELD,
		    &err);
	assert_ok(rowlock_election_campaign(election, 0, &err));
	assert_leads(election);
	assert_ok(rowlock_election_verify(election, &err));
	term = rowlock_election_term(election);
	assert_code(rowlock_election_campaign(election, 0, &err),
		    ROWLOCK_EDEADLOCK, &err);
	assert_code(rowlock_election_free(election, &err), ROWLOCK_EHELD, &err);
	assert_ok(rowlock_election_resign(election, &err));
	assert_leads_not(election);
	assert_ok(rowlock_election_campaign(election, ROWLOCK_FOREVER, &err));
	assert_true(rowlock_election_term(election) > term);
	assert_ok(rowlock_election_resign(election, &err));
	end(election);
	fake_client_end(client);
}

static void leader_leads_until_it_resigns_lease(void **state)
{
	(void) state;
	lead_and_resign(ROWLOCK_LEASE);
}

static void leader_leads_until_it_resigns_row(void **state)
{
	(void) state;
	lead_and_resign(ROWLOCK_ROW);
}

static void of_two_candidates_one_leads(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock_election *a = candidate(client, ROWLOCK_LEASE);
	struct rowlock_election *b = candidate(client, ROWLOCK_LEASE);
	struct rowlock_errinfo err;
	uint64_t term;

	(void) state;
	assert_ok(rowlock_election_campaign(a, 0, &err));
	term = rowlock_election_term(a);
	assert_code(rowlock_election_campaign(b, 0, &err), ROWLOCK_EBUSY, &err);
	assert_leads_not(b);
	assert_ok(rowlock_election_resign(a, &err));
	assert_ok(rowlock_election_campaign(b, 0, &err));
	assert_leads_not(a);
	assert_true(rowlock_election_term(b) > term);
	assert_ok(rowlock_election_resign(b, &err));
	end(a);
	end(b);
	fake_client_end(client);
}

static void count_loss(struct rowlock_election *election, void *arg)
{
	_Atomic int *losses = arg;

	if (!rowlock_election_is_leader(election))
		(*losses)++;
}

static bool is_counted(void *arg)
{
	return *(_Atomic int *) arg > 0;
}

/* It was not heard of for a TTL: it leads no longer by its own clock, is told
 * so, and may stand again. */
static void leader_steps_down_at_its_deadline(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock_election *election = candidate(client, ROWLOCK_LEASE);
	_Atomic int losses = 0;
	struct rowlock_errinfo err;
	uint64_t term;

	(void) state;
	rowlock_election_on_lost(election, count_loss, (void *) &losses);
	assert_ok(rowlock_election_campaign(election, 0, &err));
	term = rowlock_election_term(election);
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .skip = true,
						     .result = RLK_UNKNOWN });
	fake_advance(27000);
	assert_leads_not(election);
	fake_until(is_counted, (void *) &losses);
	assert_code(rowlock_election_verify(election, &err), ROWLOCK_ELOST,
		    &err);
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = false });
	err = (struct rowlock_errinfo){ .code = 1 };
	fake_lease_remove("crown");
	assert_ok(rowlock_election_campaign(election, 0, &err));
	/* What a campaign met on its way is no error of it. */
	assert_int_equal(err.code, 1);
	assert_true(rowlock_election_term(election) > term);
	rowlock_election_on_lost(election, NULL, NULL);
	assert_ok(rowlock_election_resign(election, &err));
	assert_int_equal(losses, 1);
	end(election);
	fake_client_end(client);
}

static void resignation_after_a_loss_says_so(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock_election *election = candidate(client, ROWLOCK_LEASE);
	struct rowlock_errinfo err;

	(void) state;
	assert_ok(rowlock_election_campaign(election, 0, &err));
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .skip = true,
						     .result = RLK_UNKNOWN });
	fake_advance(27000);
	assert_code(rowlock_election_resign(election, &err), ROWLOCK_ELOST,
		    &err);
	assert_code(rowlock_election_resign(election, &err), ROWLOCK_ENOTHELD,
		    &err);
	end(election);
	fake_client_end(client);
}

/* Elected, but its term could not be drawn: nobody may act without one. */
static void without_a_term_nobody_leads(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock_election *election = candidate(client, ROWLOCK_LEASE);
	struct rowlock_errinfo err;

	(void) state;
	fake_always(FAKE_BATCH, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_REFUSED });
	fake_always(FAKE_DRAW, (struct fake_answer){ .given = true,
						     .skip = true,
						     .result = RLK_REFUSED });
	assert_code(rowlock_election_campaign(election, 0, &err), ROWLOCK_EDB,
		    &err);
	assert_leads_not(election);
	fake_always(FAKE_BATCH, (struct fake_answer){ .given = false });
	fake_always(FAKE_DRAW, (struct fake_answer){ .given = false });
	assert_ok(rowlock_election_campaign(election, 0, &err));
	assert_leads(election);
	assert_ok(rowlock_election_resign(election, &err));
	end(election);
	fake_client_end(client);
}

static void campaign_can_be_canceled(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock_election *election = candidate(client, ROWLOCK_LEASE);
	struct rowlock_errinfo err;

	(void) state;
	rowlock_election_cancel(election);
	assert_code(rowlock_election_campaign(election, ROWLOCK_FOREVER, &err),
		    ROWLOCK_ECANCELED, &err);
	end(election);
	fake_client_end(client);
}

static void bad_candidates_are_refused(void **state)
{
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;
	struct rowlock_client *client = fake_client();
	struct rowlock_election *none = NULL;
	struct rowlock_errinfo err;

	(void) state;
	assert_code(rowlock_election_new(client, NULL, NULL, &none, &err),
		    ROWLOCK_ENAME, &err);
	options.strategy = (enum rowlock_strategy) 7;
	assert_code(rowlock_election_new(client, "a", &options, &none, &err),
		    ROWLOCK_EINVAL, &err);
	options = (struct rowlock_election_options){ 0 };
	assert_code(rowlock_election_new(client, "a", &options, &none, &err),
		    ROWLOCK_EINVAL, &err);
	assert_null(none);
	assert_ok(rowlock_election_free(NULL, &err));
	fake_client_end(client);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		FAKE("a leader leads until it resigns (lease)",
		     leader_leads_until_it_resigns_lease),
		FAKE("a leader leads until it resigns (row)",
		     leader_leads_until_it_resigns_row),
		FAKE("of two candidates one leads",
		     of_two_candidates_one_leads),
		FAKE("a leader steps down at its deadline",
		     leader_steps_down_at_its_deadline),
		FAKE("a resignation after a loss says so",
		     resignation_after_a_loss_says_so),
		FAKE("without a term nobody leads",
		     without_a_term_nobody_leads),
		FAKE("a campaign can be canceled", campaign_can_be_canceled),
		FAKE("bad candidates are refused", bad_candidates_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
