/* SPDX-License-Identifier: MIT */
/*
 * See nested.h. A token is never drawn twice for a name, so a hold with the
 * token that the environment tells is that of the process that runs us; and so
 * is a row of its attempt. An environment that has outlived the hold does no
 * harm. Nothing is asked unless the environment names the lock.
 *
 * Failure modes: a writer that comes when we have looked, and keeps us out from
 * what our caller reads, is not seen.
 */
#include "run/nested.h"

#include <inttypes.h>
#include <rowlock/admin.h>
#include <rowlock/semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "common/pace.h"
#include "show/sight.h"

/* The holds of a name: those that the environment tells of, and others. */
struct look {
	const struct nested *nested;
	const char *name;
	const char *held; /* the environment's lines */
	char command[64]; /* one that runs us, and has it */
	unsigned int own; /* the number of rows of these that keep us out */
	bool read;        /* one of these reads, */
	bool written;     /* and another writes, or waits for that */
	uint64_t until_ms;
};

/* Is the line at @line, of which @ret_command is set, about @entry? */
static bool is_about(const char *line, const struct rowlock_entry *entry,
		     char *ret_command)
{
	size_t length = strlen(entry->name);
	char word[8];
	uint64_t number;
	int at = 0;

	/* A blank in a format takes all blanks, and a name may begin with one.
	 */
	if (sscanf(line, "%7s %" SCNu64 " %63s%n", word, &number, ret_command,
		   &at) != 3 ||
	    line[at++] != ' ' || number == 0 ||
	    strncmp(line + at, entry->name, length) != 0 ||
	    (line[at + (int) length] != '\n' && line[at + (int) length]))
		return false;
	if (strcmp(word, "attempt") == 0)
		return entry->strategy == ROWLOCK_LEASE &&
		       entry->attempt == number;
	return strcmp(word, strategy_word(entry->strategy)) == 0 &&
	       entry->token == number;
}

/* Does a line tell of @entry? */
static bool is_own(const struct look *look, const struct rowlock_entry *entry,
		   char *ret_command)
{
	for (const char *line = look->held; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (is_about(line, entry, ret_command))
			return true;
	}
	return false;
}

/* A rowlock_list_fn. An account may be told no state of a row. */
static int see(const struct rowlock_entry *entry, void *arg)
{
	struct look *look = arg;
	bool reader = entry->kind == ROWLOCK_KIND_READER;
	char command[64];

	/* A false server goes on and on. */
	if (pace_now_ms() >= look->until_ms)
		return 1;
	if (strcmp(entry->name, look->name) != 0 ||
	    (entry->state != ROWLOCK_STATE_HELD &&
	     entry->state != ROWLOCK_STATE_UNKNOWN))
		return 0;
	if (!is_own(look, entry, command)) {
		look->written |= entry->kind == ROWLOCK_KIND_WRITER;
		return 0;
	}
	look->read |= reader;
	look->own += (look->nested->kinds & 1u << entry->kind) != 0;
	memcpy(look->command, command, sizeof(command));
	return 0;
}

/* Without the server's number of permits it is not known. */
static unsigned int permits_of(const struct look *look,
			       struct rowlock_client *client)
{
	struct rowlock_errinfo ignored;
	unsigned int permits = 0, used;

	if (look->nested->permits != ROWLOCK_PERMITS_STORED)
		return look->nested->permits;
	if (rowlock_semaphore_count(client, look->name, &permits, &used,
				    &ignored) < 0)
		return 0;
	return permits;
}

static int refuse(const struct look *look, struct rowlock_client *client,
		  const char *how, struct rowlock_errinfo *reterr)
{
	reterr->code = ROWLOCK_EDEADLOCK;
	reterr->mysql = 0;
	snprintf(reterr->message, sizeof(reterr->message),
		 "'%.100s' on %.60s %s '%s', which runs this: '%.40s' "
		 "would wait for itself; lock it in one of the two, or, if the "
		 "first does not wait for this, run it by 'env -u "
		 "ROWLOCK_HELD'",
		 look->name, rowlock_client_server(client), how, look->command,
		 look->nested->program);
	return ROWLOCK_EDEADLOCK;
}

static int refuse_permits(const struct look *look,
			  struct rowlock_client *client,
			  struct rowlock_errinfo *reterr)
{
	unsigned int permits = permits_of(look, client);
	char how[64];

	if (permits == 0 || look->own + look->nested->take <= permits)
		return 0;
	snprintf(how, sizeof(how), "has %u of its %u permits held for",
		 look->own, permits);
	return refuse(look, client, how, reterr);
}

static int judge(const struct look *look, struct rowlock_client *client,
		 struct rowlock_errinfo *reterr)
{
	if (look->own && look->nested->take)
		return refuse_permits(look, client, reterr);
	if (look->own)
		return refuse(look, client, "is held for", reterr);
	if (look->nested->reads && look->read && look->written)
		return refuse(look, client, "has a writer that waits for",
			      reterr);
	return 0;
}

int nested_check(const struct nested *nested, struct rowlock_client *client,
		 struct rowlock_errinfo *reterr)
{
	struct rowlock_list_options what = ROWLOCK_LIST_OPTIONS_DEFAULT;
	const char *held = getenv("ROWLOCK_HELD");

	what.flags = nested->strategy == ROWLOCK_ROW
			 ? ROWLOCK_LIST_ROWS | ROWLOCK_LIST_PROBE
			 : ROWLOCK_LIST_LEASES;
	for (size_t i = 0; held && i < nested->count; i++) {
		struct look look = { .nested = nested,
				     .name = nested->names[i],
				     .held = held,
				     .until_ms = pace_now_ms() + SIGHT_MS };
		int code;

		what.name = look.name;
		if (!strstr(held, look.name) ||
		    rowlock_list(client, &what, see, &look, NULL) < 0)
			continue;
		code = judge(&look, client, reterr);
		if (code < 0)
			return code;
	}
	return 0;
}
