/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_CHECKER_HISTORY_H
#define ROWLOCK_CHECKER_HISTORY_H

/*
 * The history of a run: what processes with locks, and those who disturb them,
 * write down, and what the checker judges. Files *.history of one directory,
 * one event per line, each line one write(), so that it is whole or absent and
 * survives a SIGKILL of its writer:
 *
 *     TIME PROCESS.THREAD EVENT [key=value]...
 *
 * TIME is CLOCK_BOOTTIME in nanoseconds: one kernel, one clock. It is read
 * right before a call for the events of calls and for held, broke and fault,
 * right after it for the events of returns and for heal. PROCESS is the
 * process's serial number in the run (0: who runs it, and who disturbs it),
 * THREAD a number in it; PROCESS.THREAD and serial are the identity of a hold.
 * Values have no blanks: history_encode().
 *
 *   client   ttl=MS strategy=lease|row [max=MS] [call=MS] [observe=0|1]
 *            [callback=0|1]
 *            a client was opened; ttl is how long a hold outlives its silent
 *            client: the TTL, or under row the idle bound; call is its
 *            call_timeout_ms (5000), observe says ROWLOCK_OBSERVE_BEATS,
 *            callback=0 that nobody listens for losses
 *   acquire  serial=K name=TEXT wait=MS|-1|0 [callback=0|1]
 *            [mode=read|write | permits=N takes=K | of=N]
 *            -1: for ever. mode: of a read/write lock. permits: of a semaphore
 *            that has so many. of: one of so many names that are had together,
 *            each of which is a hold of its own here
 *   acquired serial=K code=C [mysql=E] [token=N]      0: held. token: it was
 *                                                     drawn with the grant
 *   token    serial=K       drew     serial=K code=C [mysql=E] [token=N]
 *   held     serial=K yes=0|1                         rowlock_held()'s answer
 *   verify   serial=K       verified serial=K code=C [mysql=E]
 *   release  serial=K       released serial=K code=C [mysql=E]
 *   lost     serial=K                                 the lost callback runs
 *   beat     ok=0|1 [session=ID]                      seen by a proxy
 *   fault    kind=WORD [target=P|server|NAME] [key=value]...
 *            begins, or is instantaneous; faults.c lists the kinds
 *   heal     kind=WORD [target=...]                   it is over
 *   rows     table=NAME count=N                       left after the end
 *   broke    name=TEXT                                rowlock_break()
 *   end                                the thread, or process, ended by itself
 *
 * Keys that a reader does not know mean nothing to it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------- writing */

/** Where one process writes. Threads: safe. A child of fork() opens its own. */
struct history;

/** DIR/process-NUMBER.history, made or continued; NULL (and a word on standard
 *  error) if it cannot be. */
struct history *history_open(const char *dir, unsigned int process);
void history_close(struct history *history);

/** CLOCK_BOOTTIME in nanoseconds. */
uint64_t history_now(void);

/** Append one line: @thread's event at @time, its words in @format. Ends the
 *  process if it cannot be written: a run without its history proves nothing.
 */
void history_write(struct history *history, uint64_t time, unsigned int thread,
		   const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** @text as a value: blanks, '%' and control characters as %XX. Cut to what
 *  fits; returns @into. */
const char *history_encode(char *into, size_t room, const char *text);

/* ------------------------------------------------------------- reading */

enum history_event {
	HISTORY_CLIENT,
	HISTORY_ACQUIRE,
	HISTORY_ACQUIRED,
	HISTORY_TOKEN,
	HISTORY_DREW,
	HISTORY_HELD,
	HISTORY_VERIFY,
	HISTORY_VERIFIED,
	HISTORY_RELEASE,
	HISTORY_RELEASED,
	HISTORY_LOST,
	HISTORY_BEAT,
	HISTORY_FAULT,
	HISTORY_HEAL,
	HISTORY_ROWS,
	HISTORY_BROKE,
	HISTORY_END,
	HISTORY_EVENTS, /* how many there are */
};

/** A word of a line, as it stands there. */
struct history_word {
	const char *at; /* NULL: the line does not have it */
	size_t length;
};

struct history_line {
	const char *text; /* the whole line, without its end */
	size_t length;
	uint64_t time;
	uint32_t process;
	uint32_t thread;
	enum history_event event;

	/* What is absent is 0, or the default. */
	uint64_t serial;
	int64_t wait_ms;
	int64_t code;
	uint64_t mysql;
	uint64_t token;
	uint64_t yes;
	uint64_t ttl_ms;
	uint64_t call_ms;
	uint64_t max_ms;
	uint64_t callback;
	uint64_t observe;
	uint64_t count;
	uint64_t of;
	uint64_t permits;
	uint64_t takes;
	struct history_word name;
	struct history_word strategy;
	struct history_word kind;
	struct history_word target;
	struct history_word table;
	struct history_word mode;
};

/** Read one line; false if it is none. The words point into @text. */
bool history_parse(const char *text, size_t length,
		   struct history_line *ret_line);

/** Is @word this text? */
bool history_is(struct history_word word, const char *text);

/** Called for each line; @line->text stays valid as long as the files are
 *  open. @good: it could be read; if not, only its text is there. */
typedef void (*history_line_fn)(const struct history_line *line, bool good,
				void *arg);

/** Call @fn for the lines of @text. A last line without its end is that of a
 *  writer killed in the middle: it tells nothing. */
void history_each(const char *text, size_t length, history_line_fn fn,
		  void *arg);

/** All the *.history files of a directory, in memory. */
struct history_files;

/** NULL, and a word on standard error, if @dir or a file cannot be read. */
struct history_files *history_files_open(const char *dir);
void history_files_each(const struct history_files *files, history_line_fn fn,
			void *arg);
/** Where the text of each ends: an array for free(), and how long it is. */
size_t history_files_ends(const struct history_files *files,
			  const char *const **ret_ends);
void history_files_close(struct history_files *files);

#endif
