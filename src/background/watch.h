/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_WATCH_H
#define RLK_BACKGROUND_WATCH_H

/*
 * rowlock_watch_new() and its thread, which is there from the first watch of a
 * client until its end.
 */

#include "core/client.h"

/** The client ends; no watch is left. After it was told so, and all I/O was
 *  interrupted: wait for the thread. */
void rlk_watches_stop(struct rowlock_client *client);

void rlk_watches_fini(struct rowlock_client *client);

#endif
