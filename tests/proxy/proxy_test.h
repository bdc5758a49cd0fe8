/* SPDX-License-Identifier: MIT */
#ifndef PROXY_TEST_H
#define PROXY_TEST_H

/*
 * What the tests of the proxy share. All fail the running test if something is
 * in the way.
 */

#include <mysql.h>

#include "proxy.h"
#include "proxy_case.h"
#include "test.h"

/** A proxy before the server; NULL: as proxy_options says. */
struct proxy *px_proxy_at(const char *listen_at, const char *control,
			  const char *history);
struct proxy *px_proxy(void);

void px_tell(struct proxy *proxy, const char *words);

/** A plain client by way of the proxy: *@ret_errno is 0 or why not. A silent
 *  peer is left after a second. */
MYSQL *px_dial(struct proxy *proxy, unsigned int *ret_errno);
/** One that gets through. */
MYSQL *px_client(struct proxy *proxy);

/** Run @sql: 0, or the errno; the first value of its first row in @value. */
unsigned int px_run(MYSQL *mysql, const char *sql, char *value, size_t size);

/** The connection has ended, by this errno. */
void px_assert_gone(unsigned int number);
void px_assert_answers(MYSQL *mysql);

/** An effect that everybody sees: a name in business_lock. */
const char *px_insert(const char *name);
bool px_is_there(const char *name);
void px_remove_name(const char *name);

#endif
