// SPDX-License-Identifier: MIT
/*
 * An election on a real server: what candidates and observers see of it, and
 * what it costs.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rowlock/election.h>

#include "sql.h"
#include "test.h"

#define INTERVAL_MS 100

/* What an observer was told last. */
struct seen {
	struct test_event event;
	_Atomic unsigned int told;
	_Atomic enum rowlock_leader_state state;
	_Atomic uint64_t term;
	_Atomic unsigned int pid;
	char info[64];
	char since[64];
};

static void see(const struct rowlock_leader *leader, void *arg)
{
	struct seen *seen = arg;

	snprintf(seen->info, sizeof(seen->info), "%s", leader->info);
	snprintf(seen->since, sizeof(seen->since), "%s", leader->since);
	seen->state = leader->state;
	seen->term = leader->term;
	seen->pid = leader->pid;
	seen->told++;
	test_event_set(&seen->event);
}

static void await_state(struct seen *seen, enum rowlock_leader_state state,
			uint64_t term)
{
	while (seen->state != state || seen->term != term)
		assert_event(&seen->event,
			     "state %d in term %llu; last it was %d in %llu",
			     (int) state, (unsigned long long) term,
			     (int) seen->state,
			     (unsigned long long) seen->term);
}

static struct rowlock_observer *observe(struct rowlock_client *client,
					const char *name, struct seen *seen)
{
	struct rowlock_watch_options options = ROWLOCK_WATCH_OPTIONS_DEFAULT;
	struct rowlock_observer *observer = NULL;

	*seen = (struct seen){ .event = test_event_new() };
	options.interval_ms = INTERVAL_MS;
	assert_ok(rowlock_observer_new(client, name, &options, see, seen,
				       &observer, &err));
	assert_event(&seen->event, "what is known at first");
	return observer;
}

static void end_observer(struct rowlock_observer *observer, struct seen *seen)
{
	rowlock_observer_free(observer);
	test_event_end(&seen->event);
}

static struct rowlock *candidate(struct rowlock_client *client,
				 const char *name,
				 enum rowlock_strategy strategy,
				 const char *info)
{
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *election = NULL;

	options.lock_options = &lock;
	lock.strategy = strategy;
	lock.info = info;
	assert_ok(
	    rowlock_election_new(client, name, &options, &election, &err));
	return election;
}

static void end_candidate(struct rowlock *election)
{
	assert_ok(rowlock_try_free(election, &err));
}

CASE("an observer is told of each leader")
{
	TEST_CLIENT(client, test_client(test_ttl_ms(10000)));
	TEST_CLIENT(other, test_client(test_ttl_ms(10000)));
	const char *name = test_name("crown");
	struct rowlock *a =
	    candidate(client, name, ROWLOCK_LEASE, "10.0.0.1:80");
	struct rowlock *b =
	    candidate(other, name, ROWLOCK_LEASE, "10.0.0.2:80");
	struct rowlock_observer *observer;
	struct seen seen;
	uint64_t term;

	observer = observe(other, name, &seen);
	assert_int_equal(seen.state, ROWLOCK_LEADER_NONE);
	assert_true(seen.term == 0);
	assert_ok(rowlock_acquire(a, 0, &err));
	term = test_term(a);
	await_state(&seen, ROWLOCK_LEADER_PRESENT, term);
	assert_string_equal(seen.info, "10.0.0.1:80");
	assert_int_equal(seen.pid, getpid());
	assert_int_equal(strlen(seen.since),
			 strlen("2026-11-20 12:00:00.000000"));
	assert_code(rowlock_acquire(b, 0, &err), ROWLOCK_EBUSY, &err);
	assert_ok(rowlock_release(a, &err));
	await_state(&seen, ROWLOCK_LEADER_NONE, term);
	assert_ok(rowlock_acquire(b, ROWLOCK_FOREVER, &err));
	assert_true(test_term(b) > term);
	await_state(&seen, ROWLOCK_LEADER_PRESENT, test_term(b));
	assert_string_equal(seen.info, "10.0.0.2:80");
	/* Whoever comes later is told what is. */
	end_observer(observer, &seen);
	observer = observe(client, name, &seen);
	await_state(&seen, ROWLOCK_LEADER_PRESENT, test_term(b));
	assert_int_equal(seen.told, 1);
	assert_ok(rowlock_release(b, &err));
	end_observer(observer, &seen);
	end_candidate(a);
	end_candidate(b);
}

/* As if it had been elected forty days ago. */
static uint64_t make_old(struct test_sql *sql, const char *name)
{
	test_sql(sql,
		 "UPDATE lock_token SET token = token - 3456000000000, "
		 "drawn_at = drawn_at - INTERVAL 40 DAY WHERE name = '%s'",
		 name);
	return test_sql_number(
	    sql, "SELECT token FROM lock_token WHERE name = '%s'", name);
}

/* A client looks for old ones once in an hour, the first time at once. */
static void collect_tokens(void)
{
	TEST_CLIENT(client, test_client(60000));

	assert_ok(rowlock_reap(client, NULL, NULL, &err));
}

/* Its term is collected before the observer looks again. */
CASE("the end of a long reign is told")
{
	struct rowlock_watch_options options = ROWLOCK_WATCH_OPTIONS_DEFAULT;
	TEST_CLIENT(client, test_client(test_ttl_ms(10000)));
	const char *name = test_name("long");
	struct rowlock *election = candidate(client, name, ROWLOCK_LEASE, NULL);
	struct rowlock_observer *observer = NULL;
	struct rowlock_observer *other;
	TEST_SQL(sql);
	struct seen seen = { .event = test_event_new() };
	struct seen others;
	uint64_t term;

	assert_ok(rowlock_acquire(election, 0, &err));
	term = make_old(sql, name);
	options.interval_ms = 3600000;
	assert_ok(rowlock_observer_new(client, name, &options, see, &seen,
				       &observer, &err));
	await_state(&seen, ROWLOCK_LEADER_PRESENT, term);
	assert_ok(rowlock_release(election, &err));
	end_candidate(election);
	collect_tokens();
	assert_int_equal(
	    test_sql_number(
		sql, "SELECT COUNT(*) FROM lock_token WHERE name = '%s'", name),
	    0);
	/* A new one has all of the client's looked after. */
	other = observe(client, name, &others);
	assert_int_equal(others.state, ROWLOCK_LEADER_NONE);
	assert_int_equal(seen.state, ROWLOCK_LEADER_NONE);
	assert_true(seen.term == term);
	end_observer(other, &others);
	end_observer(observer, &seen);
}

static void note_loss(struct rowlock *election, void *arg)
{
	(void) election;
	test_event_set(arg);
}

static void broken_leader_is_told(enum rowlock_strategy strategy)
{
	TEST_EVENT(lost);
	TEST_CLIENT(client, test_client(test_ttl_ms(10000)));
	const char *name = test_name("broken");
	struct rowlock *election = candidate(client, name, strategy, NULL);
	uint64_t term;

	rowlock_on_lost(election, note_loss, &lost);
	assert_ok(rowlock_acquire(election, 0, &err));
	term = test_term(election);
	assert_ok(rowlock_break(client, strategy, name, &err));
	assert_code(rowlock_verify(election, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(rowlock_held(election), 0);
	assert_event(&lost, "the lost callback");
	assert_ok(rowlock_acquire(election, 0, &err));
	assert_true(test_term(election) > term);
	assert_ok(rowlock_release(election, &err));
	end_candidate(election);
}

CASE("a leader that was broken is told (lease)")
{
	broken_leader_is_told(ROWLOCK_LEASE);
}

CASE("a leader that was broken is told (row)")
{
	broken_leader_is_told(ROWLOCK_ROW);
}

static bool has_nothing(struct rowlock_client *client, struct rowlock *election,
			struct rowlock_observer *observer)
{
	struct rowlock *other = NULL;
	struct rowlock_observer *another = NULL;
	unsigned int weight;
	uint64_t stood_ms;

	rowlock_cancel(election);
	rowlock_on_lost(election, NULL, NULL);
	rowlock_free(election);
	rowlock_observer_free(observer);
	return rowlock_held(election) == 0 && test_term(election) == 0 &&
	       rowlock_remaining_ms(election) == 0 &&
	       rowlock_acquire(election, 0, NULL) == ROWLOCK_EFORKED &&
	       rowlock_verify(election, NULL) == ROWLOCK_EFORKED &&
	       rowlock_election_challenger(election, &weight, &stood_ms,
					   NULL) == ROWLOCK_EFORKED &&
	       rowlock_release(election, NULL) == ROWLOCK_EFORKED &&
	       rowlock_try_free(election, NULL) == ROWLOCK_EFORKED &&
	       rowlock_election_new(client, "a", NULL, &other, NULL) ==
		   ROWLOCK_EFORKED &&
	       rowlock_observer_new(client, "a", NULL, see, NULL, &another,
				    NULL) == ROWLOCK_EFORKED;
}

static void a_child_of_fork_has_nothing_of_it(enum rowlock_strategy strategy,
					      unsigned int weight)
{
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	TEST_CLIENT(client, test_client(test_ttl_ms(10000)));
	const char *name = test_name("fork");
	struct rowlock *election = NULL;
	struct rowlock_observer *observer;
	struct seen seen;
	int status;
	pid_t pid;

	options.lock_options = &lock;
	lock.strategy = strategy;
	options.weight = weight;
	assert_ok(
	    rowlock_election_new(client, name, &options, &election, &err));
	assert_ok(rowlock_acquire(election, 0, &err));
	observer = observe(client, name, &seen);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(has_nothing(client, election, observer) ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ok(rowlock_verify(election, &err));
	assert_ok(rowlock_release(election, &err));
	end_observer(observer, &seen);
	end_candidate(election);
}

CASE("a child of fork() has nothing of a leader")
{
	a_child_of_fork_has_nothing_of_it(ROWLOCK_LEASE, 0);
	a_child_of_fork_has_nothing_of_it(ROWLOCK_LEASE, 5);
	a_child_of_fork_has_nothing_of_it(ROWLOCK_ROW, 0);
}

CASE_MAIN(test_main)
