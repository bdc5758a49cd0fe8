/* SPDX-License-Identifier: MIT */
/*
 * See nested.h. A token is never drawn twice for a name, so a hold with the
 * token that the environment tells is that of the process that runs us. An
 * environment that has outlived the hold does no harm. Nothing is asked unless
 * the environment names the lock.
 */
#include "run/nested.h"

#include <inttypes.h>
#include <rowlock/admin.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* A hold that the environment tells of. */
struct outer {
	const char *name;
	uint64_t token;
	unsigned int kinds;
	char command[64];
	bool held;
};

/* Read the line at @line. Returns false if it is about another lock. */
static bool read_line(const char *line, const char *name,
		      enum rowlock_strategy strategy, struct outer *outer)
{
	size_t length = strlen(name);
	char word[8];
	int at = 0;

	/* A blank in a format takes all blanks, and a name may begin with one.
	 */
	return sscanf(line, "%7s %" SCNu64 " %63s%n", word, &outer->token,
		      outer->command, &at) == 3 &&
	       line[at++] == ' ' && outer->token > 0 &&
	       strcmp(word, strategy_word(strategy)) == 0 &&
	       strncmp(line + at, name, length) == 0 &&
	       (line[at + (int) length] == '\n' || !line[at + (int) length]);
}

/* A rowlock_list_fn. An account may be told no state of a row. */
static int see(const struct rowlock_entry *entry, void *arg)
{
	struct outer *outer = arg;

	if (strcmp(entry->name, outer->name) != 0 ||
	    entry->token != outer->token ||
	    !(outer->kinds & 1u << entry->kind) ||
	    (entry->state != ROWLOCK_STATE_HELD &&
	     entry->state != ROWLOCK_STATE_UNKNOWN))
		return 0;
	outer->held = true;
	return 1;
}

static bool is_held(struct outer *outer, struct rowlock_client *client,
		    enum rowlock_strategy strategy)
{
	struct rowlock_list_options what = ROWLOCK_LIST_OPTIONS_DEFAULT;

	what.name = outer->name;
	what.flags = strategy == ROWLOCK_ROW
			 ? ROWLOCK_LIST_ROWS | ROWLOCK_LIST_PROBE
			 : ROWLOCK_LIST_LEASES;
	return rowlock_list(client, &what, see, outer, NULL) == 0 &&
	       outer->held;
}

static int refuse(const struct nested *nested, const struct outer *outer,
		  const char *server, struct rowlock_errinfo *reterr)
{
	reterr->code = ROWLOCK_EDEADLOCK;
	reterr->mysql = 0;
	snprintf(reterr->message, sizeof(reterr->message),
		 "'%.100s' on %.60s is held for '%s', which runs this: '%.40s' "
		 "would wait for itself; lock it in one of the two, or, if the "
		 "first does not wait for this, run it by 'env -u "
		 "ROWLOCK_HELD'",
		 outer->name, server, outer->command, nested->program);
	return ROWLOCK_EDEADLOCK;
}

int nested_check(const struct nested *nested, struct rowlock_client *client,
		 struct rowlock_errinfo *reterr)
{
	const char *held = getenv("ROWLOCK_HELD"), *line;

	for (size_t i = 0; held && i < nested->count; i++) {
		struct outer outer = { .name = nested->names[i],
				       .kinds = nested->kinds };

		for (line = held; line; line = strchr(line, '\n')) {
			line += *line == '\n';
			if (read_line(line, outer.name, nested->strategy,
				      &outer) &&
			    is_held(&outer, client, nested->strategy))
				return refuse(nested, &outer,
					      rowlock_client_server(client),
					      reterr);
		}
	}
	return 0;
}
