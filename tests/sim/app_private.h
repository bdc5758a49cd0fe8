/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_APP_PRIVATE_H
#define ROWLOCK_SIM_APP_PRIVATE_H

#include "app.h"
#include "borrowed.h"
#include "scheduler.h"
#include "script.h"
#include "sim.h"

#define SIM_THREADS 12
#define SIM_SETS 2 /* of a thread */

struct sim_handle {
	struct rowlock *lock; /* of a read/write lock: the side in use */
	struct rowlock *reader;
	struct rowlock *writer;
	unsigned int flags;
	unsigned int name;  /* of a set: the first */
	unsigned int names; /* of a set: a bit each; else 0 */
	bool row;
	bool stored;          /* a semaphore of as many permits as are stored */
	unsigned int cancels; /* that may end the acquire under way */
	unsigned int canceling; /* that are under way */
};

struct sim_candidate {
	struct sim_handle handle;
	unsigned int asked; /* so many threads ask it just now */
};

struct sim_thread {
	struct sim_app *app;
	struct sim_fiber *fiber;
	struct sim_handle handles[2][SIM_NAMES];
	struct sim_handle sets[SIM_SETS];
	struct sim_handle rwlocks[SIM_NAMES];
	struct sim_handle semaphores[SIM_NAMES];
	struct sim_handle insides[SIM_NAMES];
	struct sim_candidate candidate;
	struct sim_borrowed own;   /* its own connection */
	struct sim_handle *waits;  /* its acquire is under way */
	struct sim_handle *leaves; /* it ends, and holds with this one */
	uint64_t serial;           /* of its acquires, for the history */
};

struct sim_app {
	struct sim_proc *proc; /* NULL: not born yet, or dead */
	struct rowlock_client *client;
	struct sim_thread threads[SIM_THREADS];
	unsigned int thread_count;
	struct sim_event birth;
	int64_t leaves_us; /* it ends then, of its own will */
	bool exports;      /* a lease that only its end lets go of */
	bool resting;      /* its threads have ended, at the world's end */
	bool gone;
};

/** Its threads shall come to their end. */
bool sim_app_leaves(const struct sim_app *app);

enum sim_app_call {
	SIM_CALL_CLIENT,
	SIM_CALL_ACQUIRE,
	SIM_CALL_RELEASE,
	SIM_CALL_BEGIN,
	SIM_CALL_COMMIT,
	SIM_CALL_COMMIT_RELEASE,
	SIM_CALL_ACQUIRE_IN,
	SIM_CALL_DRAW_IN,
	SIM_CALL_FENCE,
	SIM_CALL_ONCE_BEGIN,
	SIM_CALL_ONCE_END,
	SIM_CALL_OTHER,
};

/** Count what a call returned; returns it. */
int sim_app_code(enum sim_app_call call, int code);

/** The end of the run if @code is neither @allowed nor what faults explain. */
void sim_app_expect(const char *call, int code, bool allowed);

/* aside.c */
void sim_aside_break(struct rowlock_client *client);
void sim_aside_reap(struct rowlock_client *client);
void sim_aside_execute(struct rowlock_client *client);
void sim_aside_list(struct rowlock_client *client);
/** A child of fork() that uses what it has of its parent. */
void sim_aside_fork(struct rowlock_client *client, struct rowlock *lock);

/** Cancel the acquire that @thread is in, if it is in one. */
void sim_thread_cancel(struct sim_thread *thread);

/* rwlocks.c */
/** Read or write once. */
void sim_rwlock_cycle(struct sim_thread *thread);
/** Give its handles back. */
void sim_rwlocks_free(struct sim_thread *thread);

/* semaphores.c */
/** Take some permits once. */
void sim_semaphore_cycle(struct sim_thread *thread);
/** Give its handles back. */
void sim_semaphores_free(struct sim_thread *thread);

/* elections.c */
/** Stand for election once. */
void sim_election_cycle(struct sim_thread *thread);
/** Ask some candidate of @app in which term it leads. */
void sim_election_ask(struct sim_app *app);
/** Give its candidate back. */
void sim_election_free(struct sim_thread *thread);

/* thread.c */
/** The lost callback of all its handles. */
void sim_thread_lost(struct rowlock *lock, void *thread);
/** For how long an acquire may wait. */
uint64_t sim_thread_wait(void);
/** Free *@lock, if there is one. */
void sim_thread_free_lock(struct rowlock **lock);
/** Free its locks, if there are any. */
void sim_thread_give_back(struct sim_handle *handle);
/** One of @handles, for a name that is drawn. It is made by @make_it, and now
 *  and then given back before, and made anew. */
typedef void sim_make_fn(struct sim_thread *thread, struct sim_handle *handle);
struct sim_handle *sim_thread_handle(struct sim_thread *thread,
				     struct sim_handle *handles,
				     sim_make_fn *make_it);
/** For some time, if at all. */
void sim_thread_rest(void);
/** rowlock_token(); 0: there is none. */
uint64_t sim_thread_token(struct sim_handle *handle);
/** An acquire with @handle is over: only cancels that are under way may end the
 *  next one. */
void sim_thread_forget_cancels(struct sim_handle *handle);
/** rowlock_verify() */
void sim_thread_verify(struct sim_handle *handle);
/** Keep what @handle has for a while, and do something with it. False: it was
 *  lost, and is over. */
bool sim_thread_hold(struct sim_thread *thread, struct sim_handle *handle);
/** Its hold is over: there is nothing to release. */
void sim_thread_over(struct sim_handle *handle);
/** Around a call of the library named @what that waits for @wait with @handle:
 *  who cancels the thread ends it, and the judge looks at it. */
struct sim_call;
void sim_thread_asks(struct sim_thread *thread, struct sim_handle *handle,
		     struct sim_call *call, const char *what, uint64_t wait);
void sim_thread_asked(struct sim_thread *thread, struct sim_call *call);
/** An acquire of @handle, that waits for @wait, returned @code. */
void sim_thread_acquired(struct sim_handle *handle, uint64_t wait, int code);

void sim_thread_run(void *thread);
/** After its end: give its handles back. */
void sim_thread_free(struct sim_thread *thread);

/* guarded.c */
/** What the transactions under one hold have left. */
struct sim_turn {
	bool unknown; /* a commit of the library's: so none by text follows */
	bool over;    /* one by text: so none follows at all */
};

/** A transaction of the thread's own under the lease that it has by @handle.
 *  True: that was given back with it. */
bool sim_guarded_play(struct sim_thread *thread, struct sim_handle *handle,
		      struct sim_turn *turn);

/* jobs.c */
/** May a run of a job be begun with what is held by @handle? */
bool sim_job_may_run(const struct sim_handle *handle);
/** Run it once. True: the hold of @handle is released, or lost and over. */
bool sim_job_play(struct sim_thread *thread, struct sim_handle *handle);

/* adopters.c */
/** Hold the lease of @handle's name that was exported last, if there is one. */
bool sim_adopter_takes(struct sim_thread *thread, struct sim_handle *handle);
/** A name whose lease is there to be adopted, or @name. */
unsigned int sim_adopter_name(unsigned int name);
/** Export what is held by @handle, and wait for its adopter. False: it is held
 *  on. */
bool sim_adopter_gives(struct sim_thread *thread, struct sim_handle *handle);

/* told.c */
/** One whose guard it says itself. False: what became of it is not known. */
bool sim_told_play(struct sim_thread *thread, const struct sim_handle *handle);

/* fenced.c: transactions that end as the application says. */
/** Have a connection; false: there is none to be had. */
bool sim_own_open(struct sim_thread *thread);
/** A statement. Returns the error. */
unsigned int sim_own_say(struct sim_borrowed *own, const char *text,
			 uint64_t *ret_number);
/** Now and then, with autocommit off, read @book: that begins a transaction.
 *  Returns whether it did. */
bool sim_own_reads(struct sim_borrowed *own, enum sim_book book);
/** Read the counter of @book, and write one more; false: it failed. */
bool sim_own_count(struct sim_thread *thread, enum sim_book book,
		   unsigned int name, uint64_t work);
/** Pass the fence that is before @book; false: it is not passed. */
bool sim_own_fence(struct sim_thread *thread, enum sim_book book,
		   unsigned int name, uint64_t token);
/** No transaction is open any more, or no connection. */
void sim_own_restore(struct sim_thread *thread);
/** One behind a fence, with the token of what the thread holds by @handle. */
void sim_fenced_play(struct sim_thread *thread, struct sim_handle *handle);

/* inside.c */
/** Acquire a row lock in a transaction once. */
void sim_inside_cycle(struct sim_thread *thread);
/** The same for what the thread holds by @handle: it would wait for itself. */
void sim_inside_again(struct sim_thread *thread, struct sim_handle *handle);
/** Give its handles back. */
void sim_insides_free(struct sim_thread *thread);

/* leaver.c */
/** The thread shall end now, with what it holds by @handle. */
bool sim_thread_leaves(struct sim_thread *thread, struct sim_handle *handle);
/** It has ended so: what has become of its hold? */
void sim_thread_left(struct sim_thread *thread);
/** Release @handle's hold for good. */
void sim_thread_release(struct sim_thread *thread, struct sim_handle *handle);

#endif
