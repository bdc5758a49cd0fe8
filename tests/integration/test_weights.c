// SPDX-License-Identifier: MIT
/*
 * Candidates with a weight on a real server: who is elected of those that wait,
 * who is yielded to, and what it costs.
 */
#include <pthread.h>
#include <string.h>

#include <rowlock/election.h>
#include <rowlock/semaphore.h>

#include "sql.h"
#include "test.h"

#define TTL_MS 10000
#define YIELD_MS 200

/* Rows of candidates; not the leader's. */
#define STANDING "slot BETWEEN 1073741824 AND 2147483647"

/* A candidate with a client of its own, and its campaign. */
struct person {
	struct rowlock_client *client;
	struct rowlock *election;
	struct test_event elected;
	pthread_t thread;
	int code;
	struct rowlock_errinfo err;
};

static void begin(struct person *person, const char *name, int weight)
{
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;

	*person = (struct person){ .client = test_client(TTL_MS),
				   .elected = test_event_new() };
	options.weight = weight;
	options.yield_ms = YIELD_MS;
	assert_ok(rowlock_election_new(person->client, name, &options,
				       &person->election, &err));
}

static void end(struct person *person)
{
	assert_ok(rowlock_try_free(person->election, &err));
	test_event_end(&person->elected);
	test_client_end(person->client);
}

static void *campaign(void *arg)
{
	struct person *person = arg;

	person->code =
	    rowlock_acquire(person->election, ROWLOCK_FOREVER, &person->err);
	test_event_set(&person->elected);
	return NULL;
}

static uint64_t standing(struct test_sql *sql, const char *name)
{
	return test_sql_number(sql,
			       "SELECT COUNT(*) FROM business_lease WHERE "
			       "name = '%s' AND " STANDING,
			       name);
}

/* It stands, if it has a weight. */
static void stand(struct person *person, struct test_sql *sql, const char *name)
{
	uint64_t before = standing(sql, name);
	uint64_t began = test_now_ns();

	assert_int_equal(
	    pthread_create(&person->thread, NULL, campaign, person), 0);
	while (standing(sql, name) == before)
		test_keep_waiting(began, "a candidate of '%s'", name);
}

static void await_elected(struct person *person)
{
	assert_event(&person->elected, "an election");
	pthread_join(person->thread, NULL);
	assert_code(person->code, 0, &person->err);
	assert_int_equal(rowlock_held(person->election), 1);
}

static void lead(struct person *person)
{
	assert_ok(rowlock_acquire(person->election, 0, &err));
}

static void resign(struct person *person)
{
	assert_ok(rowlock_release(person->election, &err));
}

/* One leads, and a heavier one waits. */
static void begin_both(struct person *leader, struct person *heavy,
		       struct test_sql *sql, const char *name)
{
	begin(leader, name, 0);
	begin(heavy, name, 5);
	lead(leader);
	stand(heavy, sql, name);
}

/* The heavier one is elected, and all is over. */
static void let_lead(struct person *leader, struct person *heavy)
{
	resign(leader);
	await_elected(heavy);
	resign(heavy);
	end(leader);
	end(heavy);
}

/* ------------------------------------------------------------- who leads */

static void assert_no_challenger(const struct person *person)
{
	unsigned int weight = 1;
	uint64_t stood_ms;

	assert_ok(rowlock_election_challenger(person->election, &weight,
					      &stood_ms, &err));
	assert_int_equal(weight, 0);
}

/* None yields to the other, nor is the other's challenger. */
CASE("of one weight each leads in its turn")
{
	const char *name = test_name("even");
	TEST_SQL(sql);
	struct person leader, two[2];
	uint64_t began;
	int first;

	begin(&leader, name, 5);
	begin(&two[0], name, 5);
	begin(&two[1], name, 5);
	lead(&leader);
	stand(&two[0], sql, name);
	stand(&two[1], sql, name);
	assert_no_challenger(&leader);
	resign(&leader);
	began = test_now_ns();
	while (!rowlock_held(two[0].election) && !rowlock_held(two[1].election))
		test_keep_waiting(began, "one of two to be elected");
	first = !rowlock_held(two[0].election);
	await_elected(&two[first]);
	assert_int_equal(rowlock_held(two[!first].election), 0);
	assert_int_equal(standing(sql, name), 1);
	assert_no_challenger(&two[first]);
	resign(&two[first]);
	await_elected(&two[!first]);
	resign(&two[!first]);
	end(&leader);
	end(&two[0]);
	end(&two[1]);
}

CASE("the heaviest of those who wait is elected")
{
	const char *name = test_name("weights");
	TEST_SQL(sql);
	struct person leader, light, heavy;

	begin(&leader, name, 0);
	begin(&light, name, 1);
	begin(&heavy, name, 5);
	lead(&leader);
	stand(&light, sql, name);
	stand(&heavy, sql, name);
	resign(&leader);
	await_elected(&heavy);
	assert_int_equal(rowlock_held(light.election), 0);
	assert_int_equal(standing(sql, name), 1);
	resign(&heavy);
	await_elected(&light);
	assert_int_equal(standing(sql, name), 0);
	resign(&light);
	end(&leader);
	end(&light);
	end(&heavy);
}

/* What a list says of a name: how many lead, and how many wait. */
struct told {
	unsigned int leads;
	unsigned int waits;
};

static int tell(const struct rowlock_entry *entry, void *arg)
{
	struct told *told = arg;

	told->leads += entry->state == ROWLOCK_STATE_HELD &&
		       entry->kind == ROWLOCK_KIND_LOCK;
	told->waits += entry->state == ROWLOCK_STATE_WAITING &&
		       entry->kind == ROWLOCK_KIND_CANDIDATE &&
		       strcmp(entry->info, "weight=5") == 0;
	return 0;
}

CASE("a list tells who waits")
{
	const char *name = test_name("list");
	struct rowlock_list_options what = ROWLOCK_LIST_OPTIONS_DEFAULT;
	TEST_SQL(sql);
	struct told told = { 0 };
	struct person leader, heavy;

	begin_both(&leader, &heavy, sql, name);
	what.pattern = name;
	assert_ok(rowlock_list(leader.client, &what, tell, &told, &err));
	assert_int_equal(told.leads, 1);
	assert_int_equal(told.waits, 1);
	let_lead(&leader, &heavy);
}

/* ------------------------------------------------------ whom one yields to */

static void add_candidate(struct test_sql *sql, const char *name,
			  const char *info, int left_s)
{
	test_sql(sql,
		 "INSERT INTO lease_session (id, ttl, expires_at, beat, "
		 "breaks, host, pid, program, started_at) VALUES (4711, 9000, "
		 "UTC_TIMESTAMP(6) + INTERVAL %d SECOND, 0, 0, 'h', 1, 'p', "
		 "UTC_TIMESTAMP(6))",
		 left_s);
	test_sql(sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at, info) VALUES ('%s', 1073741824, 4711, 12, "
		 "UTC_TIMESTAMP(6), '%s')",
		 name, info);
}

static void remove_candidate(struct test_sql *sql, const char *name)
{
	test_sql(sql,
		 "DELETE FROM business_lease WHERE name = '%s' AND " STANDING,
		 name);
	test_sql(sql, "DELETE FROM lease_session WHERE id = 4711");
}

CASE("nobody yields to the dead, or to nonsense")
{
	static const struct {
		const char *info;
		int left_s;
	} cases[] = {
		{ "weight=4", -1 },    { "weight=3", 60 }, { "weight=", 60 },
		{ "weight=4 kg", 60 }, { "4", 60 },        { "", 60 },
		{ "weight=9999", 60 },
	};
	const char *name = test_name("nobody");
	TEST_SQL(sql);
	struct person light;

	begin(&light, name, 3);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		add_candidate(sql, name, cases[i].info, cases[i].left_s);
		lead(&light);
		resign(&light);
		remove_candidate(sql, name);
	}
	end(&light);
}

/* What an observer is told: of each change, the state and the term. */
struct changes {
	struct rowlock_observer *observer;
	struct test_event heard;
	pthread_mutex_t mutex;
	unsigned int count;
	enum rowlock_leader_state states[8];
	uint64_t terms[8];
};

static void hear(const struct rowlock_leader *leader, void *arg)
{
	struct changes *changes = arg;

	pthread_mutex_lock(&changes->mutex);
	if (changes->count < TEST_SIZE(changes->terms)) {
		changes->states[changes->count] = leader->state;
		changes->terms[changes->count] = leader->term;
	}
	changes->count++;
	pthread_mutex_unlock(&changes->mutex);
	test_event_set(&changes->heard);
}

static void observe(struct changes *changes, struct rowlock_client *client,
		    const char *name)
{
	struct rowlock_watch_options options = ROWLOCK_WATCH_OPTIONS_DEFAULT;

	*changes = (struct changes){ .heard = test_event_new() };
	pthread_mutex_init(&changes->mutex, NULL);
	options.interval_ms = 1000;
	assert_ok(rowlock_observer_new(client, name, &options, hear, changes,
				       &changes->observer, &err));
}

static void end_observer(struct changes *changes)
{
	rowlock_observer_free(changes->observer);
	pthread_mutex_destroy(&changes->mutex);
	test_event_end(&changes->heard);
}

/* A new observer makes its client ask at once, for all of them: those before it
 * are told first. */
static void ask_now(struct rowlock_client *client, const char *name,
		    enum rowlock_leader_state state, uint64_t term)
{
	struct changes changes;

	observe(&changes, client, name);
	assert_event(&changes.heard, "an observer to be told");
	assert_int_equal(changes.states[0], state);
	assert_true(changes.terms[0] == term);
	end_observer(&changes);
}

/* One takes the lock and gives it back: it has led at no time. */
CASE("observers are told of those that led")
{
	const char *name = test_name("observed");
	TEST_SQL(sql);
	TEST_CLIENT(client, test_client(TTL_MS));
	struct person light, heavy;
	struct changes changes;
	uint64_t term;

	begin(&light, name, 3);
	begin(&heavy, name, 5);
	observe(&changes, client, name);
	assert_event(&changes.heard, "an observer to be told");
	add_candidate(sql, name, "weight=4", 60);
	assert_code(rowlock_acquire(light.election, 0, &err), ROWLOCK_EBUSY,
		    &err);
	ask_now(client, name, ROWLOCK_LEADER_NONE, 0);
	lead(&heavy);
	term = test_term(heavy.election);
	ask_now(client, name, ROWLOCK_LEADER_PRESENT, term);
	resign(&heavy);
	assert_code(rowlock_acquire(light.election, 0, &err), ROWLOCK_EBUSY,
		    &err);
	ask_now(client, name, ROWLOCK_LEADER_NONE, term);
	pthread_mutex_lock(&changes.mutex);
	assert_int_equal(changes.count, 3);
	assert_true(changes.terms[0] == 0);
	assert_int_equal(changes.states[1], ROWLOCK_LEADER_PRESENT);
	assert_true(changes.terms[1] == term);
	assert_true(changes.terms[2] == term);
	pthread_mutex_unlock(&changes.mutex);
	end_observer(&changes);
	remove_candidate(sql, name);
	end(&light);
	end(&heavy);
}

/* The same name may have permits, too. */
CASE("candidates are no permits")
{
	const char *name = test_name("permits");
	TEST_SQL(sql);
	struct person leader, heavy;
	unsigned int permits, used;

	begin_both(&leader, &heavy, sql, name);
	assert_ok(rowlock_semaphore_resize(leader.client, name, 3, &err));
	assert_ok(rowlock_semaphore_count(leader.client, name, &permits, &used,
					  &err));
	assert_int_equal(permits, 3);
	assert_int_equal(used, 0);
	let_lead(&leader, &heavy);
}

/* ------------------------------------------------------------------ cost */

CASE_MAIN(test_main)
