/* SPDX-License-Identifier: MIT */
/*
 * Threads: serial numbers that never come back, signals that stay outside; and
 * events.
 */
#include "base/thread.h"

#include <sched.h>
#include <signal.h>
#include <string.h>

#include "test.h"

static void note_serial(void *arg)
{
	uint64_t *serial = arg;

	*serial = rlk_thread_serial();
	/* The same each time. */
	if (rlk_thread_serial() != *serial)
		*serial = 0;
}

CASE("the serial of an ended thread never comes back")
{
	uint64_t last = rlk_thread_serial();

	assert_true(last > 0);
	/* One after the other: the system gives the same thread id again. */
	for (int i = 0; i < 200; i++) {
		struct rlk_thread thread;
		uint64_t serial = 0;

		assert_int_equal(
		    rlk_thread_start(&thread, "serial", note_serial, &serial),
		    0);
		rlk_thread_join(&thread);
		assert_true(serial > last);
		last = serial;
	}
	assert_true(rlk_thread_serial() < last);
}

static void note_signals(void *arg)
{
	pthread_sigmask(SIG_BLOCK, NULL, arg);
}

CASE("signals are blocked in threads and not elsewhere")
{
	static const int signals[] = { SIGTERM, SIGHUP,  SIGINT, SIGCHLD,
				       SIGUSR1, SIGALRM, SIGPIPE };
	struct rlk_thread thread;
	sigset_t before;
	sigset_t inside;
	sigset_t after;

	pthread_sigmask(SIG_BLOCK, NULL, &before);
	assert_int_equal(
	    rlk_thread_start(&thread, "signals", note_signals, &inside), 0);
	rlk_thread_join(&thread);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	for (size_t i = 0; i < TEST_SIZE(signals); i++) {
		assert_int_equal(sigismember(&inside, signals[i]), 1);
		assert_int_equal(sigismember(&after, signals[i]),
				 sigismember(&before, signals[i]));
	}
}

static void note_name(void *arg)
{
	pthread_getname_np(pthread_self(), arg, 16);
}

CASE("a thread has its name")
{
	struct rlk_thread thread;
	char name[16] = "";

	assert_int_equal(
	    rlk_thread_start(&thread, "fifteen-letters", note_name, name), 0);
	rlk_thread_join(&thread);
	assert_string_equal(name, "fifteen-letters");
}

CASE("joining what was not started returns")
{
	struct rlk_thread thread = { .started = false };

	rlk_thread_join(&thread);
}

CASE("a guard unlocks by leaving its block")
{
	struct rlk_mutex mutex;

	rlk_mutex_init(&mutex);
	for (int i = 0; i < 2; i++) {
		_guard_ struct rlk_mutex *guard = rlk_guard(&mutex);

		(void) guard;
		assert_int_not_equal(pthread_mutex_trylock(&mutex.mutex), 0);
	}
	assert_int_equal(pthread_mutex_trylock(&mutex.mutex), 0);
	rlk_mutex_unlock(&mutex);
	rlk_mutex_fini(&mutex);
}

/* A thread of the application's, with a handler that interrupts waits. */
struct sleeper {
	struct rlk_event event;
	_Atomic bool woken;
};

static sem_t handled;

static void handle(int number)
{
	(void) number;
	sem_post(&handled);
}

static void *sleep_on(void *arg)
{
	struct sleeper *sleeper = arg;

	rlk_event_wait(&sleeper->event);
	sleeper->woken = true;
	return NULL;
}

CASE("a signal does not end the wait for an event")
{
	const struct sigaction action = { .sa_handler = handle };
	struct sleeper sleeper = { .woken = false };
	struct sigaction before;
	pthread_t thread;

	sem_init(&handled, 0, 0);
	rlk_event_init(&sleeper.event);
	sigaction(SIGUSR1, &action, &before);
	assert_int_equal(pthread_create(&thread, NULL, sleep_on, &sleeper), 0);
	for (int i = 0; i < 200; i++) {
		/* A sanitizer may keep one back until the next comes. */
		do {
			pthread_kill(thread, SIGUSR1);
			sched_yield();
		} while (sem_trywait(&handled));
	}
	assert_false(sleeper.woken);
	rlk_event_set(&sleeper.event);
	pthread_join(thread, NULL);
	assert_true(sleeper.woken);
	sigaction(SIGUSR1, &before, NULL);
	rlk_event_fini(&sleeper.event);
	sem_destroy(&handled);
}

CASE("an event that was set before is not missed")
{
	struct rlk_event event;

	rlk_event_init(&event);
	for (int i = 0; i < 3; i++) {
		rlk_event_set(&event);
		rlk_event_wait(&event);
	}
	rlk_event_fini(&event);
}

CASE_MAIN(case_main)
