/* SPDX-License-Identifier: MIT */
#ifndef CLI_SIGHT_H
#define CLI_SIGHT_H

/*
 * The holder of a name that this process waits for, in words.
 */

#include <rowlock/admin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The flag of rowlock_list() for the names of @strategy only. */
static inline unsigned int sight_flag(enum rowlock_strategy strategy)
{
	return strategy == ROWLOCK_ROW ? ROWLOCK_LIST_ROWS
				       : ROWLOCK_LIST_LEASES;
}

/** A question: the names, and the kinds of their rows. */
struct sight_of {
	const char *const *names;
	size_t count;
	enum rowlock_strategy strategy;
	unsigned int kinds; /* a bit, 1 << enum rowlock_kind, each; 0: all */
};

/** Room for sight_say(). */
#define SIGHT_SIZE 512

/** All zero to begin with. */
struct sight {
	unsigned int kinds; /* as above */
	bool row;           /* the row strategy: not every account may see it */
	bool looked;        /* the server has answered */
	bool held;          /* it has a holder */
	bool dead;          /* which is gone */
	bool kept;          /* which has left it, or is gone, and it is kept */
	bool cut;           /* there were more rows than time */
	unsigned int seen;  /* the number of rows, */
	unsigned int among; /* and of holds among them */
	uint64_t until_ms;  /* of pace_now_ms(); then it is cut */
	uint64_t held_ms;   /* of the oldest one, at seen_ms */
	uint64_t seen_ms;   /* pace_now_ms() */
	bool age_known;
	char holder[192];
	char info[128];
};

/** A rowlock_list_fn; @sight is a struct sight. This process's own rows do not
 *  count: a writer waits for readers with its own row. */
int sight_see(const struct rowlock_entry *entry, void *sight);

/** The time that a look beside other work may take. */
#define SIGHT_MS 2000

/** Ask the server. For several names: the first that others have. The question
 *  ends after @most_ms, as a server may have rows without an end; its first
 *  answer is read in any case. Returns rowlock_list()'s codes. */
int sight_look(struct rowlock_client *client, const struct sight_of *of,
	       uint64_t most_ms, struct sight *ret_sight,
	       struct rowlock_errinfo *reterr);

/** Is the name free, or its holder dead? Not if the look was cut. */
bool sight_is_free(const struct sight *sight);

/** "held for 4m05s by job[42]@db7 (its info), and by 2 more", into a room of
 *  SIGHT_SIZE; "" if the server was not asked, or has not answered. */
void sight_say(const struct sight *sight, char *ret_text);

#endif
