/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_NOTIFIER_H
#define RLK_BACKGROUND_NOTIFIER_H

/* The thread that runs the lost callbacks. */

void rlk_notifier_run(void *client);

#endif
