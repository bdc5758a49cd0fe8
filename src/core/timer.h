/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_TIMER_H
#define RLK_CORE_TIMER_H

/* Alarms and sockets that the deadline thread watches. */

#include "core/client.h"

/** @alarm rings at @at_ms. */
void rlk_deadline_set_locked(struct rowlock_client *client,
			     struct rlk_alarm *alarm, int64_t at_ms);

/** Watch the socket of @conn until it ends: the row hold that has @conn by then
 *  is lost. Returns 0 or -errno. */
int rlk_deadline_watch_locked(struct rowlock_client *client,
			      struct rlk_conn *conn);

#endif
