/* SPDX-License-Identifier: MIT */
/*
 * The model's tables, the mutex over all of the fake, and how a test waits.
 */
#include "world.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

struct world world = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

/* So many of the fake clock's milliseconds may pass before a state is said not
 * to come. */
enum { MOMENTS = 60000 };

/* What those who wait for a change look at the clock for; 0: a free place. The
 * last one is for all who find none. */
#define WAITS 256
static int64_t waits[WAITS];

static char problem[256];

/* This thread looks at a state; what it calls for that is no change. */
static _Thread_local bool looking;

void world_lock(void)
{
	pthread_mutex_lock(&world.mutex);
}

void world_unlock(void)
{
	pthread_mutex_unlock(&world.mutex);
}

void world_changed(void)
{
	world.changes++;
	pthread_cond_broadcast(&world.changed);
}

static bool wait_ms(unsigned int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	return pthread_cond_timedwait(&world.changed, &world.mutex, &until) !=
	       ETIMEDOUT;
}

bool world_wait(int64_t until_ms)
{
	int64_t *place = waits;
	bool changed;

	while (*place && place < waits + WAITS - 1)
		place++;
	*place = until_ms;
	changed = wait_ms((unsigned int) test_patience_ms());
	*place = 0;
	return changed;
}

void fake_problem(const char *format, ...)
{
	va_list args;

	if (*problem)
		return;
	va_start(args, format);
	vsnprintf(problem, sizeof(problem), format, args);
	va_end(args);
}

bool world_is_looking(void)
{
	return looking;
}

static bool look(bool (*state)(void *arg), void *arg)
{
	bool result;

	looking = true;
	result = state(arg);
	looking = false;
	return result;
}

static bool next_change(uint64_t seen, unsigned int ms)
{
	bool more = true;

	world_lock();
	while (more && world.changes == seen)
		more = wait_ms(ms);
	world_unlock();
	return more;
}

static uint64_t changes(void)
{
	uint64_t seen;

	world_lock();
	seen = world.changes;
	world_unlock();
	return seen;
}

void fake_count_loss(struct rowlock *lock, void *arg)
{
	(void) lock;
	++*(_Atomic int *) arg;
}

bool fake_is_one(void *arg)
{
	return *(_Atomic int *) arg == 1;
}

/* How often each operation was called is what can be seen. */
static void say_waited(uint64_t since_ns, const char *what)
{
	print_error("waited %.0f s for the %s; calls so far:",
		    test_ms(since_ns, test_now_ns()) / 1000, what);
	for (int op = 0; op < FAKE_OPS; op++)
		if (fake_count((enum fake_op) op))
			print_error(" %u of %d", fake_count((enum fake_op) op),
				    op);
	print_error("\n");
}

void fake_until_so(bool (*state)(void *arg), void *arg, const char *what,
		   const char *file, int line)
{
	uint64_t since = test_now_ns();

	for (;;) {
		uint64_t seen = changes();

		if (look(state, arg))
			return;
		if (next_change(seen, (unsigned int) test_patience_ms()))
			continue;
		say_waited(since, what);
		_fail(file, line);
	}
}

/* Is it asleep? *@switches grows by how often it has gone to sleep so far. */
static bool is_asleep(const char *task, uint64_t *switches)
{
	char path[300];
	char line[200];
	char state = 'S';
	FILE *status;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", task);
	status = fopen(path, "r");
	/* One that has ended does nothing any more. */
	while (status && fgets(line, sizeof(line), status)) {
		const char *value = strchr(line, ':');

		if (!value)
			continue;
		if (strncmp(line, "State:", strlen("State:")) == 0)
			state = value[1 + strspn(value + 1, " \t")];
		if (strstr(line, "ctxt_switches:"))
			*switches += strtoull(value + 1, NULL, 10);
	}
	if (status)
		fclose(status);
	return state == 'S';
}

static bool all_others_sleep(uint64_t *switches)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	bool asleep = tasks != NULL;

	while (asleep && (task = readdir(tasks)))
		if (*task->d_name != '.' && atoi(task->d_name) != gettid())
			asleep = is_asleep(task->d_name, switches);
	if (tasks)
		closedir(tasks);
	return asleep;
}

/* Of the threads of this process, is it the only one that is not asleep? They
 * are looked at one after the other, and one may wake another that was looked
 * at: it has run, then, when they are looked at again. */
static bool is_alone(void)
{
	uint64_t first = 0;
	uint64_t second = 0;

	return all_others_sleep(&first) && all_others_sleep(&second) &&
	       first == second;
}

/* Valgrind lets one thread run at a time; the others sleep, to the kernel. */
static bool under_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "vgpreload");
}

/* How long nothing will happen by itself, as all sleep: until a timer rings, or
 * somebody's time is up. At most until @end. 0 if a thread has only not come to
 * run yet: no time passes for it. */
static uint64_t until_next(int64_t end)
{
	int64_t now = fake_now();
	int64_t next;

	if (under_valgrind())
		return 1;
	if (!is_alone())
		return 0;
	world_lock();
	next = world_next_timer();
	for (int i = 0; i < WAITS; i++)
		if (waits[i] && waits[i] < next)
			next = waits[i];
	world_unlock();
	if (next == RLK_NEVER || next <= now)
		return 1;
	return (uint64_t) ((next < end ? next : end) - now);
}

void fake_pass_until_so(bool (*state)(void *arg), void *arg, const char *what,
			const char *file, int line)
{
	int64_t end = fake_now() + MOMENTS;
	uint64_t since = test_now_ns();

	while (fake_now() < end &&
	       test_ms(since, test_now_ns()) < test_patience_ms()) {
		uint64_t seen = changes();

		if (look(state, arg))
			return;
		/* Nothing moves: time has passed for everybody. */
		if (!next_change(seen, 1)) {
			uint64_t ms = until_next(end);

			if (ms && changes() == seen)
				fake_advance(ms);
		}
	}
	/* Or it was the machine that did not move. */
	fake_until_so(state, arg, what, file, line);
}

/* -------------------------------------------------------------- tables */

struct world_lease *world_lease(const char *name)
{
	struct world_lease *leases = world.tables.leases;

	for (size_t i = 0; i < TEST_SIZE(world.tables.leases); i++)
		if (leases[i].attempt && !strcmp(leases[i].name, name))
			return &leases[i];
	return NULL;
}

struct world_session *world_session(uint64_t id)
{
	struct world_session *sessions = world.tables.sessions;

	for (size_t i = 0; i < TEST_SIZE(world.tables.sessions); i++)
		if (sessions[i].id == id)
			return &sessions[i];
	return NULL;
}

/* Found or made. */
struct world_row *world_row(const char *name)
{
	struct world_row *rows = world.tables.rows;

	for (size_t i = 0; i < TEST_SIZE(world.tables.rows); i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

void world_insert_lease(const char *name, uint64_t attempt, uint64_t session)
{
	struct world_lease *leases = world.tables.leases;

	for (size_t i = 0; i < TEST_SIZE(world.tables.leases); i++) {
		if (leases[i].attempt)
			continue;
		leases[i].attempt = attempt;
		leases[i].session = session;
		leases[i].max_until_ms = RLK_NEVER;
		snprintf(leases[i].name, sizeof(leases[i].name), "%s", name);
		return;
	}
	fake_problem("too many leases");
}

void world_insert_session(uint64_t id, uint64_t ttl_ms)
{
	struct world_session *session = world_session(0);

	if (session)
		*session = (struct world_session){ .id = id,
						   .ttl_ms = ttl_ms,
						   .opened_ms = fake_now() };
	else
		fake_problem("too many sessions");
}

void world_end_transaction(uint64_t conn)
{
	struct world_row *rows = world.tables.rows;

	for (size_t i = 0; i < TEST_SIZE(world.tables.rows); i++)
		if (rows[i].conn == conn)
			rows[i].conn = 0;
	world_changed();
}

/* ------------------------------------------- the tables, for the tests */

void fake_session_add(uint64_t id)
{
	world_lock();
	world_insert_session(id, 30000);
	world_unlock();
}

void fake_session_expire(uint64_t id)
{
	world_lock();
	if (world_session(id))
		world_session(id)->expired = true;
	world_unlock();
}

void fake_session_prolong(uint64_t id, uint64_t ms)
{
	world_lock();
	if (world_session(id))
		world_session(id)->ahead_ms = ms;
	world_unlock();
}

int64_t world_left_us(const struct world_session *session)
{
	return session->expired
		   ? -1
		   : (int64_t) (session->ttl_ms + session->ahead_ms) * 1000;
}

void fake_session_beat(uint64_t id)
{
	world_lock();
	if (world_session(id))
		world_session(id)->beat++;
	world_unlock();
}

void fake_session_remove(uint64_t id)
{
	world_lock();
	if (world_session(id))
		world_session(id)->id = 0;
	world_unlock();
}

bool fake_session_there(uint64_t id)
{
	bool there;

	world_lock();
	there = world_session(id) != NULL;
	world_unlock();
	return there;
}

unsigned int fake_sessions(void)
{
	unsigned int count = 0;

	world_lock();
	for (size_t i = 0; i < TEST_SIZE(world.tables.sessions); i++)
		count += world.tables.sessions[i].id != 0;
	world_unlock();
	return count;
}

void fake_lease_add(const char *name, uint64_t attempt, uint64_t session)
{
	world_lock();
	world_insert_lease(name, attempt, session);
	world_unlock();
}

void fake_lease_maximum(const char *name, uint64_t ms)
{
	world_lock();
	if (world_lease(name))
		world_lease(name)->max_until_ms = rlk_after(fake_now(), ms);
	world_unlock();
}

uint64_t fake_lease(const char *name)
{
	const struct world_lease *lease;
	uint64_t attempt;

	world_lock();
	lease = world_lease(name);
	attempt = lease ? lease->attempt : 0;
	world_unlock();
	return attempt;
}

void fake_lease_remove(const char *name)
{
	world_lock();
	if (world_lease(name))
		world_lease(name)->attempt = 0;
	world_unlock();
}

void world_break(struct world_lease *lease)
{
	struct world_session *session = world_session(lease->session);

	lease->attempt = 0;
	if (session && session->breaks > UINT32_MAX) {
		struct world_session *keep = session;

		session = world_session(keep->breaks);
		keep->id = 0;
	}
	if (session)
		session->breaks++;
}

void fake_lease_break(const char *name)
{
	world_lock();
	if (world_lease(name))
		world_break(world_lease(name));
	world_unlock();
}

static void set_row(const char *name, uint64_t conn)
{
	struct world_row *row;

	world_lock();
	row = world_row(name);
	if (!row) {
		row = world_row("");
		snprintf(row->name, sizeof(row->name), "%s", name);
	}
	row->conn = conn;
	world_changed();
	world_unlock();
}

void fake_row_lock(const char *name)
{
	set_row(name, WORLD_OTHER);
}

void fake_row_unlock(const char *name)
{
	set_row(name, 0);
}

uint64_t fake_row(const char *name)
{
	const struct world_row *row;
	uint64_t conn;

	world_lock();
	row = world_row(name);
	conn = row ? row->conn : 0;
	world_unlock();
	return conn;
}

/* ------------------------------------------------------ start and end */

int fake_setup(void **state)
{
	(void) state;
	setenv("ROWLOCK_TEST_OWN_CLOCK", "1", 1);
	*problem = '\0';
	memset(&world.tables, 0, sizeof(world.tables));
	fake_leases_listed = 0;
	fake_rows_listed = 0;
	fake_leases_lied = 0;
	memset(&fake_job, 0, sizeof(fake_job));
	world_clock_reset();
	world_script_reset();
	world_db_reset();
	return 0;
}

int fake_teardown(void **state)
{
	(void) state;
	if (!*problem)
		return 0;
	print_error("%s\n", problem);
	return -1;
}
