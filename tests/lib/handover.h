/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_HANDOVER_H
#define ROWLOCK_TEST_HANDOVER_H

#include <rowlock.h>
#include <stdlib.h>

/** Local hand-over as ROWLOCK_TEST_HANDOVER says: its number is the bound of
 *  passes, 0 turns it off. */
static inline void test_handover(struct rowlock_client_options *options)
{
	const char *passes = getenv("ROWLOCK_TEST_HANDOVER");

	if (!passes || !*passes)
		return;
	options->handover_passes = (unsigned int) strtoul(passes, NULL, 10);
	if (!options->handover_passes)
		options->flags |= ROWLOCK_NO_HANDOVER;
}

#endif
