/* SPDX-License-Identifier: MIT */
/*
 * See sized.h.
 */
#include "base/sized.h"

#include "base/error.h"

#include <stdbool.h>
#include <string.h>

/* No struct of ours is larger, nor will be: a size that was never set may be
 * any number, and this many bytes may not be there. */
#define SIZE_MOST 4096

static bool is_size(size_t size)
{
	return size >= sizeof(size_t) && size % sizeof(size_t) == 0 &&
	       size <= SIZE_MOST;
}

static int fail_size(const char *what, size_t size,
		     struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_EINVAL,
			"%s: the struct's size is %zu; set it to sizeof the "
			"struct",
			what, size);
}

int rlk_options_read(const char *what, const void *given, void *ret_options,
		     size_t size, struct rowlock_errinfo *reterr)
{
	const unsigned char *bytes = given;
	size_t there = size;

	memset(ret_options, 0, size);
	if (given)
		memcpy(&there, given, sizeof(there));
	if (!is_size(there))
		return fail_size(what, there, reterr);
	for (size_t i = size; i < there; i++)
		if (bytes[i])
			return rlk_fail(reterr, ROWLOCK_EINVAL,
					"%s: an option is set that this "
					"version of rowlock (%s) does not "
					"have; install the version that the "
					"program was built with",
					what, ROWLOCK_VERSION);
	if (given)
		memcpy(ret_options, given, there < size ? there : size);
	memcpy(ret_options, &size, sizeof(size));
	return 0;
}

int rlk_result_check(const char *what, const void *result,
		     struct rowlock_errinfo *reterr)
{
	size_t size;

	memcpy(&size, result, sizeof(size));
	return is_size(size) ? 0 : fail_size(what, size, reterr);
}

void rlk_result_write(const void *known, size_t size, void *ret_result)
{
	size_t there;

	memcpy(&there, ret_result, sizeof(there));
	memset(ret_result, 0, there);
	memcpy(ret_result, known, there < size ? there : size);
	memcpy(ret_result, &there, sizeof(there));
}
