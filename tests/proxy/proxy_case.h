/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_PROXY_CASE_H
#define ROWLOCK_PROXY_CASE_H

/* A proxy in a case of cmocka, which fails with the proxy's words. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "proxy.h"

static inline struct proxy *proxy_to(const char *dsn)
{
	char server[160];
	char reason[256] = "";
	const struct proxy_options options = { .server = server, .seed = 1 };
	struct proxy *proxy;

	proxy_server_of(dsn, server, sizeof(server));
	proxy = proxy_start(&options, reason, sizeof(reason));
	if (!proxy)
		fail_msg("%s", reason);
	return proxy;
}

static inline void proxy_endp(struct proxy **at)
{
	proxy_end(*at);
}

/** A declaration of one that ends with its block. */
#define TEST_PROXY(name, made)                                                 \
	__attribute__((cleanup(proxy_endp), unused)) struct proxy *name = made

__attribute__((format(printf, 2, 3))) static inline void tell(
    struct proxy *proxy, const char *format, ...)
{
	char words[512];
	char *problem;
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	problem = proxy_tell(proxy, words);
	if (problem)
		fail_msg("%s: %s", words, problem);
}

#endif
