/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_INTEGRATION_DOORBELL_H
#define ROWLOCK_TEST_INTEGRATION_DOORBELL_H

/*
 * For the tests of the server's line for a lease: who has a name's bell there,
 * how many wait for one, and the processes that come for a name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "sql.h"
#include "test.h"

#define LONG_TTL_MS 600000

/* ---------------------------------------------------------- the server */

static inline uint64_t turn(uint64_t word, unsigned int bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void take(uint64_t *v, uint64_t word, int rounds)
{
	v[3] ^= word;
	for (int i = 0; i < rounds; i++) {
		v[0] += v[1], v[2] += v[3];
		v[1] = turn(v[1], 13) ^ v[0], v[3] = turn(v[3], 16) ^ v[2];
		v[0] = turn(v[0], 32) + v[3], v[2] += v[1];
		v[3] = turn(v[3], 21) ^ v[0], v[1] = turn(v[1], 17) ^ v[2];
		v[2] = turn(v[2], 32);
	}
	v[0] ^= word;
}

/* SipHash-2-4 of a text, once more. */
static inline uint64_t hash(const uint64_t *key, const char *text)
{
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575u,
			  key[1] ^ 0x646f72616e646f6du,
			  key[0] ^ 0x6c7967656e657261u,
			  key[1] ^ 0x7465646279746573u };
	size_t length = strlen(text);
	uint64_t word = 0;

	for (size_t i = 0; i < length; i++) {
		word |= (uint64_t) (unsigned char) text[i] << i % 8 * 8;
		if (i % 8 == 7) {
			take(v, word, 2);
			word = 0;
		}
	}
	take(v, word | (uint64_t) length << 56, 2);
	v[2] ^= 0xff;
	take(v, 0, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The first column of the first row. */
static inline char *word_of(struct test_sql *sql, const char *query)
{
	char *text = test_sql_text(sql, "%s", query);

	text[strcspn(text, "\t\n")] = '\0';
	return text;
}

/* All clients have to agree on it, of whatever version they are. */
static inline const char *bell_of_kind(struct test_sql *sql, char kind,
				       const char *name)
{
	static char bell[40];
	const uint64_t first[2] = { 1, 0 };
	const uint64_t second[2] = { 2, 0 };
	char *secret = word_of(sql, "SELECT secret FROM rowlock_schema WHERE "
				    "version = 0");
	const uint64_t key[2] = { hash(first, secret), hash(second, secret) };
	char *schema = word_of(sql, "SELECT DATABASE()");
	char words[800];

	snprintf(words, sizeof(words), "%c%s/%s", kind, schema, name);
	snprintf(bell, sizeof(bell), "rlb:%016" PRIx64, hash(key, words));
	free(schema);
	free(secret);
	return bell;
}

static inline const char *bell_of(struct test_sql *sql, const char *name)
{
	return bell_of_kind(sql, 'l', name);
}

static inline uint64_t owner_of(struct test_sql *sql, const char *name)
{
	return test_sql_number(sql, "SELECT COALESCE(IS_USED_LOCK('%s'), 0)",
			       bell_of(sql, name));
}

static inline uint64_t in_line(struct test_sql *sql)
{
	return test_sql_number(sql, "SELECT COUNT(*) FROM "
				    "information_schema.PROCESSLIST "
				    "WHERE STATE = 'User lock'");
}

/* Look until it is so. */
static inline void await_line(struct test_sql *sql, uint64_t count)
{
	uint64_t since = test_now_ns();
	uint64_t seen;

	while ((seen = in_line(sql)) != count)
		test_keep_waiting(since, "%llu in line: there are %llu",
				  (unsigned long long) count,
				  (unsigned long long) seen);
}

static inline void await_owner(struct test_sql *sql, const char *name,
			       uint64_t before)
{
	uint64_t since = test_now_ns();
	uint64_t owner;

	do {
		owner = owner_of(sql, name);
		test_keep_waiting(since,
				  "another to have the bell of '%s' than "
				  "connection %llu: %llu has it",
				  name, (unsigned long long) before,
				  (unsigned long long) owner);
	} while (!owner || owner == before);
}

static inline void await_free(struct test_sql *sql, const char *name)
{
	uint64_t since = test_now_ns();
	uint64_t owner;

	while ((owner = owner_of(sql, name)))
		test_keep_waiting(since,
				  "the bell of '%s' to be let go: connection "
				  "%llu has it",
				  name, (unsigned long long) owner);
}

/* ---------------------------------------------------------- processes */

static inline struct test_actor actor(const char *name, uint64_t ttl_ms)
{
	return test_actor_start(ROWLOCK_LEASE, name, ttl_ms);
}

static inline void has_it(struct test_actor *actor)
{
	assert_int_equal(test_actor_hear(actor), 0);
}

static inline void gives_it_back(struct test_actor *actor)
{
	assert_int_equal(test_actor_ask(actor, "release"), 0);
}

/* One who holds @name and has its bell. On MariaDB the first that comes has it;
 * on MySQL only who has waited, as the first in line. */
static inline struct test_actor holder_of(struct test_sql *sql,
					  const char *name, uint64_t ttl_ms)
{
	struct test_actor starter = actor(name, ttl_ms);
	struct test_actor holder = actor(name, ttl_ms);
	uint64_t before;

	assert_int_equal(test_actor_ask(&starter, "acquire 0"), 0);
	before = owner_of(sql, name);
	test_actor_tell(&holder, "wait");
	if (before)
		await_line(sql, 1);
	else
		await_owner(sql, name, 0);
	gives_it_back(&starter);
	has_it(&holder);
	assert_int_not_equal(owner_of(sql, name), 0);
	test_actor_end(&starter);
	return holder;
}

#endif
