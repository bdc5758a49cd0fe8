/* SPDX-License-Identifier: MIT */
#include "parts.h"

#include <stdio.h>

static bool never(struct rlk_conn *conn, void *arg)
{
	(void) conn;
	(void) arg;
	return false;
}

static const struct rlk_patience none = { never, NULL };

enum rlk_fault parts_run(int who, struct rlk_part *parts, size_t count,
			 struct rowlock_errinfo *error)
{
	struct rlk_part *pointers[PARTS_MOST];

	for (size_t i = 0; i < count; i++)
		pointers[i] = &parts[i];
	return ground->strategy->batch(ground->conns[who], pointers, count,
				       &none, error);
}

/* Those that have no answer yet. */
static enum rlk_fault run_rest(int who, struct rlk_part *parts, size_t count,
			       struct rowlock_errinfo *error)
{
	struct rlk_part *pointers[PARTS_MOST];
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (!parts[i].answered)
			pointers[left++] = &parts[i];
	if (!left)
		return RLK_DONE;
	return ground->strategy->batch(ground->conns[who], pointers, left,
				       &none, error);
}

/* On a busy server somebody else may have a lock for longer than a statement
 * waits for it: then the rest is asked for again. */
void parts_run_all(int who, struct rlk_part *parts, size_t count)
{
	uint64_t began = test_now_ns();
	enum rlk_fault fault = parts_run(who, parts, count, &err);

	while (fault == RLK_BUSY) {
		test_keep_waiting(began, "others' locks to go: %s",
				  err.message);
		fault = run_rest(who, parts, count, &err);
	}
	assert_done(fault);
	/* What was not there to be given back, or to be drawn for, is for its
	 * caller to ask for. */
	for (size_t i = 0; i < count; i++)
		assert_int_equal(
		    parts[i].answered,
		    (parts[i].act != RLK_ACT_RELEASE || parts[i].found) &&
			(parts[i].act != RLK_ACT_DRAW || parts[i].token));
}

struct rlk_part parts_of(enum rlk_act act, const struct rlk_request *request)
{
	return (struct rlk_part){ .act = act, .request = *request };
}

struct rlk_part parts_ask(int who, const char *name)
{
	struct rlk_request request = ground_request(who, name);

	return parts_of(RLK_ACT_ACQUIRE, &request);
}

uint64_t parts_rows(const char *name)
{
	return test_sql_number(ground->sql,
			       "SELECT COUNT(*) FROM business_lease WHERE "
			       "name = '%s'",
			       name);
}

const char *parts_name(const char *name, size_t number)
{
	static char names[PARTS_MOST][64];

	snprintf(names[number], sizeof(names[number]), "%s-%zu", name, number);
	return names[number];
}

struct rlk_conn *parts_guard(const char *name)
{
	struct rlk_conn *guard = ground_open(false, 1);
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "SELECT attempt FROM business_lease WHERE name = '%s' AND "
		 "slot = 0 FOR UPDATE",
		 name);
	assert_done(rlk_stmt_text(guard, sql, &err));
	return guard;
}

void parts_unguard(struct rlk_conn *guard)
{
	assert_done(rlk_stmt_text(guard, "ROLLBACK", &err));
	rlk_conn_close(guard);
}
