/* SPDX-License-Identifier: MIT */
/*
 * Finds our place among those that rowlock_list_waiters() tells of.
 *
 * Failure modes: an account that may not see all, a server that shows no line,
 * and the server's errors: then the place is a bound, or not known.
 */
#include "show/in_line.h"

#include <inttypes.h>
#include <rowlock/admin.h>
#include <stdio.h>
#include <unistd.h>

#include "base/macro.h"
#include "show/entries.h"

static const char *const ordinals[] = {
	"first", "second",  "third",  "fourth", "fifth",
	"sixth", "seventh", "eighth", "ninth",  "tenth",
};

static int see(const struct rowlock_entry *entry, void *arg)
{
	struct in_line *in_line = arg;

	if (!entry_is_of(entry, (unsigned int) getpid()))
		return 0;
	in_line->place = entry->place;
	return 1;
}

void in_line_look(struct rowlock_client *client, const struct sight_of *of,
		  struct in_line *ret_in_line)
{
	struct rowlock_list_options what = ROWLOCK_LIST_OPTIONS_DEFAULT;
	struct rowlock_waiters_result result = { .size = sizeof(result) };
	struct in_line in_line = { .looked = true };

	*ret_in_line = (struct in_line){ .looked = false };
	what.flags = sight_flag(of->strategy);
	what.name = of->names[0];
	/* The waiting thread reports the server's errors. */
	if (rowlock_list_waiters(client, &what, see, &in_line, &result, NULL) <
	    0)
		return;
	snprintf(in_line.unseen, sizeof(in_line.unseen), "%s",
		 result.incomplete);
	*ret_in_line = in_line;
}

void in_line_say(const struct in_line *in_line, char *ret_text)
{
	const char *bound = *in_line->unseen ? " or later" : "";

	*ret_text = '\0';
	if (in_line->place > RLK_ARRAY_SIZE(ordinals))
		snprintf(ret_text, IN_LINE_SIZE,
			 ", number %" PRIu64 "%s in line", in_line->place,
			 bound);
	else if (in_line->place > 0)
		snprintf(ret_text, IN_LINE_SIZE, ", %s%s in line",
			 ordinals[in_line->place - 1], bound);
}
