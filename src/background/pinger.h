/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_PINGER_H
#define RLK_BACKGROUND_PINGER_H

/* The thread that pings the connections of holds. */

void rlk_pinger_run(void *client);

#endif
