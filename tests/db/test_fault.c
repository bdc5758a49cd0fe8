/* SPDX-License-Identifier: MIT */
/* Error numbers and what they mean; no server needed. */
#include "db_test.h"

static const struct {
	unsigned int number;
	enum rlk_fault fault;
	int code;
} rows[] = {
	/* "No", and the connection is good. */
	{ 1205, RLK_BUSY, ROWLOCK_EDB },
	{ 3572, RLK_BUSY, ROWLOCK_EDB },
	{ 1213, RLK_CONFLICT, ROWLOCK_EDB },
	{ 1020, RLK_CONFLICT, ROWLOCK_EDB },
	{ 1317, RLK_KILLED, ROWLOCK_EDB },
	{ 1969, RLK_KILLED, ROWLOCK_EDB },
	{ 3024, RLK_KILLED, ROWLOCK_EDB },
	{ 1047, RLK_REFUSED, ROWLOCK_EDB },
	{ 1062, RLK_REFUSED, ROWLOCK_EDB },
	{ 1114, RLK_REFUSED, ROWLOCK_EDB },
	{ 1792, RLK_REFUSED, ROWLOCK_EREADONLY },
	{ 1836, RLK_REFUSED, ROWLOCK_EREADONLY },
	{ 1036, RLK_REFUSED, ROWLOCK_EREADONLY },
	{ 1874, RLK_REFUSED, ROWLOCK_EREADONLY },
	{ 1881, RLK_REFUSED, ROWLOCK_EREADONLY },
	{ 3989, RLK_REFUSED, ROWLOCK_EREADONLY },
	{ 1146, RLK_REFUSED, ROWLOCK_ESCHEMA },
	{ 1054, RLK_REFUSED, ROWLOCK_ESCHEMA },
	{ 1049, RLK_REFUSED, ROWLOCK_ESCHEMA },
	{ 1305, RLK_REFUSED, ROWLOCK_ESCHEMA },
	{ 1044, RLK_REFUSED, ROWLOCK_EAUTH },
	{ 1045, RLK_REFUSED, ROWLOCK_EAUTH },
	{ 1142, RLK_REFUSED, ROWLOCK_EAUTH },
	{ 1143, RLK_REFUSED, ROWLOCK_EAUTH },
	{ 1524, RLK_REFUSED, ROWLOCK_EAUTH },
	{ 1698, RLK_REFUSED, ROWLOCK_EAUTH },
	{ 3955, RLK_REFUSED, ROWLOCK_EAUTH },
	{ 4150, RLK_REFUSED, ROWLOCK_EAUTH },
	{ 1665, RLK_REFUSED, ROWLOCK_EUNSUPPORTED },
	{ 1040, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1203, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1226, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1037, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1041, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1042, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1129, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1135, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 3168, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 3781, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 3797, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 3799, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1043, RLK_REFUSED, ROWLOCK_EDB },
	{ 1095, RLK_REFUSED, ROWLOCK_EDB },
	{ 9999, RLK_REFUSED, ROWLOCK_EDB },

	/* No answer, or one that says that the connection is over. */
	{ 2002, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 2003, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 2005, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 2006, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 2013, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 2014, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 2026, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 2027, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 5014, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1053, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1077, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1180, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 3032, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 3100, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 4081, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 9001, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 9002, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 9004, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1637, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 3044, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 4094, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1927, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 4031, RLK_UNKNOWN, ROWLOCK_ECONNECT },

	/* Not sent. */
	{ 2031, RLK_FAILED, ROWLOCK_EDB },
};

CASE("each error says what became of the statement")
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(rows); i++) {
		print_message("# %u\n", rows[i].number);
		assert_int_equal(rlk_fault_class(rows[i].number),
				 rows[i].fault);
	}
}

CASE("each error has its public code")
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(rows); i++) {
		print_message("# %u\n", rows[i].number);
		assert_int_equal(rlk_fault_code(rows[i].number, "words"),
				 rows[i].code);
	}
}

/* In all languages, and what something between makes of it. */
CASE("an option of the server is known by its name")
{
	static const struct {
		const char *text;
		const char *option;
		int code;
	} said[] = {
		{ "The MariaDB server is running with the --read-only option "
		  "so "
		  "it cannot execute this statement",
		  "--read-only", ROWLOCK_EREADONLY },
		{ "The MySQL server is running with the --super-read-only "
		  "option so it cannot execute this statement",
		  "--super-read-only", ROWLOCK_EREADONLY },
		{ "Der MariaDB-Server l\303\244uft mit der Option --read-only "
		  "und kann diese Anweisung deswegen nicht ausf\303\274hren",
		  "--read-only", ROWLOCK_EREADONLY },
		{ "MariaDB\343\202\265\343\203\274\343\203\220\343\203\274 "
		  "--innodb_read_only \343\201\247",
		  "--innodb_read_only", ROWLOCK_EREADONLY },
		{ "--read-only=NO_LOCK", "--read-only", ROWLOCK_EREADONLY },
		{ "no writes here", NULL, ROWLOCK_EREADONLY },
		{ "not read-only -- really", NULL, ROWLOCK_EREADONLY },
		{ "The MariaDB server is running with the --skip-grant-tables "
		  "option so it cannot execute this statement",
		  "--skip-grant-tables", ROWLOCK_EDB },
		{ "Der MySQL-Server l\303\244uft mit der Option "
		  "--secure-file-priv und kann",
		  "--secure-file-priv", ROWLOCK_EDB },
		{ "the --only option", "--only", ROWLOCK_EDB },
	};

	for (size_t i = 0; i < RLK_ARRAY_SIZE(said); i++) {
		size_t length = 0;
		const char *option = rlk_fault_option(said[i].text, &length);

		print_message("# %s\n", said[i].text);
		assert_int_equal(rlk_fault_code(1290, said[i].text),
				 said[i].code);
		if (!said[i].option) {
			assert_null(option);
			continue;
		}
		assert_int_equal(length, strlen(said[i].option));
		assert_memory_equal(option, said[i].option, length);
	}
	assert_int_equal(rlk_fault_class(1290), RLK_REFUSED);
}

/* Galera has no number of its own for it. */
CASE("a node that is not ready is known by its words")
{
	static const char *const words =
	    "WSREP has not yet prepared node for application use";

	assert_true(rlk_fault_not_ready(1047, words));
	assert_code(rlk_fault_code(1047, words), ROWLOCK_ECONNECT, NULL);
	assert_int_equal(rlk_fault_class(1047), RLK_REFUSED);
	assert_false(rlk_fault_not_ready(1047, "Unknown command"));
	assert_false(rlk_fault_not_ready(1064, words));
}

CASE_MAIN(case_main)
