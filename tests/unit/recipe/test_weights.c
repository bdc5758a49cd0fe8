/* SPDX-License-Identifier: MIT */
/*
 * Candidates with a weight: who is elected, who yields, and for how long.
 */
#include "fake/fake.h"

#include <pthread.h>
#include <rowlock/election.h>
#include <stdatomic.h>

#include "core/overrun.h"
#include "test.h"

#define YIELD_MS 1000

struct scene {
	struct rowlock_client *client;
	struct rowlock *election;
};

/* Whose client stands in line on so many connections. */
static struct scene scene_with(unsigned int weight,
			       unsigned int wait_connections)
{
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;
	struct rowlock_client_options like = fake_options();
	struct scene scene = { 0 };

	if (wait_connections)
		like.flags ^= ROWLOCK_POLL;
	like.wait_connections = wait_connections;
	scene.client = fake_client_with(&like);

	options.weight = weight;
	options.yield_ms = YIELD_MS;
	assert_ok(rowlock_election_new(scene.client, "crown", &options,
				       &scene.election, &err));
	return scene;
}

static struct scene scene(unsigned int weight)
{
	return scene_with(weight, 0);
}

static void end(struct scene *scene)
{
	assert_ok(rowlock_try_free(scene->election, &err));
	fake_client_end(scene->client);
}

/* A campaign on a thread of its own. */
struct campaign {
	struct rowlock *election;
	uint64_t wait_ms;
	int code;
	struct rowlock_errinfo err;
	_Atomic int done;
	pthread_t thread;
};

static void *run(void *arg)
{
	struct campaign *campaign = arg;

	campaign->code = rowlock_acquire(campaign->election, campaign->wait_ms,
					 &campaign->err);
	atomic_store(&campaign->done, 1);
	return NULL;
}

static void begin(struct campaign *campaign, struct scene *scene,
		  uint64_t wait_ms)
{
	*campaign = (struct campaign){ .election = scene->election,
				       .wait_ms = wait_ms };
	assert_int_equal(pthread_create(&campaign->thread, NULL, run, campaign),
			 0);
}

/* While somebody else leads. */
static void begin_behind(struct campaign *campaign, struct scene *scene,
			 uint64_t wait_ms)
{
	fake_session_add(7);
	fake_lease_add("crown", 70, 7);
	begin(campaign, scene, wait_ms);
}

static int hear(struct campaign *campaign)
{
	fake_pass_until(fake_is_one, (void *) &campaign->done);
	pthread_join(campaign->thread, NULL);
	return campaign->code;
}

static void resign(struct scene *scene)
{
	assert_ok(rowlock_release(scene->election, &err));
}

/* ------------------------------------------------------------------ cost */

FAKE("a free name costs one look more")
{
	_cleanup_(end) struct scene heavy = scene(10);

	assert_ok(rowlock_acquire(heavy.election, 0, &err));
	assert_int_equal(fake_count(FAKE_HEAVIEST), 1);
	assert_int_equal(fake_call(FAKE_HEAVIEST, 0).id, 10);
	assert_int_equal(fake_count(FAKE_STAND), 0);
	assert_int_equal(fake_count(FAKE_LEAVE), 0);
	resign(&heavy);
}

FAKE("who has no weight asks for none")
{
	_cleanup_(end) struct scene plain = scene(0);

	fake_stand(900);
	assert_ok(rowlock_acquire(plain.election, 0, &err));
	assert_int_equal(fake_count(FAKE_HEAVIEST), 0);
	resign(&plain);
}

/* ------------------------------------------------------------------ stand */

FAKE("who waits stands with its weight")
{
	_cleanup_(end) struct scene heavy = scene(10);
	struct campaign campaign;

	begin_behind(&campaign, &heavy, ROWLOCK_FOREVER);
	fake_pass_await(FAKE_STAND, 1);
	assert_string_equal(fake_call(FAKE_STAND, 0).name, "weight=10");
	fake_lease_remove("crown");
	assert_int_equal(hear(&campaign), 0);
	assert_int_equal(fake_count(FAKE_LEAVE), 1);
	resign(&heavy);
}

/* Its row is lost with its session, while another goes on to lead. */
FAKE("who loses its row stands again")
{
	_cleanup_(end) struct scene heavy = scene(10);
	struct campaign campaign;

	begin_behind(&campaign, &heavy, ROWLOCK_FOREVER);
	fake_session_prolong(7, 3600000);
	fake_pass_await(FAKE_STAND, 1);
	fake_session_remove(fake_call(FAKE_STAND, 0).id);
	fake_pass_await(FAKE_STAND, 2);
	assert_string_equal(fake_call(FAKE_STAND, 1).name, "weight=10");
	assert_true(fake_call(FAKE_STAND, 1).id != fake_call(FAKE_STAND, 0).id);
	assert_true(fake_call(FAKE_STAND, 1).attempt !=
		    fake_call(FAKE_STAND, 0).attempt);
	fake_lease_remove("crown");
	assert_int_equal(hear(&campaign), 0);
	assert_int_equal(rowlock_held(heavy.election), 1);
	resign(&heavy);
}

/* Nobody waits for it; and a name's other bells are not its own. */
FAKE("its row takes no bell")
{
	_cleanup_(end) struct scene heavy = scene_with(10, 4);
	struct campaign campaign;

	begin_behind(&campaign, &heavy, ROWLOCK_FOREVER);
	fake_pass_await(FAKE_STAND, 1);
	assert_false(fake_call(FAKE_STAND, 0).bell);
	fake_lease_remove("crown");
	assert_int_equal(hear(&campaign), 0);
	resign(&heavy);
}

FAKE("a weight of 0 needs no row")
{
	_cleanup_(end) struct scene light = scene(0);
	struct campaign campaign;

	begin_behind(&campaign, &light, 200);
	assert_code(hear(&campaign), ROWLOCK_ETIMEDOUT, &campaign.err);
	assert_int_equal(fake_count(FAKE_STAND), 0);
}

/* The wait is made of parts. */
FAKE("a part without an answer is not the end")
{
	_cleanup_(end) struct scene heavy = scene(10);
	struct campaign campaign;

	for (int i = 0; i < 2; i++)
		fake_next(FAKE_GET,
			  (struct fake_answer){ .given = true,
						.result = ROWLOCK_ECONNECT,
						.ms = 40 });
	begin(&campaign, &heavy, 5000);
	assert_int_equal(hear(&campaign), 0);
	assert_int_equal(rowlock_held(heavy.election), 1);
	resign(&heavy);
}

/* The leader goes while it stands. */
FAKE("its row leaves the last part its time")
{
	_cleanup_(end) struct scene heavy = scene(10);
	struct campaign campaign;

	fake_next(FAKE_STAND, (struct fake_answer){ .wait = true });
	begin_behind(&campaign, &heavy, 200);
	fake_pass_await(FAKE_STAND, 1);
	fake_lease_remove("crown");
	assert_int_equal(hear(&campaign), 0);
	resign(&heavy);
}

static int64_t time_of(uint64_t wait_ms)
{
	struct scene heavy = scene(10);
	struct campaign campaign;
	int64_t began = fake_now();

	fake_next(FAKE_HEAVIEST, (struct fake_answer){ .wait = true });
	begin(&campaign, &heavy, wait_ms);
	assert_int_equal(hear(&campaign), 0);
	began = fake_now() - began;
	resign(&heavy);
	end(&heavy);
	return began;
}

FAKE("a look lasts no longer than a call, or the wait")
{
	assert_in_range(time_of(300), 300, 300 + RLK_OVERRUN_MS);
	assert_in_range(time_of(ROWLOCK_FOREVER), 5000, 5000 + RLK_OVERRUN_MS);
}

/* ------------------------------------------------------------------ yield */

FAKE("a try yields to a heavier one")
{
	_cleanup_(end) struct scene light = scene(10);

	fake_stand(11);
	assert_code(rowlock_acquire(light.election, 0, &err), ROWLOCK_EBUSY,
		    &err);
	assert_non_null(strstr(err.message, "larger weight"));
	assert_true(fake_lease("crown") == 0);
	assert_int_equal(rowlock_held(light.election), 0);
	/* It had no term, of which others would hear. */
	assert_int_equal(fake_count(FAKE_DRAW), 0);
	fake_stand(10);
	assert_ok(rowlock_acquire(light.election, 0, &err));
	assert_int_equal(fake_count(FAKE_DRAW), 1);
	resign(&light);
}

/* The heavier one beats, and does not take what it is yielded to. */
FAKE("it yields for a bounded time")
{
	_cleanup_(end) struct scene light = scene(10);
	struct campaign campaign;
	int64_t began = fake_now();

	fake_stand(11);
	begin(&campaign, &light, ROWLOCK_FOREVER);
	assert_int_equal(hear(&campaign), 0);
	assert_true(fake_now() - began >= YIELD_MS);
	assert_true(fake_count(FAKE_HEAVIEST) > 1);
	assert_int_equal(rowlock_held(light.election), 1);
	resign(&light);
}

FAKE("who yields waits no longer than it may")
{
	_cleanup_(end) struct scene light = scene(10);
	struct campaign campaign;
	int64_t began = fake_now();

	fake_stand(11);
	begin(&campaign, &light, 300);
	assert_code(hear(&campaign), ROWLOCK_ETIMEDOUT, &campaign.err);
	assert_non_null(strstr(campaign.err.message, "'crown'"));
	assert_true(fake_now() - began >= 300);
	assert_true(fake_lease("crown") == 0);
}

FAKE("who yields can be canceled")
{
	_cleanup_(end) struct scene light = scene(10);
	struct campaign campaign;

	fake_stand(11);
	begin(&campaign, &light, ROWLOCK_FOREVER);
	fake_await(FAKE_HEAVIEST, 1);
	rowlock_cancel(light.election);
	assert_code(hear(&campaign), ROWLOCK_ECANCELED, &campaign.err);
}

/* The grant that it yields is on its way when the cancel comes. */
FAKE("a candidate can be canceled before it yields")
{
	_cleanup_(end) struct scene light = scene(10);
	struct campaign campaign;

	fake_stand(11);
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true });
	begin(&campaign, &light, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	rowlock_cancel(light.election);
	fake_let(FAKE_ACQUIRE);
	assert_code(hear(&campaign), ROWLOCK_ECANCELED, &campaign.err);
}

/* It asks who stands, and has it. */
FAKE("a cancel that comes behind the grant is forgotten")
{
	_cleanup_(end) struct scene heavy = scene(10);
	struct campaign campaign;

	fake_next(FAKE_HEAVIEST, (struct fake_answer){ .wait = true });
	begin(&campaign, &heavy, ROWLOCK_FOREVER);
	fake_await(FAKE_HEAVIEST, 1);
	rowlock_cancel(heavy.election);
	fake_let(FAKE_HEAVIEST);
	assert_int_equal(hear(&campaign), 0);
	resign(&heavy);
	assert_ok(rowlock_acquire(heavy.election, 0, &err));
	resign(&heavy);
	/* Nor does one that comes before reach the next campaign. */
	assert_int_equal(rowlock_cancel(heavy.election), 0);
	assert_ok(rowlock_acquire(heavy.election, 0, &err));
	resign(&heavy);
}

FAKE("an answer that does not come is nobody's")
{
	_cleanup_(end) struct scene light = scene(10);

	fake_stand(11);
	fake_next(FAKE_HEAVIEST,
		  (struct fake_answer){ .given = true, .result = RLK_UNKNOWN });
	assert_ok(rowlock_acquire(light.election, 0, &err));
	resign(&light);
}

static void count(struct rowlock *election, void *arg)
{
	(void) election;
	++*(_Atomic int *) arg;
}

/* It is asked who stands, and all that is lost meanwhile. */
FAKE("a loss before its return is told to nobody")
{
	const struct fake_answer silence = { .given = true,
					     .skip = true,
					     .result = RLK_PENDING };
	_cleanup_(end) struct scene heavy = scene(10);
	struct campaign campaign;
	_Atomic int losses = 0;

	rowlock_on_lost(heavy.election, count, (void *) &losses);
	fake_always(FAKE_BEAT, silence);
	fake_next(FAKE_HEAVIEST, (struct fake_answer){ .wait = true });
	begin(&campaign, &heavy, ROWLOCK_FOREVER);
	fake_await(FAKE_HEAVIEST, 1);
	fake_creep(30000);
	fake_always(FAKE_BEAT, (struct fake_answer){ 0 });
	fake_let(FAKE_HEAVIEST);
	assert_int_equal(hear(&campaign), 0);
	assert_int_equal(rowlock_held(heavy.election), 1);
	assert_true(fake_count(FAKE_HEAVIEST) > 1);
	assert_int_equal(losses, 0);
	resign(&heavy);
}

/* ------------------------------------------------------------- challenger */

FAKE("a leader is told of a heavier candidate")
{
	_cleanup_(end) struct scene light = scene(10);
	unsigned int weight = 1;
	uint64_t stood_ms = 1;

	assert_ok(rowlock_acquire(light.election, 0, &err));
	fake_stand(10);
	assert_ok(rowlock_election_challenger(light.election, &weight,
					      &stood_ms, &err));
	assert_int_equal(weight, 0);
	assert_true(stood_ms == 0);
	fake_stand(11);
	assert_ok(rowlock_election_challenger(light.election, &weight,
					      &stood_ms, &err));
	assert_int_equal(weight, 11);
	assert_true(stood_ms == 4000);
	fake_next(FAKE_HEAVIEST,
		  (struct fake_answer){ .given = true, .result = RLK_UNKNOWN });
	assert_code(rowlock_election_challenger(light.election, &weight,
						&stood_ms, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_non_null(strstr(err.message, "crown"));
	resign(&light);
}

FAKE("no other weight is taken")
{
	FAKE_CLIENT();
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *election;

	options.weight = ROWLOCK_WEIGHT_MAX + 1;
	assert_code(
	    rowlock_election_new(client, "crown", &options, &election, &err),
	    ROWLOCK_EINVAL, &err);
	options.weight = -2;
	assert_code(
	    rowlock_election_new(client, "crown", &options, &election, &err),
	    ROWLOCK_EINVAL, &err);
	options.weight = 1;
	options.yield_ms = 3600001;
	assert_code(
	    rowlock_election_new(client, "crown", &options, &election, &err),
	    ROWLOCK_EINVAL, &err);
	options.yield_ms = 0;
	lock.strategy = ROWLOCK_ROW;
	options.lock_options = &lock;
	assert_code(
	    rowlock_election_new(client, "crown", &options, &election, &err),
	    ROWLOCK_EUNSUPPORTED, &err);
}

CASE_MAIN(case_main)
