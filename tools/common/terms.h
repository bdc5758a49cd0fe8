/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_TERMS_H
#define TOOLS_TERMS_H

#include <rowlock/admin.h>
#include <stddef.h>

#define ENTRY_BETWEEN_SIZE 40

/** The word for a strategy, a kind, or a state. */
const char *strategy_word(enum rowlock_strategy strategy);
const char *kind_word(enum rowlock_kind kind);
const char *state_word(enum rowlock_state state);

/** The word for an answer to a request to give a lease back; "": none. */
const char *answer_word(enum rowlock_answer answer);

/** Write "program[pid]@host", or "connection 7@host", as far as known: "" if
 *  unknown. @text has @size bytes. */
void entry_holder(const struct rowlock_entry *entry, char *text, size_t size);

/** Write the text between the program and the host there: "[7]@". @text has
 * room for it. Returns @text. */
const char *entry_between(const struct rowlock_entry *entry,
			  char text[ENTRY_BETWEEN_SIZE]);

#endif
