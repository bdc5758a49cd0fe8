/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_CHORES_H
#define RLK_BACKGROUND_CHORES_H

/* The thread that sends statements that no caller waits for. */

void rlk_chores_run(void *client);

#endif
