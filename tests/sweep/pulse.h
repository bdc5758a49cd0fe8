/* SPDX-License-Identifier: MIT */
#ifndef SWEEP_PULSE_H
#define SWEEP_PULSE_H

/*
 * How late the machine itself is: a thread that only wants to run at given
 * times, and notes how much later it did. A call that is late while this
 * thread was not has nobody else to blame.
 */

#include <stdint.h>

/** Start the thread of this process, once. It never ends by itself. */
void pulse_start(void);

/** How much a call since @began_ns may be late because of the machine: the
 *  sum of what the thread was late, for each of those that a call passes
 *  through. */
double pulse_excuse_ms(uint64_t began_ns);

#endif
