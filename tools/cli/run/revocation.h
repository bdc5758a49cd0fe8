/* SPDX-License-Identifier: MIT */
#ifndef CLI_REVOCATION_H
#define CLI_REVOCATION_H

/*
 * A request to give the lock back (rowlock_revoke()), on its way from the
 * client's thread, which hears of it, to the one that watches the lock.
 */

#include <pthread.h>
#include <rowlock/admin.h>
#include <stdbool.h>

struct revocation {
	enum rowlock_answer answer;
	int signal;   /* for the command; 0: none */
	bool started; /* requests are listened to */
	int fd;       /* then: readable if one has come */

	/* Private. */
	pthread_mutex_t mutex;
	struct rowlock_revocation last;
};

/** Read the value of --on-revoke: the name or number of a signal, which is only
 *  taken if @signals, or "later", or "no". */
bool revocation_read(struct revocation *revocation, const char *text,
		     bool signals);

/** Listen from now on. Returns false: the system has no descriptor (errno). */
bool revocation_start(struct revocation *revocation);

/** A rowlock_revoke_fn; @arg is the revocation. */
enum rowlock_answer revocation_hear(const struct rowlock_revocation *asked,
				    void *arg);

/** The descriptor for poll(); -1 if nobody listens. @revocation may be NULL. */
int revocation_fd(const struct revocation *revocation);

/** Take the last request that has come. Returns false if there is none. */
bool revocation_take(struct revocation *revocation,
		     struct rowlock_revocation *ret_asked);

/** Room for revocation_words(). */
#define REVOCATION_WORDS_SIZE 3200

/** "program[pid]@host", and the reason behind ": " if there is one. */
void revocation_words(const struct rowlock_revocation *asked, char *ret_text);

#endif
