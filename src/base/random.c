/* SPDX-License-Identifier: MIT */
/*
 * Identities from the kernel.
 */
#include "base/random.h"

#include <sys/random.h>

uint64_t rlk_random(void)
{
	uint64_t number = 0;

	/* Up to 256 bytes come whole or not at all (getrandom(2)); a signal
	 * can interrupt only the wait for the pool. */
	while (getrandom(&number, sizeof(number), 0) != sizeof(number) ||
	       number == 0)
		;
	return number;
}
