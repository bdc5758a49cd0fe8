/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_NAMES_H
#define RLK_CORE_NAMES_H

/*
 * The names that this client knows: one struct rlk_name for each, with the hold
 * and the queue of local waiters. Only the first waiter asks the server.
 *
 * Counted references: one of each handle on it and one of each hold that still
 * exists. So the text is stored once, and neither an acquire nor a release has
 * to look up its name.
 *
 * Not locked: the client's mutex protects all that changes.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "strategy/strategy.h"

struct rlk_hold;
struct rowlock_client;

/** The turn of a name that two threads want at the same time: our own waiters
 *  must not pass it among themselves for ever. -RLK_NEVER: no time yet. */
struct rlk_turn {
	int64_t others_seen_ms; /* when another client was last seen with it */
	int64_t began_ms;       /* when the turn among ours began */
	bool over;              /* the turn has reached its bounds */
	int64_t probed_ms;      /* when others could last ask first */
	int64_t back_until_ms;  /* until when our next waiter lets them; 0: not
				   now */
};

struct rlk_name {
	/* As long as it lives. */
	struct rowlock_client *client;
	const struct rlk_strategy *strategy;

	struct rlk_name *next; /* in its bucket */
	uint32_t hash;
	unsigned int refs;
	struct rlk_hold *hold;   /* the one that is HELD or RELEASING, or NULL;
				    of several, the last */
	struct rlk_list waiters; /* struct rlk_waiter, first come first */
	struct rlk_turn *turn;   /* NULL: never wanted by two at once */
	uint64_t token; /* the largest that was shown, or seen by a watch; 0:
			   none */
	char text[];    /* terminated; constant */
};

struct rlk_names {
	struct rowlock_client *client;
	struct rlk_name **buckets;
	size_t size; /* a power of two, 0 before the first */
	size_t count;
};

void rlk_names_fini(struct rlk_names *names);

/** Returns NULL for an unknown name. */
struct rlk_name *rlk_names_find(const struct rlk_names *names,
				const struct rlk_strategy *strategy,
				const char *text);

/** Find or make, and count one more. Returns NULL if memory is out. */
struct rlk_name *rlk_names_get(struct rlk_names *names,
			       const struct rlk_strategy *strategy,
			       const char *text);

/** The name in messages; the text is part of the value. */
struct rlk_name_shown {
	char text[ROWLOCK_NAME_MAX * 4 + 40];
};

/** Its text; of a set "a', 'b", or "a, ... (12 names)" if that is long: in
 *  quotes, as all names are. */
struct rlk_name_shown rlk_name_shown(const struct rlk_name *name);

void rlk_name_get(struct rlk_name *name);

/** Removes it with the last reference. */
void rlk_names_put(struct rlk_names *names, struct rlk_name *name);

/** Note that @token is known: only larger ones are shown from now on. */
void rlk_name_know_token(struct rlk_name *name, uint64_t token);

/** The name's turn; made, as of @began_ms, if there is none. NULL if memory is
 *  out, which is less fair, not wrong. */
struct rlk_turn *rlk_name_turn(struct rlk_name *name, int64_t began_ms);

/** Forget the name's turn if no thread here has it or waits for it. */
void rlk_name_rest(struct rlk_name *name);

#endif
