/* SPDX-License-Identifier: MIT */
/*
 * Programs and libraries of different versions: their structs differ in size.
 */
#include "base/sized.h"

#include <rowlock/admin.h>
#include <rowlock/election.h>
#include <rowlock/watch.h>

#include <stdlib.h>
#include <string.h>

#include "test.h"

/* The struct of a program that was built with an older header, and ours. */
struct older {
	size_t size;
	const char *name;
};

struct known {
	size_t size;
	const char *name;
	uint64_t added_ms;
};

/* A new member would lie in an older program's padding, which may be
 * anything. */
#define NO_PADDING(type, last)                                                 \
	_Static_assert(offsetof(struct type, last) +                           \
			       sizeof(((struct type *) 0)->last) ==            \
			   sizeof(struct type),                                \
		       "padding behind " #last)

NO_PADDING(rowlock_client_options, revoke_arg);
NO_PADDING(rowlock_revocation, asked_at);
NO_PADDING(rowlock_options, delay_after_loss_ms);
NO_PADDING(rowlock_list_options, name);
NO_PADDING(rowlock_reap_options, time_limit_ms);
NO_PADDING(rowlock_client_stats, holding);
NO_PADDING(rowlock_watch_options, interval_ms);
NO_PADDING(rowlock_election_options, yield_ms);

CASE("a shorter struct has the defaults")
{
	/* Exactly its bytes: valgrind and asan see any other that is read. */
	struct older *older = malloc(sizeof(*older));
	struct known read;

	assert_non_null(older);
	*older = (struct older){ sizeof(*older), "job" };
	memset(&read, 0xff, sizeof(read));
	assert_ok(rlk_options_read("x", older, &read, sizeof(read), &err));
	assert_int_equal(read.size, sizeof(read));
	assert_string_equal(read.name, "job");
	assert_int_equal(read.added_ms, 0);
	free(older);
}

CASE("a longer struct may not ask for more")
{
	struct known newer = { sizeof(newer), "job", 0 };
	struct older read;

	assert_ok(rlk_options_read("x", &newer, &read, sizeof(read), &err));
	assert_string_equal(read.name, "job");
	newer.added_ms = 1;
	assert_code(rlk_options_read("job's options", &newer, &read,
				     sizeof(read), &err),
		    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "job's options"));
	assert_non_null(strstr(err.message, ROWLOCK_VERSION));
}

CASE("no struct has all defaults")
{
	const struct known none = { sizeof(none), NULL, 0 };
	struct known read;

	memset(&read, 0xff, sizeof(read));
	assert_ok(rlk_options_read("x", NULL, &read, sizeof(read), &err));
	assert_memory_equal(&read, &none, sizeof(read));
}

CASE("what cannot be a size is refused")
{
	static const size_t sizes[] = { 0, 4, 12, SIZE_MAX, 1 << 20 };
	struct known read;

	for (size_t i = 0; i < TEST_SIZE(sizes); i++) {
		struct known given = { sizes[i], "job", 0 };

		assert_code(
		    rlk_options_read("x", &given, &read, sizeof(read), &err),
		    ROWLOCK_EINVAL, &err);
		assert_code(rlk_result_check("x", &given, &err), ROWLOCK_EINVAL,
			    &err);
	}
}

CASE("a result is written as far as it reaches")
{
	const struct known known = { sizeof(known), "job", 7 };
	struct older *older = malloc(sizeof(*older));
	struct {
		struct known known;
		uint64_t later;
	} newer = { .known.size = sizeof(newer), .later = 1 };

	assert_non_null(older);
	older->size = sizeof(*older);
	assert_ok(rlk_result_check("x", older, &err));
	rlk_result_write(&known, sizeof(known), older);
	assert_int_equal(older->size, sizeof(*older));
	assert_string_equal(older->name, "job");
	free(older);
	rlk_result_write(&known, sizeof(known), &newer);
	assert_int_equal(newer.known.size, sizeof(newer));
	assert_int_equal(newer.known.added_ms, 7);
	assert_int_equal(newer.later, 0);
}

CASE_MAIN(case_main)
