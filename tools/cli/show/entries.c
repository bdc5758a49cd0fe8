/* SPDX-License-Identifier: MIT */
/*
 * Collect the entries of rowlock_list().
 *
 * Failure modes: without memory, or if a server returns more than is kept, the
 * list is marked as incomplete.
 */
#include "show/entries.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "common/report.h"

static void entry_fini(struct rowlock_entry *entry)
{
	free((char *) entry->name);
	free((char *) entry->info);
	free((char *) entry->host);
	free((char *) entry->program);
	free((char *) entry->acquired_at);
}

void entries_clear(struct entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		entry_fini(&entries->list[i]);
	entries->count = 0;
	entries->bytes = 0;
}

void entries_fini(struct entries *entries)
{
	entries_clear(entries);
	free(entries->list);
}

static const char *copy(const char *text)
{
	return strdup(text ? text : "");
}

static bool grow(struct entries *entries)
{
	size_t room = entries->room ? 2 * entries->room : 64;
	struct rowlock_entry *list;

	if (entries->count < entries->room)
		return true;
	list = reallocarray(entries->list, room, sizeof(*list));
	if (!list)
		return false;
	entries->list = list;
	entries->room = room;
	return true;
}

static size_t size_of(const struct rowlock_entry *entry)
{
	return sizeof(*entry) + strlen(entry->name) + strlen(entry->info) +
	       strlen(entry->host) + strlen(entry->program) +
	       strlen(entry->acquired_at);
}

int entries_add(const struct rowlock_entry *entry, void *arg)
{
	struct entries *entries = arg;
	struct rowlock_entry mine = *entry;

	if (entries->bytes > ENTRIES_MOST) {
		entries->full = true;
		return 1;
	}
	mine.name = copy(entry->name);
	mine.info = copy(entry->info);
	mine.host = copy(entry->host);
	mine.program = copy(entry->program);
	mine.acquired_at = copy(entry->acquired_at);
	if (!mine.name || !mine.info || !mine.host || !mine.program ||
	    !mine.acquired_at || !grow(entries)) {
		entry_fini(&mine);
		entries->failed = true;
		return 1;
	}
	entries->list[entries->count++] = mine;
	entries->bytes += size_of(&mine);
	return 0;
}

static int fail_incomplete(const struct entries *entries, const char *name,
			   const char *server, struct rowlock_errinfo *reterr)
{
	int code = entries->full ? ROWLOCK_EDB : ROWLOCK_ENOMEM;

	if (!reterr)
		return code;
	reterr->code = code;
	if (entries->full)
		snprintf(reterr->message, sizeof(reterr->message),
			 "list '%.150s': %.200s tells of more than %zu holds, "
			 "which are more than are kept (%d MiB); look what "
			 "answers there, or have them shown as they come by "
			 "'rowlock list'",
			 name, server, entries->count, ENTRIES_MOST >> 20);
	else
		snprintf(reterr->message, sizeof(reterr->message),
			 "list '%.150s': out of memory after %zu holds on "
			 "%.200s; have them shown as they come by 'rowlock "
			 "list'",
			 name, entries->count, server);
	return code;
}

int entries_read(struct entries *entries, struct rowlock_client *client,
		 const struct rowlock_list_options *options,
		 struct rowlock_errinfo *reterr)
{
	int r = rowlock_list(client, options, entries_add, entries, reterr);

	if (r == 0 && (entries->failed || entries->full))
		r = fail_incomplete(entries, options->name,
				    rowlock_client_server(client), reterr);
	return r;
}

int entries_read_waiters(struct entries *entries, struct rowlock_client *client,
			 const struct rowlock_list_options *options,
			 struct rowlock_waiters_result *ret_result,
			 struct rowlock_errinfo *reterr)
{
	int r;

	*ret_result =
	    (struct rowlock_waiters_result){ .size = sizeof(*ret_result) };
	r = rowlock_list_waiters(client, options, entries_add, entries,
				 ret_result, reterr);
	if (r == 0 && (entries->failed || entries->full))
		r = fail_incomplete(entries, options->name,
				    rowlock_client_server(client), reterr);
	return r;
}

void entries_report_incomplete(const struct rowlock_waiters_result *result)
{
	if (*result->incomplete)
		report(ROWLOCK_LOG_WARNING, "waiters may be missing: %s",
		       result->incomplete);
}

bool entry_waits(const struct rowlock_entry *entry)
{
	return entry->place > 0;
}

bool entry_is_of(const struct rowlock_entry *entry, unsigned int pid)
{
	char host[256] = "";

	if (entry->pid != pid)
		return false;
	gethostname(host, sizeof(host) - 1);
	return strcmp(host, entry->host) == 0;
}

bool entry_is_nameless(const struct rowlock_entry *entry)
{
	return entry->strategy == ROWLOCK_ROW &&
	       entry->state == ROWLOCK_STATE_HELD && entry->connection == 0;
}
