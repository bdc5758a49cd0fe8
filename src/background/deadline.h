/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_DEADLINE_H
#define RLK_BACKGROUND_DEADLINE_H

/* The thread that rings alarms and sees sockets end. */

void rlk_deadline_run(void *client);

#endif
