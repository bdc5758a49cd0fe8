/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_ALARM_H
#define RLK_CORE_ALARM_H

/*
 * Alarms: a pairing heap of embedded nodes, so that setting one never needs
 * memory. Not locked: the client's mutex protects it.
 */

#include <stdbool.h>
#include <stdint.h>

struct rlk_alarm {
	int64_t at_ms;
	/** Called by the deadline thread with the client's mutex held, when the
	 *  time has come; the alarm is cleared by then. No I/O. NULL for the
	 *  pinger's, which handles them itself. */
	void (*ring)(struct rlk_alarm *alarm);
	struct rlk_alarm *child;
	struct rlk_alarm *next;
	struct rlk_alarm *prev; /* sibling before, or parent of a first child */
	bool set;
};

struct rlk_alarms {
	struct rlk_alarm *first;
};

/** Set, or move. */
void rlk_alarms_set(struct rlk_alarms *alarms, struct rlk_alarm *alarm,
		    int64_t at_ms);

/** Does nothing if it is not set. */
void rlk_alarms_clear(struct rlk_alarms *alarms, struct rlk_alarm *alarm);

/** Take the earliest if its time has come, else NULL. */
struct rlk_alarm *rlk_alarms_due(struct rlk_alarms *alarms, int64_t now_ms);

/** The time of the earliest, RLK_NEVER if none is set. */
int64_t rlk_alarms_next(const struct rlk_alarms *alarms);

#endif
