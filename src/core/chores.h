/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_CHORES_H
#define RLK_CORE_CHORES_H

/* The thread that sends what no caller waits for. */

void rlk_chores_run(void *client);

#endif
