/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_NAMES_H
#define RLK_CORE_NAMES_H

/*
 * The names that this client knows: one struct rlk_name for each, with the hold
 * and the queue of local waiters. Only the first waiter talks to the server.
 *
 * Counted references: one of each handle on it and one of each hold that
 * somebody remembers. So the text is there once, whatever uses it, and neither
 * an acquire nor a release has to look for its name.
 *
 * Not locked: the client's mutex protects all that changes.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "strategy/strategy.h"

struct rlk_hold;
struct rowlock_client;

/** Of a name that two want at the same time: our own waiters must not take
 *  turns among themselves for ever. Times before the first: -RLK_NEVER. */
struct rlk_turn {
	int64_t others_seen_ms; /* when another client was last seen with it */
	int64_t began_ms;  /* since when it goes from one of ours to the next */
	bool over;         /* that has reached its bounds */
	int64_t probed_ms; /* when others were last let ask first */
	int64_t back_until_ms; /* until when they are, by whoever of ours is
				  next; 0: they are not */
};

struct rlk_name {
	/* As long as it lives. */
	struct rowlock_client *client;
	const struct rlk_strategy *strategy;

	struct rlk_name *next; /* in its bucket */
	uint32_t hash;
	unsigned int refs;
	struct rlk_hold *hold;   /* the one that is HELD or RELEASING, or NULL;
				    where there may be many, the last */
	struct rlk_list waiters; /* struct rlk_waiter, first come first */
	struct rlk_turn *turn;   /* NULL: one at a time has wanted it */
	uint64_t token; /* the largest that was shown of it, or seen by a watch;
			   0: none was */
	char text[];    /* terminated; for ever the same */
};

struct rlk_names {
	struct rowlock_client *client;
	struct rlk_name **buckets;
	size_t size; /* a power of two, 0 before the first */
	size_t count;
};

void rlk_names_fini(struct rlk_names *names);

/** NULL: it is not known. */
struct rlk_name *rlk_names_find(const struct rlk_names *names,
				const struct rlk_strategy *strategy,
				const char *text);

/** Find or make, and count one more; NULL: out of memory. */
struct rlk_name *rlk_names_get(struct rlk_names *names,
			       const struct rlk_strategy *strategy,
			       const char *text);

/** What messages call it; valid as long as the value is. */
struct rlk_name_shown {
	char text[ROWLOCK_NAME_MAX * 4 + 40];
};

/** Its text; of a set "a', 'b", or "a, ... (12 names)" if that is long: in
 *  quotes, as all names are. */
struct rlk_name_shown rlk_name_shown(const struct rlk_name *name);

void rlk_name_get(struct rlk_name *name);

/** Removes it with the last reference. */
void rlk_names_put(struct rlk_names *names, struct rlk_name *name);

/** @token is known of it: none that is not larger is shown from now on. */
void rlk_name_know_token(struct rlk_name *name, uint64_t token);

/** The name's turn; made, as of @began_ms, if there is none. NULL: no memory,
 *  which is less fair, not wrong. */
struct rlk_turn *rlk_name_turn(struct rlk_name *name, int64_t began_ms);

/** If nobody here has it or waits for it now, its turn is forgotten. */
void rlk_name_rest(struct rlk_name *name);

#endif
