/* SPDX-License-Identifier: MIT */
/*
 * Leases that are handed over, on the fake librowlock: "adopt text=..." comes
 * before the acquire that makes it held; an export is told as "export", and its
 * string is that of the name. Its lost callback tells of an adoption, with
 * ROWLOCK_FAKE_EVICTED of another loss.
 */
#include <rowlock/adoption.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake_ask.h"

int rowlock_export(struct rowlock *lock, char *text, size_t size,
		   struct rowlock_errinfo *reterr)
{
	int r = fake_ask(NULL, reterr, "export");

	if (r == 0)
		snprintf(text, size, "the string of %s", rowlock_name(lock));
	return r;
}

int rowlock_adopt(struct rowlock *lock, const char *text,
		  struct rowlock_errinfo *reterr)
{
	char shown[512];
	int r = fake_ask(lock, reterr, "adopt text=%s",
			 fake_hex(text, shown, sizeof(shown)));

	return r == 0 ? rowlock_acquire(lock, 0, reterr) : r;
}

const char *rowlock_loss_text(int loss)
{
	return loss == ROWLOCK_LOSS_ADOPTED && !getenv("ROWLOCK_FAKE_EVICTED")
		   ? "by the test"
		   : "another reason";
}
