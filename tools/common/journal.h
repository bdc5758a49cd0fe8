/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_JOURNAL_H
#define TOOLS_JOURNAL_H

/*
 * Entries of systemd's journal that a program can search for by fields: what
 * happened (MESSAGE_ID), to which lock.
 */

#include <rowlock.h>
#include <stdbool.h>

/** Kinds of entries; tools/systemd/rowlock.catalog explains each. */
enum journal_event {
	JOURNAL_ACQUIRED,
	JOURNAL_LOST,    /* the holder learns that it has the lock no more */
	JOURNAL_EVICTED, /* the reaper removed what a dead client had */
	JOURNAL_BROKEN,  /* an operator ended a hold */
	JOURNAL_AWAY,    /* the reaper cannot work for now */
};

/** Does stderr lead to the journal (systemd.exec(5), JOURNAL_STREAM)? */
bool journal_is_stderr(void);

/**
 * Send an entry.
 *
 * Does not wait for the journal. @identifier is the program, @name the lock's
 * or NULL. Returns false if the journal did not take it: write it to stderr.
 */
bool journal_send(enum journal_event event, enum rowlock_log_level level,
		  const char *identifier, const char *name,
		  const char *message);

/** The beginning of a line on stderr with its priority, as in sd-daemon(3):
 *  "<3>". Static. */
const char *journal_head(enum rowlock_log_level level);

#endif
