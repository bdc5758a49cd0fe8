/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_WATCH_H
#define RLK_BACKGROUND_WATCH_H

/*
 * rowlock_watch_new() and its thread, which runs from the first watch of a
 * client until the client's end.
 */

#include "core/client.h"

/** At the client's end, with no watch left and all I/O interrupted: wait for
 *  the thread. */
void rlk_watches_stop(struct rowlock_client *client);

void rlk_watches_fini(struct rowlock_client *client);

#endif
