/* SPDX-License-Identifier: MIT */
#ifndef FAKE_PACE_H
#define FAKE_PACE_H

#include <stdint.h>

/** Move the clock (fake_pace.c). */
void fake_pass(uint64_t ms);

/** Tell the test a line (fake_rowlock.c). */
void fake_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
