/* SPDX-License-Identifier: MIT */
/*
 * Exports a lease, and adopts one. The export is this client's alone: from its
 * moment on the hold is not held here, and nothing is sent but a waiter woken.
 * So there is no moment in which two believe to hold it: the exporter has
 * ceased before there is a string. The adoption is a statement of the server
 * (strategy/offer.c, wait/adopting.c).
 */
#include <rowlock/adoption.h>

#include "api/release.h"
#include "base/error.h"
#include "core/call.h"
#include "hold/keeping.h"
#include "wait/line.h"

#include <stdio.h>
#include <string.h>

static int refuse(const struct rowlock *lock, const char *what, int code,
		  const char *why, struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, code, "%s " RLK_LOCK_FORMAT ": %s", what,
			RLK_LOCK_ARGS(lock), why);
}

/* A maximum and a keep are times of the row, or of a second one, that only its
 * first holder knows. */
static int check_kind(const struct rowlock *lock, const char *what,
		      struct rowlock_errinfo *reterr)
{
	if (lock->recipe || lock->name->strategy != rlk_strategy(ROWLOCK_LEASE))
		return refuse(lock, what, ROWLOCK_EUNSUPPORTED,
			      "only a plain lease can be exported: it is one "
			      "row that needs no connection",
			      reterr);
	if (lock->max_hold_ms || lock->has_keep)
		return refuse(
		    lock, what, ROWLOCK_EUNSUPPORTED,
		    "a lease with a maximum, a time at least or a delay "
		    "after a loss cannot be exported, as these "
		    "count from its acquire",
		    reterr);
	return 0;
}

static int check_hold(struct rowlock *lock, struct rlk_hold *hold,
		      struct rowlock_errinfo *reterr)
{
	if (!rlk_hold_check_locked(hold))
		return rlk_fail(reterr, ROWLOCK_ELOST,
				"export " RLK_LOCK_FORMAT
				": it is not held any more (%s)",
				RLK_LOCK_ARGS(lock), hold->reason);
	if (hold->depth > 1)
		return refuse(lock, "export", ROWLOCK_EHELD,
			      "several levels of it are held; release all but "
			      "one first",
			      reterr);
	if (hold->guard.in_transaction || hold->guard.commit_may_come)
		return refuse(lock, "export", ROWLOCK_EHELD,
			      "a transaction that was begun with it is open, "
			      "or its outcome is not known; commit it, or roll "
			      "it back, first",
			      reterr);
	/* Another handle of the name may have asked for a time. */
	if (rlk_hold_has_maximum(hold) || rlk_hold_is_kept(hold))
		return refuse(lock, "export", ROWLOCK_EUNSUPPORTED,
			      "its hold has a maximum or is kept", reterr);
	return 0;
}

/* Give the hold up. Returns it with a reference. */
static struct rlk_hold *give_up(struct rowlock *lock, int *ret_code,
				struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);
	struct rlk_hold *hold =
	    rlk_lock_hold_locked(lock, false, ret_code, reterr);

	if (!hold)
		return NULL;
	*ret_code = check_hold(lock, hold, reterr);
	if (*ret_code)
		return NULL;
	rlk_hold_get_locked(hold);
	rlk_hold_export_locked(hold);
	return hold;
}

static int export(struct rowlock *lock, char *text,
		  struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	int code;
	struct rlk_hold *hold = give_up(lock, &code, reterr);
	struct rlk_offer offer;

	if (!hold)
		return code;
	offer = (struct rlk_offer){ hold->session, hold->attempt };
	rlk_offer_write(&client->bell_key, lock->name->text, &offer, text);
	/* The adopter has no bell: whoever is next in line looks by itself. */
	rlk_release_bell(hold, rlk_client_call_until(client));
	rlk_mutex_lock(&client->mutex);
	rlk_hold_put_locked(hold);
	rlk_mutex_unlock(&client->mutex);
	return 0;
}

int rowlock_export(struct rowlock *lock, char *text, size_t size,
		   struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	int code = rlk_lock_refuses(lock, reterr);

	if (!code && !text)
		code = rlk_fail_null("the room for the string", reterr);
	if (!code && size < ROWLOCK_EXPORT_SIZE)
		code = refuse(lock, "export", ROWLOCK_EINVAL,
			      "the string does not fit; give "
			      "ROWLOCK_EXPORT_SIZE bytes",
			      reterr);
	if (!code)
		code = check_kind(lock, "export", reterr);
	if (code)
		return code;
	rlk_lock_enter(lock);
	code = export(lock, text, reterr);
	rlk_lock_leave(lock);
	return code;
}

/* Cut or pasted twice, or another text: its length tells which. */
static int refuse_form(const struct rowlock *lock, size_t length,
		       struct rowlock_errinfo *reterr)
{
	static const char what[] = "this is no string of an export";
	char words[128];

	if (length == RLK_OFFER_LENGTH)
		return refuse(lock, "adopt", ROWLOCK_EINVAL, what, reterr);
	snprintf(words, sizeof(words),
		 "%s, which has %d characters: it has %zu%s", what,
		 RLK_OFFER_LENGTH, length,
		 length == ROWLOCK_EXPORT_SIZE ? " or more" : "");
	return refuse(lock, "adopt", ROWLOCK_EINVAL, words, reterr);
}

static int read_offer(const struct rowlock *lock, const char *text,
		      struct rlk_offer *ret_offer,
		      struct rowlock_errinfo *reterr)
{
	switch (rlk_offer_read(&lock->name->client->bell_key, lock->name->text,
			       text, ret_offer)) {
	case RLK_OFFER_READ:
		return 0;
	case RLK_OFFER_FOREIGN:
		return refuse(lock, "adopt", ROWLOCK_EINVAL,
			      "the string was made for another name, or on "
			      "another database, or was altered",
			      reterr);
	default:
		return refuse_form(lock, strnlen(text, ROWLOCK_EXPORT_SIZE),
				   reterr);
	}
}

/* Is it held already? */
static int check_free(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	return rlk_lock_holds(lock)
		   ? refuse(lock, "adopt", ROWLOCK_EHELD,
			    "this handle holds it already", reterr)
		   : 0;
}

int rowlock_adopt(struct rowlock *lock, const char *text,
		  struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	int code = rlk_lock_refuses(lock, reterr);
	struct rowlock_errinfo error;
	struct rlk_offer offer;

	if (!code && !text)
		code = rlk_fail_null("the string", reterr);
	if (!code)
		code = check_kind(lock, "adopt", reterr);
	if (!code)
		code = read_offer(lock, text, &offer, reterr);
	if (!code)
		code = check_free(lock, reterr);
	if (code)
		return code;
	rlk_lock_enter(lock);
	code = rlk_adopt(lock, &offer, &error);
	rlk_lock_leave(lock);
	if (code && reterr)
		*reterr = error;
	return code;
}
