/* SPDX-License-Identifier: MIT */
/*
 * Which version runs, as against which one the program was built with.
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
