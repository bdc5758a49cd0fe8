/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_RANDOM_H
#define RLK_BASE_RANDOM_H

#include <stdint.h>

/**
 * A random number, never 0: the identity of a session or an attempt. Comes
 * from getrandom(2), so that neither a fork nor a copied machine image repeats
 * it. Does not fail: it waits for the kernel's pool once after boot.
 */
uint64_t rlk_random(void);

#endif
