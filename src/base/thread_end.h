/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_THREAD_END_H
#define RLK_BASE_THREAD_END_H

/*
 * The end of threads that owe something: reported to all that have a watch, by
 * the thread's serial number (rlk_thread_serial()).
 *
 * Any thread, also the main one, ends by returning, by pthread_exit() or by
 * pthread_cancel(); not by the end of its process. Its end is reported in the
 * last but one round of its keys' destructors, as those may still pay what it
 * owes; rlk_end_look() reports what they take later.
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

/** The calling thread owes @more than before; less, if negative. The end of a
 *  thread that owes nothing is not reported. */
void rlk_end_owe(int more);

/** Report the threads whose end was not reported yet. With no mutex held. */
void rlk_end_look(void);

#endif
