/* SPDX-License-Identifier: MIT */
/*
 * Finds the holder of a name.
 *
 * One line has room for one holder: the one that has held longest. Failure
 * modes: the server's; an account that may not see a row's holder is told so.
 */
#include "show/sight.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/pace.h"
#include "common/text.h"
#include "show/entries.h"

/* As many as the library asks for at a time. */
#define FIRST_ANSWER 256

static void see(struct sight *sight, const struct rowlock_entry *entry)
{
	bool dead = entry->state == ROWLOCK_STATE_DEAD;
	bool kept = entry->state == ROWLOCK_STATE_KEPT;
	bool older;

	if ((entry->state != ROWLOCK_STATE_HELD && !dead && !kept) ||
	    entry->kind == ROWLOCK_KIND_CANDIDATE ||
	    (sight->kinds && !(sight->kinds & 1u << entry->kind)) ||
	    entry_is_of(entry, (unsigned int) getpid()))
		return;
	/* A live holder blocks longer than a dead one. */
	older = !sight->held || sight->dead > dead ||
		(sight->dead == dead && entry->held_ms > sight->held_ms);
	sight->held = true;
	sight->among++;
	sight->seen_ms = pace_now_ms();
	if (!older)
		return;
	sight->dead = dead;
	sight->kept = kept;
	sight->held_ms = entry->held_ms;
	sight->age_known = *entry->acquired_at != '\0';
	entry_holder(entry, sight->holder, sizeof(sight->holder));
	snprintf(sight->info, sizeof(sight->info), "%s", entry->info);
}

int sight_see(const struct rowlock_entry *entry, void *arg)
{
	struct sight *sight = arg;

	see(sight, entry);
	if (++sight->seen < FIRST_ANSWER || pace_now_ms() < sight->until_ms)
		return 0;
	sight->cut = true;
	return 1;
}

bool sight_is_free(const struct sight *sight)
{
	return (!sight->held || sight->dead) && !sight->cut;
}

int sight_look(struct rowlock_client *client, const struct sight_of *of,
	       uint64_t most_ms, struct sight *ret_sight,
	       struct rowlock_errinfo *reterr)
{
	struct rowlock_list_options what = ROWLOCK_LIST_OPTIONS_DEFAULT;
	struct sight sight = { .looked = true,
			       .kinds = of->kinds,
			       .row = of->strategy == ROWLOCK_ROW,
			       .until_ms = pace_now_ms() + most_ms };

	what.flags = sight_flag(of->strategy);
	for (size_t i = 0; i < of->count && !sight.held && !sight.cut; i++) {
		int r;

		what.name = of->names[i];
		r = rowlock_list(client, &what, sight_see, &sight, reterr);
		if (r < 0)
			return r;
	}
	*ret_sight = sight;
	return 0;
}

void sight_say(const struct sight *sight, char *ret_text)
{
	char span[TEXT_SPAN_SIZE];
	size_t used;

	*ret_text = '\0';
	if (!sight->looked)
		return;
	if (!sight->held && sight->cut) {
		snprintf(ret_text, SIGHT_SIZE, "%s",
			 "held or not: the server tells of more than could be "
			 "looked at");
		return;
	}
	if (!sight->held) {
		snprintf(ret_text, SIGHT_SIZE, "%s",
			 sight->row
			     ? "held, and this account is not told by whom"
			     : "held by nobody, for a moment");
		return;
	}
	text_span(sight->held_ms + pace_now_ms() - sight->seen_ms, span);
	/* The row of its session, which names a dead holder, may be gone. */
	used = (size_t) snprintf(
	    ret_text, SIGHT_SIZE, "held%s%s by %s%s",
	    sight->age_known ? " for " : "", sight->age_known ? span : "",
	    *sight->holder ? sight->holder : "somebody",
	    sight->dead   ? ", which is dead"
	    : sight->kept ? ", which has ended; its name is kept: 'rowlock "
			    "list' shows until when, 'rowlock break' frees it"
			  : "");
	if (*sight->info)
		used += (size_t) snprintf(ret_text + used, SIGHT_SIZE - used,
					  " (%s)", sight->info);
	if (sight->among > 1)
		snprintf(ret_text + used, SIGHT_SIZE - used,
			 ", and by %s%u more", sight->cut ? "at least " : "",
			 sight->among - 1);
}
