/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_THREAD_END_H
#define RLK_BASE_THREAD_END_H

/*
 * The end of threads that owe something: who has a watch is told of it, by the
 * thread's serial number (rlk_thread_serial()).
 *
 * A thread ends by returning, by pthread_exit() or by pthread_cancel(), the
 * main thread too; not by the end of its process. It is told of in the last but
 * one of the rounds in which the destructors of its keys run, as those may
 * still pay what it owes; what they take later is told of by rlk_end_look().
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct rlk_end_watch {
	struct rlk_list node; /* initialised */
	/** Called on the thread that ends, or that looks, with no mutex but
	 *  ours held; must not block. */
	void (*ended)(struct rlk_end_watch *watch, uint64_t serial);
};

/** Begin to watch. Returns 0 or -errno. Not for a child of fork(). */
int rlk_end_watch_start(struct rlk_end_watch *watch);

/** Afterwards it is not told any more, on no thread. Nothing if it was not
 *  started. */
void rlk_end_watch_stop(struct rlk_end_watch *watch);

/** Before the calling thread takes what it may owe at its end, while there is a
 *  watch. False: out of memory. */
bool rlk_end_prepare(void);

/** It owes @more than before; less, if negative. Nothing owed: its end is told
 *  to nobody. */
void rlk_end_owe(int more);

/** Tell of the threads whose end nobody has told of yet. With no mutex held. */
void rlk_end_look(void);

#endif
