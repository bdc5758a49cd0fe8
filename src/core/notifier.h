/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_NOTIFIER_H
#define RLK_CORE_NOTIFIER_H

/* The thread that runs the lost callbacks. */

void rlk_notifier_run(void *client);

#endif
