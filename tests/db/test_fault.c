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
	{ 1290, RLK_REFUSED, ROWLOCK_EREADONLY },
	{ 1836, RLK_REFUSED, ROWLOCK_EREADONLY },
	{ 1146, RLK_REFUSED, ROWLOCK_ESCHEMA },
	{ 1054, RLK_REFUSED, ROWLOCK_ESCHEMA },
	{ 1049, RLK_REFUSED, ROWLOCK_ESCHEMA },
	{ 1305, RLK_REFUSED, ROWLOCK_ESCHEMA },
	{ 1044, RLK_REFUSED, ROWLOCK_EAUTH },
	{ 1045, RLK_REFUSED, ROWLOCK_EAUTH },
	{ 1142, RLK_REFUSED, ROWLOCK_EAUTH },
	{ 1143, RLK_REFUSED, ROWLOCK_EAUTH },
	{ 1698, RLK_REFUSED, ROWLOCK_EAUTH },
	{ 1665, RLK_REFUSED, ROWLOCK_EUNSUPPORTED },
	{ 1040, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1203, RLK_REFUSED, ROWLOCK_ECONNECT },
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
	{ 1180, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1927, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 4031, RLK_UNKNOWN, ROWLOCK_ECONNECT },

	/* Not sent. */
	{ 2031, RLK_FAILED, ROWLOCK_EDB },
};

static void each_has_its_class(void **state)
{
	(void) state;
	for (size_t i = 0; i < RLK_ARRAY_SIZE(rows); i++) {
		print_message("# %u\n", rows[i].number);
		assert_int_equal(rlk_fault_class(rows[i].number),
				 rows[i].fault);
	}
}

static void each_has_its_code(void **state)
{
	(void) state;
	for (size_t i = 0; i < RLK_ARRAY_SIZE(rows); i++) {
		print_message("# %u\n", rows[i].number);
		assert_int_equal(rlk_fault_code(rows[i].number), rows[i].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST("each error says what became of the statement",
		     each_has_its_class),
		TEST("each error has its public code", each_has_its_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
