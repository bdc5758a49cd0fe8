/* SPDX-License-Identifier: MIT */
/*
 * What a server says of itself, and what follows from it.
 */
#include <string.h>

#include "db/server_private.h"
#include "test.h"

static struct rlk_server learn(const char *version, int code)
{
	struct rlk_server server = { .flavour = RLK_MARIADB };

	assert_code(rlk_server_learn(&server, version, "db1:3306", &err), code,
		    &err);
	if (code && !strstr(err.message, "rowlock needs MariaDB 10.6 or MySQL "
					 "8.0, or later"))
		fail_msg("%s", err.message);
	return server;
}

CASE("version and flavour are read")
{
	static const struct {
		const char *text;
		enum rlk_flavour flavour;
		unsigned int version;
		const char *name;
	} servers[] = {
		{ "10.11.19-MariaDB-0+deb12u1", RLK_MARIADB, 101119,
		  "db1:3306 (MariaDB 10.11.19)" },
		/* As a MariaDB before 11 greets. */
		{ "5.5.5-10.6.0-MariaDB", RLK_MARIADB, 100600,
		  "db1:3306 (MariaDB 10.6.0)" },
		{ "11.8.9-MariaDB-4 from Debian", RLK_MARIADB, 110809,
		  "db1:3306 (MariaDB 11.8.9)" },
		{ "8.0.1", RLK_MYSQL, 80001, "db1:3306 (MySQL 8.0.1)" },
		{ "9.7.4-2", RLK_MYSQL, 90704, "db1:3306 (MySQL 9.7.4)" },
		/* Without a patch. */
		{ "8.4", RLK_MYSQL, 80400, "db1:3306 (MySQL 8.4.0)" },
	};

	for (size_t i = 0; i < TEST_SIZE(servers); i++) {
		struct rlk_server server = learn(servers[i].text, 0);

		assert_int_equal(server.flavour, servers[i].flavour);
		assert_int_equal(server.version, servers[i].version);
		assert_string_equal(server.name, servers[i].name);
	}
}

CASE("old and nameless servers are refused")
{
	static const char *const old[] = {
		"10.5.99-MariaDB",       "5.7.44",  "8.0.0",
		"5.5.5-10.3.39-MariaDB", "MariaDB", ""
	};

	for (size_t i = 0; i < TEST_SIZE(old); i++)
		learn(old[i], ROWLOCK_EUNSUPPORTED);
	learn(NULL, ROWLOCK_EUNSUPPORTED);
}

CASE("snapshot isolation is known by series and patch")
{
	static const struct {
		const char *version;
		bool has;
	} servers[] = {
		{ "10.6.17-MariaDB", false }, { "10.6.18-MariaDB", true },
		{ "10.11.7-MariaDB", false }, { "10.11.8-MariaDB", true },
		{ "10.7.99-MariaDB", false }, { "11.0.6-MariaDB", true },
		{ "11.3.2-MariaDB", false },  { "11.4.1-MariaDB", false },
		{ "11.4.2-MariaDB", true },   { "11.5.0-MariaDB", true },
		{ "12.1.0-MariaDB", true },   { "9.7.4", false },
	};

	for (size_t i = 0; i < TEST_SIZE(servers); i++) {
		struct rlk_server server = learn(servers[i].version, 0);

		if (rlk_server_has_snapshot(&server) != servers[i].has)
			fail_msg("%s", servers[i].version);
	}
}

/* Nowhere else is there a node that may be behind, or a word for it. */
CASE("only clusters catch up")
{
	const struct rlk_server galera = { .flavour = RLK_MARIADB,
					   .galera = true };
	const struct rlk_server group = { .flavour = RLK_MYSQL,
					  .multi_primary = true };
	const struct rlk_server percona = { .flavour = RLK_MYSQL,
					    .galera = true };
	const struct rlk_server others[] = {
		{ .flavour = RLK_MARIADB },
		{ .flavour = RLK_MYSQL },
	};

	assert_string_equal(rlk_server_catch_up(&galera)->select,
			    "SET STATEMENT wsrep_sync_wait = 1 FOR ");
	assert_null(rlk_server_catch_up(&galera)->first);
	assert_string_equal(rlk_server_catch_up(&group)->select, "");
	assert_non_null(strstr(rlk_server_catch_up(&group)->first, "'BEFORE'"));
	assert_non_null(rlk_server_catch_up(&group)->last);
	assert_string_equal(rlk_server_catch_up(&percona)->select, "");
	assert_non_null(strstr(rlk_server_catch_up(&percona)->first,
			       "SESSION wsrep_sync_wait = 1"));
	assert_non_null(rlk_server_catch_up(&percona)->last);
	for (size_t i = 0; i < TEST_SIZE(others); i++) {
		assert_string_equal(rlk_server_catch_up(&others[i])->select,
				    "");
		assert_null(rlk_server_catch_up(&others[i])->first);
	}
}

CASE("only MariaDB returns the row")
{
	struct rlk_server maria = learn("10.11.19-MariaDB", 0);
	struct rlk_server mysql = learn("9.7.4", 0);
	const struct rlk_dialect *one = rlk_server_dialect(&maria);
	const struct rlk_dialect *two = rlk_server_dialect(&mysql);

	assert_true(one->lease_acquire_returns_row);
	assert_non_null(strstr(one->lease_acquire->sql, "RETURNING"));
	assert_false(two->lease_acquire_returns_row);
	/* There a first try must not wait behind a guard. */
	assert_ptr_equal(two->lease_acquire, two->lease_again);
	assert_null(strstr(two->lease_again->sql, "RETURNING"));
	assert_ptr_not_equal(one->row_blocker, two->row_blocker);
}

CASE_MAIN(case_main)
