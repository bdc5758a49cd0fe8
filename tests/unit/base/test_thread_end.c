/* SPDX-License-Identifier: MIT */
/*
 * The end of threads: who is told, when, and that neither the end of a watch
 * nor a child of fork() gets into its way.
 */
#include "base/thread_end.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "sanitizers.h"
#include "test.h"

struct ends {
	struct rlk_end_watch watch;
	_Atomic unsigned int count;
	_Atomic uint64_t last;
	/* The end that is told waits until it is let go on. */
	struct test_event *told;
	struct test_event *go;
};

static void note(struct rlk_end_watch *watch, uint64_t serial)
{
	struct ends *ends = container_of(watch, struct ends, watch);

	ends->count++;
	ends->last = serial;
	if (!ends->told)
		return;
	test_event_set(ends->told);
	test_event_wait(ends->go);
}

static struct ends *start(void)
{
	struct ends *ends = calloc(1, sizeof(*ends));

	assert_non_null(ends);
	rlk_list_init(&ends->watch.node);
	ends->watch.ended = note;
	assert_int_equal(rlk_end_watch_start(&ends->watch), 0);
	return ends;
}

static void stop(struct ends *ends)
{
	rlk_end_watch_stop(&ends->watch);
	free(ends);
}

static void *owe(void *arg)
{
	uint64_t *serial = arg;

	if (!rlk_end_prepare())
		abort();
	rlk_end_owe(2);
	rlk_end_owe(-1);
	if (serial)
		*serial = rlk_thread_serial();
	return NULL;
}

static void *pay(void *arg)
{
	owe(arg);
	rlk_end_owe(-1);
	return NULL;
}

static void *prepare(void *arg)
{
	rlk_end_prepare();
	return arg;
}

static void *exit_owing(void *arg)
{
	owe(arg);
	pthread_exit(NULL);
}

static void on_a_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, fn, arg), 0);
	pthread_join(thread, NULL);
}

CASE("a thread that owes is told of once")
{
	struct ends *one = start();
	struct ends *two = start();
	uint64_t serial = 0;

	on_a_thread(owe, &serial);
	assert_int_equal(one->count, 1);
	assert_int_equal(two->count, 1);
	assert_int_equal(one->last, serial);
	on_a_thread(exit_owing, &serial);
	assert_int_equal(one->count, 2);
	assert_int_equal(one->last, serial);
	stop(one);
	on_a_thread(owe, NULL);
	assert_int_equal(two->count, 3);
	stop(two);
}

CASE("a thread that owes nothing is not told of")
{
	struct ends *ends = start();

	on_a_thread(prepare, NULL);
	on_a_thread(pay, NULL);
	assert_int_equal(ends->count, 0);
	stop(ends);
}

static pthread_key_t key;
static unsigned int wanted_round;

static void pay_late(void *arg)
{
	static _Thread_local unsigned int round;

	if (++round < wanted_round)
		pthread_setspecific(key, arg);
	else
		rlk_end_owe(-1);
}

static void *leave_to_the_key(void *arg)
{
	owe(NULL);
	pthread_setspecific(key, arg);
	return NULL;
}

CASE("the destructor of another key may still pay")
{
	struct ends *ends = start();

	assert_int_equal(pthread_key_create(&key, pay_late), 0);
	for (wanted_round = 1; wanted_round <= 2; wanted_round++)
		on_a_thread(leave_to_the_key, ends);
	assert_int_equal(ends->count, 0);
	wanted_round = PTHREAD_DESTRUCTOR_ITERATIONS;
	on_a_thread(leave_to_the_key, ends);
	assert_int_equal(ends->count, 1);
	pthread_key_delete(key);
	stop(ends);
}

#if !SANITIZES_THREADS
/* What is taken in a destructor, and in which round; also in the last ones, in
 * which ThreadSanitizer knows the thread no more. */
struct taker {
	pthread_key_t key;
	unsigned int round;
	bool from_the_start; /* it has prepared before it ends, too */
	uint64_t serial;
};

static void take_late(void *arg)
{
	static _Thread_local unsigned int round;
	struct taker *taker = arg;

	if (++round < taker->round)
		pthread_setspecific(taker->key, taker);
	else
		owe(&taker->serial);
}

static void *leave_to_the_taker(void *arg)
{
	struct taker *taker = arg;

	if (taker->from_the_start)
		rlk_end_prepare();
	pthread_setspecific(taker->key, taker);
	return NULL;
}

static void take_in_each_round(struct ends *ends, struct taker *taker)
{
	for (taker->round = 1; taker->round <= PTHREAD_DESTRUCTOR_ITERATIONS;
	     taker->round++) {
		unsigned int before = ends->count;

		on_a_thread(leave_to_the_taker, taker);
		rlk_end_look();
		assert_int_equal(ends->count, before + 1);
		assert_int_equal(ends->last, taker->serial);
		rlk_end_look();
		assert_int_equal(ends->count, before + 1);
	}
}

/* Made before the library's: glibc calls them in the order of their keys. */
static pthread_key_t early;

CASE("what a late destructor takes is found")
{
	struct ends *ends = start();
	struct taker taker = { .round = 0 };
	pthread_key_t late;

	assert_int_equal(pthread_key_create(&late, take_late), 0);
	for (int i = 0; i < 4; i++) {
		taker.key = i & 1 ? late : early;
		taker.from_the_start = i & 2;
		take_in_each_round(ends, &taker);
	}
	pthread_key_delete(late);
	stop(ends);
}
#endif

struct living {
	struct test_event owes;
	struct test_event go;
};

static void *owe_for_a_while(void *arg)
{
	struct living *living = arg;

	owe(NULL);
	test_event_set(&living->owes);
	test_event_wait(&living->go);
	rlk_end_owe(-1);
	return NULL;
}

CASE("threads that live are not found")
{
	struct living living = { test_event_new(), test_event_new() };
	struct ends *ends = start();
	pthread_t thread;

	owe(NULL);
	assert_int_equal(
	    pthread_create(&thread, NULL, owe_for_a_while, &living), 0);
	assert_event(&living.owes, "a thread that owes");
	rlk_end_look();
	assert_int_equal(ends->count, 0);
	test_event_set(&living.go);
	pthread_join(thread, NULL);
	rlk_end_owe(-1);
	rlk_end_look();
	assert_int_equal(ends->count, 0);
	stop(ends);
	test_event_end(&living.owes);
	test_event_end(&living.go);
}

struct stopper {
	struct rlk_end_watch watch;
	_Atomic bool told;
	_Atomic bool stopped;
	bool early; /* stopped while a thread was told of */
};

/* Give the other thread its chance to be wrong. */
static void watch_the_stop(struct rlk_end_watch *watch, uint64_t serial)
{
	struct stopper *stopper = container_of(watch, struct stopper, watch);

	(void) serial;
	stopper->told = true;
	for (int i = 0; i < 20000 && !stopper->stopped; i++)
		sched_yield();
	stopper->early = stopper->stopped;
}

CASE("who stops a watch waits for the end that is told")
{
	struct stopper stopper = { .watch.ended = watch_the_stop };
	pthread_t thread;

	rlk_list_init(&stopper.watch.node);
	assert_int_equal(rlk_end_watch_start(&stopper.watch), 0);
	assert_int_equal(pthread_create(&thread, NULL, owe, NULL), 0);
	while (!stopper.told)
		sched_yield();
	rlk_end_watch_stop(&stopper.watch);
	stopper.stopped = true;
	pthread_join(thread, NULL);
	assert_false(stopper.early);
}

static void *end_many(void *arg)
{
	for (int i = 0; i < 200; i++)
		on_a_thread(owe, NULL);
	return arg;
}

/* What a thread that ends still touches of a watch is freed memory here. */
CASE("watches come and go while threads end")
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    pthread_create(&threads[i], NULL, end_many, NULL), 0);
	for (int i = 0; i < 400; i++)
		stop(start());
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

#if !SANITIZES_THREADS
struct forker {
	pthread_t thread;
	struct ends *parents;
	pid_t child;
};

/* In the child, when the copy of the thread that forked has ended. */
static void *go_on_in_the_child(void *arg)
{
	struct forker *forker = arg;
	struct ends *own;

	pthread_join(forker->thread, NULL);
	own = start();
	on_a_thread(owe, NULL);
	_exit(own->count == 1 && forker->parents->count == 1 ? 0 : 1);
}

/* What it owes is owed to its parent; the child's copy of it ends first. */
static void *fork_owing(void *arg)
{
	struct forker *forker = arg;
	pthread_t thread;

	owe(NULL);
	forker->thread = pthread_self();
	forker->child = fork();
	if (forker->child) {
		rlk_end_owe(-1);
		return NULL;
	}
	/* A child that hangs is ended. */
	alarm((unsigned int) test_patience_ms() / 1000);
	if (pthread_create(&thread, NULL, go_on_in_the_child, forker))
		_exit(2);
	return NULL;
}

/* Another thread is just being told of when this one forks. */
CASE("a child neither waits for its parent nor tells it")
{
	TEST_EVENT(told);
	TEST_EVENT(go);
	struct ends *ends = start();
	struct forker forker = { .parents = ends };
	pthread_t thread;
	int status;

	ends->told = &told;
	ends->go = &go;
	assert_int_equal(pthread_create(&thread, NULL, owe, NULL), 0);
	assert_event(&told, "the end of a thread: told of %u", ends->count);
	on_a_thread(fork_owing, &forker);
	assert_int_equal(waitpid(forker.child, &status, 0), forker.child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	test_event_set(&go);
	pthread_join(thread, NULL);
	assert_int_equal(ends->count, 1);
	stop(ends);
}
#endif

int main(void)
{
#if !SANITIZES_THREADS
	if (pthread_key_create(&early, take_late))
		return 1;
#endif
	return case_main();
}
