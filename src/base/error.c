/* SPDX-License-Identifier: MIT */
/*
 * Texts of errors: a few words per code, and the sentence in the caller's
 * struct. A text that does not fit is cut, never dropped.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXTS(X)                                                               \
	X(ROWLOCK_EBUSY, "held by another")                                    \
	X(ROWLOCK_ETIMEDOUT, "not got in the time we waited")                  \
	X(ROWLOCK_ECANCELED, "canceled")                                       \
	X(ROWLOCK_ELOST, "lost")                                               \
	X(ROWLOCK_EDEADLOCK, "would wait for itself")                          \
	X(ROWLOCK_ENOTHELD, "not held")                                        \
	X(ROWLOCK_ENOTOWNER, "held by another owner")                          \
	X(ROWLOCK_EHELD, "still in use")                                       \
	X(ROWLOCK_ENAME, "not a name that can be locked")                      \
	X(ROWLOCK_EINVAL, "invalid argument")                                  \
	X(ROWLOCK_ECONNECT, "server out of reach")                             \
	X(ROWLOCK_EAUTH, "access denied by the server")                        \
	X(ROWLOCK_ESCHEMA, "tables missing or not as needed")                  \
	X(ROWLOCK_EREADONLY, "server is read-only")                            \
	X(ROWLOCK_EUNSUPPORTED, "not safe on this server")                     \
	X(ROWLOCK_EDB, "refused by the server")                                \
	X(ROWLOCK_ENOMEM, "out of memory")                                     \
	X(ROWLOCK_ESYSTEM, "refused by the operating system")                  \
	X(ROWLOCK_EFORKED, "client belongs to the parent process")             \
	X(ROWLOCK_EBROKEN, "the transaction had ended before")                 \
	X(ROWLOCK_EUNKNOWN, "the outcome is not known")                        \
	X(ROWLOCK_EDONE, "nothing to do: it has succeeded")                    \
	X(ROWLOCK_EOVER, "the window is over, or has had its runs")

const char *rowlock_strerror(int error)
{
	switch (error) {
	case 0:
		return "success";
#define CASE(code, text)                                                       \
	case code:                                                             \
		return text;
		TEXTS(CASE)
#undef CASE
	default:
		return "unknown error";
	}
}

RLK_PRINTF(4, 0)
static int fail(struct rowlock_errinfo *reterr, int code, unsigned int mysql,
		const char *format, va_list args)
{
	if (!reterr)
		return code;
	reterr->code = code;
	reterr->mysql = mysql;
	vsnprintf(reterr->message, sizeof(reterr->message), format, args);
	return code;
}

int rlk_fail(struct rowlock_errinfo *reterr, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fail(reterr, code, 0, format, args);
	va_end(args);
	return code;
}

int rlk_fail_db(struct rowlock_errinfo *reterr, int code, unsigned int mysql,
		const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fail(reterr, code, mysql, format, args);
	va_end(args);
	return code;
}

int rlk_fail_null(const char *what, struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_EINVAL, "%s is NULL", what);
}

void rlk_prefix(struct rowlock_errinfo *reterr, const char *format, ...)
{
	char rest[sizeof(reterr->message)];
	va_list args;
	size_t length;

	if (!reterr)
		return;
	memcpy(rest, reterr->message, sizeof(rest));
	va_start(args, format);
	vsnprintf(reterr->message, sizeof(reterr->message), format, args);
	va_end(args);
	length = strlen(reterr->message);
	snprintf(reterr->message + length, sizeof(reterr->message) - length,
		 "%s", rest);
}
