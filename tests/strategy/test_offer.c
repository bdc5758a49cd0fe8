/* SPDX-License-Identifier: MIT */
/*
 * Leases that are handed over by a string, on a real server.
 */
#include <stdio.h>
#include <string.h>

#include "parts.h"
#include "strategy/offer.h"

static const struct rlk_key key = { { 1, 2 } };

/* The lease of client 0, and a request by which client 1 adopts it. */
#define HANDED_OVER(word)                                                      \
	GROUND_TWO(word);                                                      \
	const struct rlk_offer offer = { a.session, a.attempt };               \
	assert_int_equal(ground_ask(0, &a, RLK_ASK_FIRST, NULL), RLK_DONE)

static enum rlk_fault adopt(int who, const struct rlk_request *request,
			    const struct rlk_offer *offer)
{
	return rlk_offer_adopt(ground->conns[who], request, offer, &err);
}

static uint64_t breaks_of(uint64_t session)
{
	return test_sql_number(
	    ground->sql, "SELECT breaks FROM lease_session WHERE id = %llu",
	    (unsigned long long) session);
}

static void evict(uint64_t session)
{
	assert_int_equal(test_sql(ground->sql,
				  "DELETE FROM lease_session WHERE id = %llu",
				  (unsigned long long) session),
			 1);
}

LEASE("an adopted lease is another hold, and the first one is over")
{
	HANDED_OVER("adopted");

	assert_int_equal(adopt(1, &b, &offer), RLK_DONE);
	assert_true(ground_confirm(1, &b));
	assert_false(ground_confirm(0, &a));
	assert_false(ground_release(0, &a));
	assert_int_equal(ground_draw(&a), 0);
	assert_true(ground_draw(&b) > 0);
	assert_int_equal(breaks_of(offer.session), 1);
	assert_true(ground_release(1, &b));
}

static uint64_t requests(uint64_t attempt, int answer)
{
	return test_sql_number(ground->sql,
			       "SELECT COUNT(*) FROM lease_revocation"
			       " WHERE attempt = %llu AND answer = %d",
			       (unsigned long long) attempt, answer);
}

LEASE("a request for it goes on to its adopter, as if it had no answer")
{
	HANDED_OVER("asked");
	const uint64_t first = a.attempt;

	test_sql(ground->sql,
		 "INSERT INTO lease_revocation (name, attempt, request,"
		 " answer, asked_at)"
		 " VALUES ('%s', %llu, 7, 1, UTC_TIMESTAMP(6)),"
		 " ('%s', 1, 8, 1, UTC_TIMESTAMP(6))",
		 name, (unsigned long long) first, name);
	assert_int_equal(adopt(1, &b, &offer), RLK_DONE);
	assert_int_equal(requests(first, 1), 0);
	assert_int_equal(requests(b.attempt, 0), 1);
	assert_int_equal(requests(1, 1), 1);
	assert_int_equal(breaks_of(offer.session), 1);
	assert_true(ground_release(1, &b));
}

LEASE("where there are no requests a lease is adopted all the same")
{
	HANDED_OVER("older");
	enum rlk_fault fault;

	test_sql(ground->sql,
		 "RENAME TABLE lease_revocation TO test_elsewhere");
	fault = adopt(1, &b, &offer);
	test_sql(ground->sql,
		 "RENAME TABLE test_elsewhere TO lease_revocation");
	assert_int_equal(fault, RLK_DONE);
	assert_true(ground_confirm(1, &b));
	assert_true(ground_release(1, &b));
}

LEASE("who has it now is told, and since when, or that nobody has")
{
	HANDED_OVER("told");
	char text[RLK_OFFER_HOLDER_SIZE];
	static const char wanted[] = "job[42]@db7 has it since 20";

	test_sql(ground->sql,
		 "UPDATE business_lease SET acquired_at = '2000-01-01'"
		 " WHERE name = '%s'",
		 name);
	assert_int_equal(adopt(1, &b, &offer), RLK_DONE);
	test_sql(ground->sql,
		 "UPDATE lease_session SET host = 'db7', pid = 42,"
		 " program = 'job' WHERE id = %llu",
		 (unsigned long long) b.session);
	assert_int_equal(
	    rlk_offer_holder(ground->conns[0], &a, text, sizeof(text), &err),
	    RLK_DONE);
	assert_memory_equal(text, wanted, strlen(wanted));
	assert_null(strstr(text, "2000-"));
	assert_true(ground_release(1, &b));
	assert_int_equal(
	    rlk_offer_holder(ground->conns[0], &a, text, sizeof(text), &err),
	    RLK_DONE);
	assert_string_equal(text, "nobody has it now");
}

LEASE("asked again, by the same attempt, it is granted again")
{
	HANDED_OVER("again");

	assert_int_equal(adopt(1, &b, &offer), RLK_DONE);
	assert_int_equal(adopt(1, &b, &offer), RLK_DONE);
	assert_int_equal(breaks_of(offer.session), 1);
	assert_true(ground_release(1, &b));
}

LEASE("a second adopter finds it another's")
{
	HANDED_OVER("used");
	struct rlk_request late = ground_request(0, name);

	assert_int_equal(adopt(1, &b, &offer), RLK_DONE);
	assert_int_equal(adopt(0, &late, &offer), RLK_HELD);
	assert_true(ground_confirm(1, &b));
	assert_true(ground_release(1, &b));
}

LEASE("what was released, and what is dead, is nobody's")
{
	HANDED_OVER("gone");

	assert_true(ground_release(0, &a));
	assert_int_equal(adopt(1, &b, &offer), RLK_ABSENT);
	assert_int_equal(ground_ask(0, &a, RLK_ASK_FIRST, NULL), RLK_DONE);
	evict(a.session);
	assert_int_equal(adopt(1, &b, &offer), RLK_ABSENT);
	assert_int_equal(
	    test_sql_number(ground->sql,
			    "SELECT COUNT(*) FROM business_lease"
			    " WHERE name = '%s' AND attempt = %llu",
			    name, (unsigned long long) a.attempt),
	    1);
}

LEASE("a client that was evicted itself adopts nothing")
{
	HANDED_OVER("evicted");

	evict(b.session);
	assert_true(rlk_fault_passes(adopt(1, &b, &offer)));
	assert_true(ground_confirm(0, &a));
	assert_int_equal(breaks_of(offer.session), 0);
	assert_true(ground_release(0, &a));
}

LEASE("a client adopts its own lease")
{
	HANDED_OVER("own");
	struct rlk_request next = ground_request(0, name);

	(void) b;
	assert_int_equal(adopt(0, &next, &offer), RLK_DONE);
	assert_false(ground_confirm(0, &a));
	assert_true(ground_release(0, &next));
}

/* The lock of whoever evicts decides: not what the statement has read before.
 */
LEASE("it waits for who evicts its holder, and then adopts nothing")
{
	HANDED_OVER("between");
	enum rlk_fault verdict;

	test_sql(ground->sql, "START TRANSACTION");
	evict(a.session);
	verdict = adopt(1, &b, &offer);
	test_sql(ground->sql, "COMMIT");
	assert_true(rlk_fault_passes(verdict));
	assert_int_equal(adopt(1, &b, &offer), RLK_ABSENT);
}

CASE("a string has one form, for one name and one database")
{
	static const struct rlk_key other = { { 1, 3 } };
	const struct rlk_offer offer = { 0x0123456789abcdef, UINT64_MAX };
	char text[ROWLOCK_EXPORT_SIZE];
	char bad[ROWLOCK_EXPORT_SIZE];
	struct rlk_offer read = { 0 };

	rlk_offer_write(&key, "name", &offer, text);
	assert_int_equal(rlk_offer_read(&key, "name", text, &read),
			 RLK_OFFER_READ);
	assert_memory_equal(&read, &offer, sizeof(offer));
	assert_int_equal(rlk_offer_read(&key, "other", text, &read),
			 RLK_OFFER_FOREIGN);
	assert_int_equal(rlk_offer_read(&other, "name", text, &read),
			 RLK_OFFER_FOREIGN);
	for (size_t i = 0; i < strlen(text); i++) {
		strcpy(bad, text);
		bad[i] = bad[i] == '0' ? '1' : '0';
		assert_int_not_equal(rlk_offer_read(&key, "name", bad, &read),
				     RLK_OFFER_READ);
		bad[i] = 'A';
		assert_int_equal(rlk_offer_read(&key, "name", bad, &read),
				 RLK_OFFER_MALFORMED);
		bad[i] = '\0';
		assert_int_equal(rlk_offer_read(&key, "name", bad, &read),
				 RLK_OFFER_MALFORMED);
	}
	strcpy(bad, text);
	strcat(bad, "0");
	assert_int_equal(rlk_offer_read(&key, "name", bad, &read),
			 RLK_OFFER_MALFORMED);
	assert_int_equal(rlk_offer_read(&key, "name", "", &read),
			 RLK_OFFER_MALFORMED);
}

CASE_MAIN(test_main)
