/* SPDX-License-Identifier: MIT */
/*
 * Failure modes: a statement is known by a bit of 64, so one that never worked
 * may be taken for another that did, and is patient for nothing.
 */
#include "db/refusal.h"

#include "db/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "db/schema.h"

/* After this long without one the next refusal is another one. A wait asks
 * about once a second. */
#define QUIET_MS 60000

static uint64_t bit_of(const char *label)
{
	unsigned int hash = 0;

	while (*label)
		hash = hash * 31 + (unsigned char) *label++;
	return UINT64_C(1) << hash % 64;
}

void rlk_refusal_init(struct rlk_refusal *refusal,
		      const struct rlk_clock *clock, uint64_t most_ms)
{
	*refusal = (struct rlk_refusal){ .clock = clock, .most_ms = most_ms };
	rlk_mutex_init(&refusal->mutex);
}

void rlk_refusal_fini(struct rlk_refusal *refusal)
{
	rlk_mutex_fini(&refusal->mutex);
}

void rlk_refusal_begin(struct rlk_refusal *refusal)
{
	if (refusal)
		atomic_store(&refusal->taken, true);
}

void rlk_refusal_worked(struct rlk_refusal *refusal, const char *label)
{
	uint64_t bit;

	if (!refusal)
		return;
	bit = bit_of(label);
	if (!(atomic_load(&refusal->worked) & bit))
		atomic_fetch_or(&refusal->worked, bit);
}

/* The words of 1146 name the table. */
static bool names_optional(const char *words)
{
	return strstr(words, "." RLK_JOB_RUN "'") ||
	       strstr(words, "." RLK_REVOCATION "'");
}

static bool worked_before(const struct rlk_refusal *refusal, const char *label)
{
	return atomic_load(&refusal->worked) & bit_of(label);
}

/* A right that the account lacks on one statement's table or column (1142,
 * 1143) it may never have had: some statements are only for those that may. And
 * there may never have been the table, of an older version. */
static bool took_before(const struct rlk_refusal *refusal, const char *label,
			const struct rowlock_errinfo *error)
{
	if (!atomic_load(&refusal->taken))
		return false;
	if (label && error->mysql == 1146 && names_optional(error->message))
		return worked_before(refusal, label);
	if (error->code == ROWLOCK_ESCHEMA || !label)
		return true;
	switch (error->mysql) {
	case 1142:
	case 1143:
		return worked_before(refusal, label);
	case 1227:
		return false;
	default:
		return true;
	}
}

/* Returns for how long it has been refused. */
static int64_t note(struct rlk_refusal *refusal, const char *message)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&refusal->mutex);
	int64_t now = rlk_now(refusal->clock);

	if (!refusal->any || now - refusal->last_ms > QUIET_MS) {
		refusal->since_ms = now;
		snprintf(refusal->message, sizeof(refusal->message), "%s",
			 message);
		atomic_store(&refusal->unreported, true);
	}
	refusal->any = true;
	refusal->last_ms = now;
	return now - refusal->since_ms;
}

void rlk_refusal_judge(struct rlk_refusal *refusal, const char *label,
		       struct rowlock_errinfo *error)
{
	if ((error->code == ROWLOCK_EAUTH || error->code == ROWLOCK_ESCHEMA) &&
	    refusal && took_before(refusal, label, error) &&
	    note(refusal, error->message) < (int64_t) refusal->most_ms)
		error->code = ROWLOCK_ECONNECT;
}

void rlk_refusal_report(struct rlk_refusal *refusal, const struct rlk_log *log)
{
	char message[sizeof(refusal->message)];

	if (!atomic_load(&refusal->unreported) ||
	    !atomic_exchange(&refusal->unreported, false))
		return;
	rlk_mutex_lock(&refusal->mutex);
	memcpy(message, refusal->message, sizeof(message));
	rlk_mutex_unlock(&refusal->mutex);
	rlk_log(log, ROWLOCK_LOG_ERROR,
		"%s; this worked before, so it is tried again for %" PRIu64
		" s",
		message, refusal->most_ms / 1000);
}
