/* SPDX-License-Identifier: MIT */
/*
 * The deadline thread: rings alarms when their time has come by our own clock,
 * and sees the sockets of row holds end. It sends nothing and calls no
 * callbacks, so only the scheduler can delay it.
 *
 * It sleeps until the earliest alarm. Setting an earlier alarm wakes it,
 * clearing one does not: so a wait that ends before its deadline costs no
 * thread switch.
 */
#include "background/deadline.h"

#include "hold/hold.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

/* The ends seen at once: each such batch costs a pass over all holds, and a
 * server that restarts ends ten thousand connections. */
#define ENDS_MOST 256

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}

/* A connection without a hold is idle, and the pool will notice; or it is in
 * use by a thread that may be about to begin a hold (grant.c). */
static void conns_ended_locked(struct rowlock_client *client, uint64_t *notes,
			       size_t count)
{
	struct rlk_hold *hold;
	size_t found = 0;

	qsort(notes, count, sizeof(*notes), compare);
	rlk_list_each (hold, &client->row_holds, node) {
		if (!rlk_hold_conn(hold) ||
		    !bsearch(rlk_conn_note(rlk_hold_conn(hold)), notes, count,
			     sizeof(*notes), compare))
			continue;
		found++;
		rlk_hold_lose_locked(hold, "its connection ended");
	}
	client->stray_ends += count - found;
}

/* If there are more ends, the sleep ends at once, and other threads get the
 * mutex in between. */
static void watch_ended_locked(struct rowlock_client *client)
{
	struct epoll_event events[ENDS_MOST];
	uint64_t notes[ENDS_MOST];
	int count = epoll_wait(client->sockets, events, ENDS_MOST, 0);

	for (int i = 0; i < count; i++)
		notes[i] = events[i].data.u64;
	if (count > 0)
		conns_ended_locked(client, notes, (size_t) count);
}

void rlk_deadline_run(void *arg)
{
	struct rowlock_client *client = arg;

	rlk_mutex_lock(&client->mutex);
	while (!client->stopping) {
		struct rlk_alarm *alarm;
		int64_t until;

		watch_ended_locked(client);
		while ((alarm = rlk_alarms_due(&client->alarms,
					       rlk_now(client->clock))))
			alarm->ring(alarm);
		until = rlk_alarms_next(&client->alarms);
		client->deadline_armed_ms = until;
		rlk_mutex_unlock(&client->mutex);
		rlk_sleeper_wait(&client->deadline_sleeper, until,
				 client->sockets);
		rlk_mutex_lock(&client->mutex);
	}
	rlk_mutex_unlock(&client->mutex);
}
