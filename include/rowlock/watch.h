/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_WATCH_H
#define ROWLOCK_WATCH_H

/**
 * Watches: be told who has a name, whenever that changes, without asking for
 * it.
 *
 * The rules of rowlock.h (errors, outputs, ownership, options, time, threads,
 * fork) hold here.
 */

#include <rowlock/admin.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A name that is watched: who has it is told whenever that changes.
 *
 * Threads: safe, but rowlock_watch_free() is its last call.
 */
struct rowlock_watch;

/**
 * Receives a change of a watched name: a lease, as rowlock_list() tells it.
 * Besides:
 *
 *   ROWLOCK_STATE_FREE     nobody has it; only the name and the last token are
 *                          filled in
 *   ROWLOCK_STATE_UNKNOWN  the server has not answered for three intervals;
 *                          only the name is filled in
 *
 * Runs on a thread of the client made for this, one after the other; it may
 * call every function but rowlock_client_free(), and should return soon.
 */
typedef void (*rowlock_watch_fn)(const struct rowlock_entry *entry, void *arg);

struct rowlock_watch_options {
	size_t size; /* sizeof(struct rowlock_watch_options) */
	/** How often the server is asked, and so how late a change may be told.
	 *  The watches of a client are asked for together, 64 names by one
	 *  statement, at the shortest of their intervals.
	 *  Default 5,000; 100 to 3,600,000. */
	uint64_t interval_ms;
};

#define ROWLOCK_WATCH_OPTIONS_DEFAULT                                          \
	{                                                                      \
		sizeof(struct rowlock_watch_options), 0                        \
	}

/**
 * Have @fn called with what is known of @name, as a lease: as soon as the
 * server has told it, and from then on whenever its state, its holder's attempt
 * or a token differs from what was told last. A change that is undone between
 * two looks is not seen. A client whose name leads to several servers may be
 * told of what one of them has not heard of yet; larger tokens are later.
 *
 * @options    NULL for the defaults
 * @ret_watch  owned by the caller: rowlock_watch_free(). @fn may run
 *             before it is written.
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL (an option, no function);
 * ROWLOCK_ENOMEM; ROWLOCK_ESYSTEM (the first watch of a client makes a thread);
 * ROWLOCK_EFORKED. Does not block, and asks for nothing itself: an error of the
 * server is a line in the log, ROWLOCK_STATE_UNKNOWN, and asked again.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_watch_new(
    struct rowlock_client *client, const char *name,
    const struct rowlock_watch_options *options, rowlock_watch_fn fn, void *arg,
    struct rowlock_watch **ret_watch, struct rowlock_errinfo *reterr);

/**
 * End a watch: afterwards its function is not called any more. Waits for a call
 * of it that is running, unless it is called from that. In a child of fork()
 * this does nothing.
 *
 * @watch  may be NULL
 */
ROWLOCK_API void rowlock_watch_free(struct rowlock_watch *watch);

/** Free *@watch and set it to NULL: for __attribute__((cleanup)). */
static inline void rowlock_watch_freep(struct rowlock_watch **watch)
{
	rowlock_watch_free(*watch);
	*watch = NULL;
}

#ifdef __cplusplus
}
#endif

#endif /* ROWLOCK_WATCH_H */
