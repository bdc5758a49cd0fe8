/* SPDX-License-Identifier: MIT */
/*
 * Shows entries as lines and as JSON; table.c has the table.
 *
 * Unknown values are shown as "-" or null, never 0. Failure modes: main()
 * checks that stdout could be written.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "common/text.h"
#include "show/entries.h"
#include "show/json.h"
#include "show/request.h"

static void put_field(const char *key, const char *value)
{
	printf("%-11s ", key);
	text_escape(stdout, *value ? value : "-", true);
	putchar('\n');
}

static void put_number(const char *key, bool known, uint64_t value,
		       const char *tail)
{
	if (known)
		printf("%-11s %" PRIu64 "%s\n", key, value, tail);
	else
		printf("%-11s -\n", key);
}

static void put_span(const char *key, bool known, uint64_t ms, const char *tail)
{
	char text[TEXT_SPAN_SIZE];

	text_span(ms, text);
	if (known)
		printf("%-11s %s%s (%" PRIu64 " ms)\n", key, text, tail, ms);
	else
		printf("%-11s -\n", key);
}

static bool has_end(const struct rowlock_entry *entry)
{
	return entry->strategy == ROWLOCK_LEASE && !entry_waits(entry) &&
	       entry->state != ROWLOCK_STATE_FREE;
}

/* One line: there may be many. */
static void put_waiter(const struct rowlock_entry *entry)
{
	char who[2100], span[TEXT_SPAN_SIZE];

	entry_holder(entry, who, sizeof(who));
	printf(
	    "%-11s %" PRIu64 ". in line (%s, %s): ", "waiting:", entry->place,
	    strategy_word(entry->strategy), kind_word(entry->kind));
	text_escape(stdout, who, true);
	text_span(entry->held_ms, span);
	if (*entry->acquired_at)
		printf(" for %s (%" PRIu64 " ms)", span, entry->held_ms);
	putchar('\n');
}

void entry_put_lines(const struct rowlock_entry *entry)
{
	bool dead = entry->state == ROWLOCK_STATE_DEAD;

	if (entry_waits(entry)) {
		put_waiter(entry);
		return;
	}

	put_field("name:", entry->name);
	put_field("strategy:", strategy_word(entry->strategy));
	put_field("kind:", kind_word(entry->kind));
	printf("%-11s %u\n", "slot:", entry->slot);
	put_field("state:", state_word(entry->state));
	put_field("info:", entry->info);
	put_field("host:", entry->host);
	put_number("pid:", entry->pid > 0, entry->pid, "");
	put_field("program:", entry->program);
	put_field("acquired:", entry->acquired_at);
	put_span("held:", *entry->acquired_at, entry->held_ms, "");
	if (dead)
		put_span("expired:", entry->expired_ms > 0, entry->expired_ms,
			 " ago");
	else
		put_span("expires:", has_end(entry), entry->remaining_ms, "");
	put_number("session:", entry->session > 0, entry->session, "");
	put_number("attempt:", entry->attempt > 0, entry->attempt, "");
	put_number("token:", entry->token > 0, entry->token, "");
	if (entry->connection > 0)
		put_number("connection:", true, entry->connection, "");
}

/* A token counts microseconds and stays below 2^53 until 2255. */
void entry_put_json(const struct rowlock_entry *entry,
		    const struct rowlock_revocation *asked)
{
	fputs("{\"name\":", stdout);
	text_json(stdout, entry->name);
	json_text("strategy", strategy_word(entry->strategy));
	json_text("kind", kind_word(entry->kind));
	printf(",\"slot\":%u", entry->slot);
	json_text("state", state_word(entry->state));
	json_text("info", entry->info);
	json_known("host", entry->host);
	json_number("pid", entry->pid > 0, entry->pid);
	json_known("program", entry->program);
	json_time("acquired_at", entry->acquired_at);
	json_number("held_ms", *entry->acquired_at, entry->held_ms);
	json_number("remaining_ms", has_end(entry), entry->remaining_ms);
	json_number("expired_ms", entry->expired_ms > 0, entry->expired_ms);
	json_bits("session", entry->session);
	json_bits("attempt", entry->attempt);
	json_number("token", entry->token > 0, entry->token);
	json_number("connection", entry->connection > 0, entry->connection);
	json_number("place", entry_waits(entry), entry->place);
	if (asked)
		request_put_json(asked);
	putchar('}');
}
