/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_TRACE_H
#define ROWLOCK_SIM_TRACE_H

/*
 * The last events, for the report of a violation: those of applications in the
 * words of a history, those of the server as comments between them. Only
 * numbers are kept; they become text when somebody wants to read them.
 */

#include <stdbool.h>
#include <stdint.h>

struct sim_session;

struct sim_note {
	/** Words with %u (a number), %d (signed), %n (a name's number), %s (a
	 *  static text) for the values in their order. */
	const char *words;
	uint64_t value[6];
};

/** By the fiber that runs. */
void sim_trace(struct sim_note note);
/** By the world. */
void sim_trace_world(struct sim_note note);
void sim_trace_statement(const struct sim_session *session);
void sim_trace_session(const struct sim_session *session, const char *what,
		       uint64_t value);

static inline uint64_t sim_text(const char *text)
{
	return (uint64_t) (uintptr_t) text;
}

void sim_trace_begin(void);
/** Print the last @count events. */
void sim_trace_print(unsigned int count);

/** Print each as it comes. */
extern bool sim_verbose;

#endif
