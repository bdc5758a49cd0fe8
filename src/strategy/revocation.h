/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_REVOCATION_H
#define RLK_STRATEGY_REVOCATION_H

/*
 * Requests to give a lease back: rows of lease_revocation. One belongs to a
 * hold by its name and attempt, and says nothing to any other. No statement of
 * an acquire or a release knows the table, so the row of a hold that is over
 * stays until a reaper removes it.
 *
 * As for strategies: no mutex held, may block until @conn's deadline.
 */

#include "strategy/strategy.h"

/** A request of this client. */
struct rlk_asking {
	const char *name;
	const char *reason;
	const char *host;
	const char *program;
	unsigned int pid;
};

/** The hold of a name that lives, and the request for it. */
struct rlk_revocation {
	uint64_t session; /* of the client that has it */
	uint64_t request; /* its random number, or 0 without one */
	struct rowlock_revocation known;
};

/** Look for the hold of @name, a lock, and its request. *@ret_held: a client
 *  that lives holds it. */
enum rlk_fault rlk_revocation_look(struct rlk_conn *conn, const char *name,
				   struct rlk_revocation *ret_revocation,
				   bool *ret_held,
				   struct rowlock_errinfo *reterr);

/** Write the request for the hold that was found, in the place of another's,
 *  and have the holder look for it behind its next beat. @found becomes what is
 *  known of it now. *@ret_told: the holder's session was there. May be
 *  repeated. */
enum rlk_fault rlk_revocation_ask(struct rlk_conn *conn,
				  const struct rlk_asking *asking,
				  struct rlk_revocation *found, bool *ret_told,
				  struct rowlock_errinfo *reterr);

/** Tell @fn each request without an answer for a lease of session @id, itself
 *  or by a keep: at most 256. *@ret_count: of them. */
enum rlk_fault rlk_revocations_of(struct rlk_conn *conn, uint64_t id,
				  void (*fn)(const struct rlk_revocation *,
					     void *),
				  void *arg, size_t *ret_count,
				  struct rowlock_errinfo *reterr);
#define RLK_REVOCATIONS_MOST 256

/** Write the answer to this very request. */
enum rlk_fault rlk_revocation_answer(struct rlk_conn *conn,
				     const struct rlk_revocation *to,
				     enum rowlock_answer answer,
				     struct rowlock_errinfo *reterr);

/** Is this the refusal of each such question? Tables of version 7 have none of
 *  these rows, and an account that was made for them has no right on it. */
static inline bool rlk_revocations_lack(enum rlk_fault fault,
					const struct rowlock_errinfo *error)
{
	return fault == RLK_REFUSED &&
	       (error->code == ROWLOCK_ESCHEMA || error->code == ROWLOCK_EAUTH);
}

/** Delete requests of holds that are over, at most @most. *@ret_count: of
 *  those that were found. */
enum rlk_fault rlk_revocations_drop(struct rlk_conn *conn, unsigned int most,
				    size_t *ret_count,
				    struct rowlock_errinfo *reterr);

#endif
