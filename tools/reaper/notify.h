/* SPDX-License-Identifier: MIT */
#ifndef REAPER_NOTIFY_H
#define REAPER_NOTIFY_H

/*
 * The daemon's messages to systemd. Without libsystemd, or without systemd, the
 * calls do nothing.
 */

#include <stdint.h>

#include "base/macro.h"

void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);
void notify_status(const char *format, ...) RLK_PRINTF(1, 2);

/** A pass was completed, or none is due: we are not stuck. */
void notify_alive(void);

/** How often notify_alive() is wanted; 0: never. */
uint64_t notify_alive_interval_ms(void);

#endif
