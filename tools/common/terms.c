/* SPDX-License-Identifier: MIT */
/*
 * The words of lists, of the page and of metrics. The views of the tables have
 * the same.
 */
#include "terms.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/macro.h"

const char *strategy_word(enum rowlock_strategy strategy)
{
	return strategy == ROWLOCK_ROW ? "row" : "lease";
}

const char *kind_word(enum rowlock_kind kind)
{
	static const char *const words[] = {
		[ROWLOCK_KIND_LOCK] = "lock",
		[ROWLOCK_KIND_WRITER] = "writer",
		[ROWLOCK_KIND_READER] = "reader",
		[ROWLOCK_KIND_PERMIT] = "permit",
		[ROWLOCK_KIND_CANDIDATE] = "candidate",
		[ROWLOCK_KIND_RWLOCK] = "rwlock",
	};

	return (size_t) kind < RLK_ARRAY_SIZE(words) ? words[kind] : "unknown";
}

const char *state_word(enum rowlock_state state)
{
	static const char *const words[] = {
		[ROWLOCK_STATE_HELD] = "held",
		[ROWLOCK_STATE_DEAD] = "dead",
		[ROWLOCK_STATE_FREE] = "free",
		[ROWLOCK_STATE_UNKNOWN] = "unknown",
		[ROWLOCK_STATE_WAITING] = "waiting",
		[ROWLOCK_STATE_KEPT] = "kept",
	};

	return (size_t) state < RLK_ARRAY_SIZE(words) ? words[state]
						      : "unknown";
}

const char *answer_word(enum rowlock_answer answer)
{
	switch (answer) {
	case ROWLOCK_ANSWER_HEARD:
		return "heard";
	case ROWLOCK_ANSWER_LATER:
		return "later";
	case ROWLOCK_ANSWER_NO:
		return "no";
	case ROWLOCK_ANSWER_NONE:
	case ROWLOCK_ANSWER_UNASKED:
		break;
	}
	return "";
}

const char *entry_between(const struct rowlock_entry *entry,
			  char text[ENTRY_BETWEEN_SIZE])
{
	const size_t size = ENTRY_BETWEEN_SIZE;

	if (entry->connection > 0 && !*entry->program)
		/* None while the server ends it. */
		snprintf(text, size, "connection %" PRIu64 "%s",
			 entry->connection, *entry->host ? "@" : "");
	else if (!*entry->host && !*entry->program && entry->pid == 0)
		snprintf(text, size, "%s", "");
	else
		snprintf(text, size, "[%u]@", entry->pid);
	return text;
}

void entry_holder(const struct rowlock_entry *entry, char *text, size_t size)
{
	char between[ENTRY_BETWEEN_SIZE];

	snprintf(text, size, "%s%s%s", entry->program,
		 entry_between(entry, between), entry->host);
}
