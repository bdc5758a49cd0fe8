/* SPDX-License-Identifier: MIT */
#ifndef CLI_SIGHT_H
#define CLI_SIGHT_H

/*
 * Who has what one waits for, in words.
 */

#include <rowlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What is asked about. */
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
	bool row;           /* of which not everybody is told */
	bool looked;        /* the server has answered */
	bool held;          /* somebody has it */
	bool dead;          /* ... and is gone */
	bool cut;           /* there was more than could be looked at */
	unsigned int seen;  /* so many rows were told of, */
	unsigned int among; /* and so many holds were seen */
	uint64_t until_ms;  /* of clock_ms(); then it is cut */
	uint64_t held_ms;   /* of the oldest one, at seen_ms */
	uint64_t seen_ms;   /* clock_ms() */
	bool age_known;
	char holder[192];
	char info[128];
};

/** A rowlock_list_fn; @sight is a struct sight. What this process has itself
 *  does not count: a writer waits for readers with its own row. */
int sight_see(const struct rowlock_entry *entry, void *sight);

/** So long it takes who looks by the way. */
#define SIGHT_MS 2000

/** Ask the server. Of several names it is the first that others have. After
 *  @most_ms no more is asked for: a server may have more without an end. The
 *  first answer is looked at in any case. Returns rowlock_list()'s codes. */
int sight_look(struct rowlock_client *client, const struct sight_of *of,
	       uint64_t most_ms, struct sight *ret_sight,
	       struct rowlock_errinfo *reterr);

/** Has nobody been seen who has it, or only who is dead? No, if more could have
 *  been looked at. */
bool sight_is_free(const struct sight *sight);

/** "held for 4m05s by job[42]@db7 (its info), and by 2 more", into a room of
 *  SIGHT_SIZE; "" if the server was not asked, or has not answered. */
void sight_say(const struct sight *sight, char *ret_text);

#endif
