/* SPDX-License-Identifier: MIT */
/*
 * Lists that take several pages: each row is told once, in the order of names
 * and slots.
 */
#include <stdio.h>
#include <string.h>

#include "ground.h"
#include "strategy/listing.h"
#include "strategy/reap.h"

/* More than pages of leases, of rows and of attempts have. */
#define SOME 50
#define MANY (SOME * SOME)

/* The numbers from 0 to MANY - 1, as n. */
#define NUMBERS                                                                \
	"WITH RECURSIVE few AS (SELECT 0 AS i UNION ALL"                       \
	" SELECT i + 1 FROM few WHERE i < 49)"                                 \
	" SELECT a.i * 50 + b.i AS n FROM few a CROSS JOIN few b"

/* SOME names with SOME slots each; a row's attempt is its number and one. */
static void make_leases(const char *name, uint64_t session)
{
	test_sql(ground->sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) SELECT CONCAT('%s ', LPAD(n DIV %d, 2, '0')), "
		 "n MOD %d, %llu, n + 1, UTC_TIMESTAMP(6) FROM (" NUMBERS ") "
		 "numbers",
		 name, SOME, SOME, (unsigned long long) session);
}

static void drop_leases(const char *name)
{
	test_sql(ground->sql,
		 "DELETE FROM business_lease WHERE name LIKE '%s %%'", name);
}

struct told {
	const char *name;
	unsigned int count;
};

/* The next one, and no other. */
static int tell_lease(const struct rowlock_entry *entry, void *arg)
{
	struct told *told = arg;
	char name[200];

	snprintf(name, sizeof(name), "%s %02u", told->name, told->count / SOME);
	assert_string_equal(entry->name, name);
	assert_int_equal(entry->slot, told->count % SOME);
	told->count++;
	assert_int_equal(entry->attempt, told->count);
	return 0;
}

LEASE("all leases are listed once, in their order")
{
	struct told told = { .name = test_name("leases") };
	struct rlk_listing listing;
	char like[200];

	make_leases(told.name, ground->sessions[0]);
	snprintf(like, sizeof(like), "%s %%", told.name);
	listing = rlk_listing_begin(like, tell_lease, &told);
	while (rlk_listing_more(&listing))
		assert_done(rlk_list_leases(ground->beside, &listing, &err));
	assert_int_equal(told.count, MANY);
	drop_leases(told.name);
}

static int tell_two(const struct rowlock_entry *entry, void *arg)
{
	(void) entry;
	return ++*(int *) arg == 2;
}

LEASE("a list ends where its function says so")
{
	const char *name = test_name("ended");
	struct rlk_listing listing;
	char like[200];
	int told = 0;

	make_leases(name, ground->sessions[0]);
	snprintf(like, sizeof(like), "%s %%", name);
	listing = rlk_listing_begin(like, tell_two, &told);
	assert_true(rlk_listing_more(&listing));
	assert_done(rlk_list_leases(ground->beside, &listing, &err));
	assert_int_equal(told, 2);
	assert_false(rlk_listing_more(&listing));
	drop_leases(name);
}

static void add(uint64_t attempt, void *arg)
{
	*(uint64_t *) arg += attempt;
}

LEASE("all leases of a session are told once")
{
	const char *name = test_name("session");
	uint64_t sum = 0;

	make_leases(name, ground->sessions[0]);
	assert_done(rlk_leases_of(ground->beside, ground->sessions[0], add,
				  &sum, &err));
	assert_true(sum == MANY * (MANY + 1) / 2);
	drop_leases(name);
}

static void tell_name(const char *text, void *arg)
{
	struct told *told = arg;
	char name[200];

	snprintf(name, sizeof(name), "%s %04u", told->name, told->count++);
	assert_string_equal(text, name);
}

static int tell_row(const struct rowlock_entry *entry, void *arg)
{
	tell_name(entry->name, arg);
	return 0;
}

LEASE("all rows are listed and probed once")
{
	struct told listed = { .name = test_name("rows") };
	struct told probed = { .name = listed.name };
	struct rlk_listing listing;
	char like[200];

	test_sql(ground->sql,
		 "INSERT INTO business_lock (name) SELECT CONCAT('%s ', "
		 "LPAD(n, 4, '0')) FROM (" NUMBERS ") numbers",
		 listed.name);
	snprintf(like, sizeof(like), "%s %%", listed.name);
	listing = rlk_listing_begin(like, tell_row, &listed);
	while (rlk_listing_more(&listing)) {
		const struct rlk_page begin = listing.page;

		assert_done(rlk_list_rows(ground->beside, &listing, &err));
		assert_done(rlk_list_free_rows(ground->beside, like, &begin,
					       listing.page.name, tell_name,
					       &probed, &err));
		assert_int_equal(probed.count, listed.count);
	}
	assert_int_equal(listed.count, MANY);
	test_sql(ground->sql, "DELETE FROM business_lock WHERE name LIKE '%s'",
		 like);
}

CASE_MAIN(test_main)
