// SPDX-License-Identifier: MIT
/*
 * Candidates are processes; whoever leads is killed, stopped for longer than
 * its TTL, or resigns. Never do two lead by rowlock_held(), terms
 * follow each other, and an observer is told of them in that order.
 *
 *     test_reigns [KILLS [TTL_MS]]    4 and 1000 by default; half as many are
 * stopped
 *
 * A candidate writes into memory that all share what it has seen of itself: it
 * leads in a term from after the first call that said so until before the last.
 * So nobody is accused for what lies between a call and its return.
 *
 * How long a name is without a leader after one was killed is reported, and
 * judged only with ROWLOCK_TEST_JUDGE_TIME: the machine may be busy.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rowlock/election.h>

#include "test.h"

#define CANDIDATES 5
#define REIGNS 2000
#define WAIT_MS 1000

static unsigned int kills = 4;
static unsigned int ttl_ms = 1000;

/* One leadership. */
struct reign {
	_Atomic uint64_t term; /* 0: not begun */
	_Atomic uint64_t from_ns;
	_Atomic uint64_t to_ns; /* grows while it lasts */
	_Atomic pid_t pid;
};

struct shared {
	_Atomic unsigned int count;
	struct reign reigns[REIGNS];
	_Atomic bool over;
	char name[64];
};

static struct shared *shared;
static int elected_fd; /* an eventfd: counts who was elected */

/* --------------------------------------------------------- a candidate */

static void nap(long us)
{
	const struct timespec time = { 0, us * 1000 };

	nanosleep(&time, NULL);
}

static void reign(struct rowlock *election)
{
	uint64_t term = test_term(election);
	struct reign *mine;

	if (!term)
		return;
	mine = &shared->reigns[atomic_fetch_add(&shared->count, 1)];
	mine->pid = getpid();
	mine->from_ns = test_now_ns();
	mine->to_ns = mine->from_ns;
	mine->term = term;
	eventfd_write(elected_fd, 1);
	/* Every seventh resigns soon; the others rule until they fall. */
	for (int i = 0; !shared->over && (term % 7 || i < 50); i++) {
		uint64_t before = test_now_ns();

		if (test_term(election) != term)
			return;
		mine->to_ns = before;
		nap(500);
	}
}

/* A machine is slow at times: it was not elected in all that time, or no answer
 * came. */
static int campaign(struct rowlock *election, struct rowlock_errinfo *err)
{
	uint64_t began = test_now_ns();
	int code = rowlock_acquire(election, WAIT_MS, err);

	if (code == ROWLOCK_ECONNECT &&
	    test_ms(began, test_now_ns()) >= WAIT_MS)
		return ROWLOCK_ETIMEDOUT;
	return code;
}

static int stand(void)
{
	struct rowlock_client_options options = test_client_options(ttl_ms);
	struct rowlock *election = NULL;
	struct rowlock_client *client = NULL;
	struct rowlock_errinfo err = { 0 };
	int code;

	code = rowlock_client_new(&options, &client, &err);
	if (!code)
		code = rowlock_election_new(client, shared->name, NULL,
					    &election, &err);
	while (!code && !shared->over) {
		code = campaign(election, &err);
		if (code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_ELOST) {
			code = 0;
			continue;
		}
		if (code)
			break;
		reign(election);
		code = rowlock_release(election, &err);
		if (code == ROWLOCK_ELOST || code == ROWLOCK_ENOTHELD)
			code = 0;
	}
	if (code)
		fprintf(stderr, "# candidate %d: %s\n", (int) getpid(),
			err.message);
	rowlock_free(election);
	rowlock_client_free(client);
	return code ? 1 : 0;
}

static pid_t candidate(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(getppid() == parent ? stand() : 1);
}

/* ------------------------------------------------------------- the test */

static pid_t pids[CANDIDATES];

static const struct reign *last_reign(void)
{
	unsigned int count = shared->count;

	return count && shared->reigns[count - 1].term
		   ? &shared->reigns[count - 1]
		   : NULL;
}

/* Wait for the next one who is elected. */
static const struct reign *next_reign(const struct reign *before)
{
	uint64_t since = test_now_ns();
	const struct reign *next;
	eventfd_t count;

	while ((next = last_reign()) == before || !next) {
		if (test_readable(elected_fd))
			eventfd_read(elected_fd, &count);
		test_keep_waiting(since, "a leader; %u were elected",
				  shared->count);
	}
	return next;
}

static void replace(pid_t dead)
{
	for (int i = 0; i < CANDIDATES; i++)
		if (pids[i] == dead)
			pids[i] = candidate();
}

/* One that fell and is there again finds out that it leads no more. */
static void stop_beyond_its_ttl(const struct reign *reign)
{
	pid_t pid = reign->pid;

	kill(pid, SIGSTOP);
	next_reign(reign);
	kill(pid, SIGCONT);
}

static double slowest_ms;

static void kill_leader(const struct reign *reign)
{
	uint64_t killed = test_now_ns();
	pid_t pid = reign->pid;
	const struct reign *next;
	double ms;

	kill(pid, SIGKILL);
	next = next_reign(reign);
	waitpid(pid, NULL, 0);
	/* It may have resigned at that moment. */
	ms = next->from_ns > killed ? test_ms(killed, next->from_ns) : 0;
	if (ms > slowest_ms)
		slowest_ms = ms;
	replace(pid);
}

static void check_reigns(void)
{
	unsigned int count = shared->count;

	for (unsigned int i = 0; i < count; i++) {
		const struct reign *a = &shared->reigns[i];

		for (unsigned int k = 0; k < count; k++) {
			const struct reign *b = &shared->reigns[k];

			if (a == b || !a->term || !b->term)
				continue;
			if (a->term == b->term)
				fail_msg("two in term %llu",
					 (unsigned long long) a->term);
			if (a->from_ns <= b->to_ns && b->from_ns <= a->to_ns)
				fail_msg(
				    "two lead: %d in term %llu, %d in "
				    "term %llu",
				    (int) a->pid, (unsigned long long) a->term,
				    (int) b->pid, (unsigned long long) b->term);
			if ((a->term < b->term) != (a->from_ns < b->from_ns))
				fail_msg("a later leader has an earlier term");
		}
	}
}

static void never_two_lead(void **state)
{
	const struct reign *now = NULL;

	(void) state;
	snprintf(shared->name, sizeof(shared->name), "%s", test_name("reigns"));
	for (int i = 0; i < CANDIDATES; i++)
		pids[i] = candidate();
	for (unsigned int i = 0; i < kills; i++) {
		now = next_reign(now);
		kill_leader(now);
		if (i % 2 == 0)
			stop_beyond_its_ttl(now = last_reign());
	}
	shared->over = true;
	for (int i = 0; i < CANDIDATES; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	check_reigns();
	print_message(
	    "# %u leaders, %u killed; at most %.0f ms from the kill of "
	    "one to the next, TTL %u ms\n",
	    shared->count, kills, slowest_ms, ttl_ms);
	test_figure(slowest_ms, "ms",
		    "SIGKILL of a leader to the next one, at most, TTL %u ms",
		    ttl_ms);
	if (getenv("ROWLOCK_TEST_JUDGE_TIME"))
		assert_true(slowest_ms < ttl_ms + 200);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST("never two lead, and terms follow each other",
		     never_two_lead),
	};

	if (argc > 1)
		kills = (unsigned int) atoi(argv[1]);
	if (argc > 2)
		ttl_ms = (unsigned int) atoi(argv[2]);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	elected_fd = eventfd(0, EFD_CLOEXEC);
	if (shared == MAP_FAILED || elected_fd < 0)
		return 1;
	return test_main(tests);
}
