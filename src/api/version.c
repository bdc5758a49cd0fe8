/* SPDX-License-Identifier: MIT */
/*
 * The version that runs, as against the one the program was built with.
 */
#include <rowlock.h>

const char *rowlock_version(void)
{
	return ROWLOCK_VERSION;
}

unsigned int rowlock_version_number(void)
{
	return ROWLOCK_VERSION_NUMBER;
}
