/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_ODD_H
#define ROWLOCK_TEST_ODD_H

/*
 * What the tests of odd networks share: a proxy, and a client by way of it.
 */
#include <stdio.h>
#include <string.h>

#include "patience.h"
#include "proxy_case.h"
#include "test.h"

/* A client by way of @proxy to the account of @dsn. */
static inline struct rowlock_client *client_by(struct proxy *proxy,
					       const char *dsn, uint64_t ttl_ms,
					       uint64_t call_ms)
{
	struct rowlock_client_options options = test_client_options(ttl_ms);
	char by_proxy[512];

	proxy_dsn(proxy, dsn, by_proxy, sizeof(by_proxy));
	options.dsn = by_proxy;
	options.row_idle_ms = ttl_ms;
	options.call_timeout_ms = call_ms;
	return test_client_with(&options);
}

/* On a busy machine a new connection may take longer than one try to open it
 * may, which is 10 s at the most, whatever the client's time-outs are. */
static inline int try_it(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	uint64_t began = test_now_ns();
	int code;

	do {
		code = rowlock_acquire(lock, 0, reterr);
	} while (code == ROWLOCK_ECONNECT &&
		 strstr(reterr->message, "no answer in time") &&
		 test_ms(began, test_now_ns()) < test_patience_ms());
	return code;
}

#endif
