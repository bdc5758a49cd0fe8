/* SPDX-License-Identifier: MIT */
/*
 * A COMMIT whose answer, or which itself, does not arrive: what became of it is
 * found out, and stays so when it arrives after all.
 */
#define ACCOUNT "guard_lost"

#include "lost_scene.h"

LOST("an answer that is lost is found out")
{
	struct scene *scene = *state;

	scene->relay.fate = ANSWER_IS_LOST;
	assert_ok(rowlock_commit(scene->lock, scene->mysql, &err));
	assert_int_equal(balance(scene), 90);
	assert_ok(rowlock_verify(scene->lock, &err));
	assert_goes_on(scene->lock);
	assert_ok(rowlock_release(scene->lock, &err));
}

/* In a transaction behind which the row is counted from 0 again. */
static void begin_at_the_largest_count(const struct scene *scene)
{
	assert_ok(rowlock_rollback(scene->lock, scene->mysql, &err));
	test_sql(scene->sql,
		 "UPDATE business_lease SET guards = %u WHERE name = '%s'",
		 UINT32_MAX, scene->name);
	/* It asks how often it was counted. */
	assert_ok(
	    rowlock_begin(scene->lock, scene->mysql, ROWLOCK_SNAPSHOT, &err));
	assert_int_equal(mysql_query(scene->mysql,
				     "UPDATE " ACCOUNT " SET balance = 7 "
				     "WHERE id = 1"),
			 0);
}

LOST("an answer is found out at the largest count")
{
	struct scene *scene = *state;

	begin_at_the_largest_count(scene);
	scene->relay.fate = ANSWER_IS_LOST;
	assert_ok(rowlock_commit(scene->lock, scene->mysql, &err));
	assert_int_equal(balance(scene), 7);
	assert_ok(rowlock_verify(scene->lock, &err));
	assert_goes_on(scene->lock);
}

LOST("an answer that stays away is found out")
{
	struct scene *scene = *state;

	scene->relay.fate = ANSWER_STAYS_AWAY;
	assert_ok(rowlock_commit(scene->lock, scene->mysql, &err));
	assert_int_equal(balance(scene), 90);
	assert_ok(rowlock_verify(scene->lock, &err));
	assert_goes_on(scene->lock);
}

/* And it does not take place when it comes: another one has, meanwhile. */
LOST("a commit that is late does not take place")
{
	struct scene *scene = *state;

	scene->relay.fate = QUESTION_IS_LATE;
	assert_code(rowlock_commit(scene->lock, scene->mysql, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_non_null(strstr(err.message, "nothing was committed"));
	assert_late_one_does_nothing(scene);
	assert_ok(rowlock_verify(scene->lock, &err));
	assert_goes_on(scene->lock);
	assert_ok(rowlock_release(scene->lock, &err));
}

LOST("a late commit does nothing at the largest count")
{
	struct scene *scene = *state;

	begin_at_the_largest_count(scene);
	scene->relay.fate = QUESTION_IS_LATE;
	assert_code(rowlock_commit(scene->lock, scene->mysql, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_late_one_does_nothing(scene);
	assert_ok(rowlock_verify(scene->lock, &err));
	assert_goes_on(scene->lock);
}

/* The question counts the row up, too. */
LOST("the next transaction knows what a late one left")
{
	struct scene *scene = *state;
	MYSQL *next = mysql_init(NULL);

	assert_non_null(next);
	assert_non_null(mysql_real_connect(next, test_dsn(), NULL, NULL, NULL,
					   0, NULL, CLIENT_MULTI_STATEMENTS));
	assert_ok(rowlock_rollback(scene->lock, scene->mysql, &err));
	assert_ok(rowlock_begin(scene->lock, next, 0, &err));
	assert_ok(rowlock_commit(scene->lock, next, &err));
	assert_ok(rowlock_begin(scene->lock, scene->mysql, 0, &err));
	scene->relay.fate = QUESTION_IS_LATE;
	assert_code(rowlock_commit(scene->lock, scene->mysql, &err),
		    ROWLOCK_ECONNECT, &err);
	sem_post(&scene->relay.deliver);
	sem_wait(&scene->relay.delivered);
	assert_ok(rowlock_begin(scene->lock, next, 0, &err));
	assert_ok(rowlock_commit(scene->lock, next, &err));
	assert_goes_on(scene->lock);
	assert_ok(rowlock_release(scene->lock, &err));
	mysql_close(next);
}

/* As a member of a group shows it that is behind: nothing follows from that. */
LOST("a count that is behind is no verdict")
{
	struct scene *scene = *state;

	for (int release = 0; release < 2; release++) {
		test_sql(scene->sql,
			 "UPDATE business_lease SET guards = 268435455 "
			 "WHERE name = '%s'",
			 scene->name);
		scene->relay.fate = QUESTION_IS_LATE;
		assert_code(
		    release ? rowlock_commit_release(scene->lock, scene->mysql,
						     &err)
			    : rowlock_commit(scene->lock, scene->mysql, &err),
		    ROWLOCK_EUNKNOWN, &err);
		assert_int_equal(test_sql_number(scene->sql,
						 "SELECT guards FROM "
						 "business_lease WHERE name = "
						 "'%s'",
						 scene->name),
				 268435455);
		if (release)
			return;
		/* The next begin steps over what may still come. */
		sem_post(&scene->relay.deliver);
		sem_wait(&scene->relay.delivered);
		assert_int_equal(balance(scene), 100);
		mysql_close(scene->mysql);
		one_relay_end(&scene->relay);
		memset(&scene->relay, 0, sizeof(scene->relay));
		scene->mysql = connect_by(&scene->relay);
		assert_ok(rowlock_begin(scene->lock, scene->mysql,
					ROWLOCK_SNAPSHOT, &err));
		/* Two further, or four, if it had to ask twice. */
		assert_int_equal(test_sql_number(scene->sql,
						 "SELECT guards IN (1, 3) FROM "
						 "business_lease WHERE name = "
						 "'%s'",
						 scene->name),
				 1);
	}
}

LOST("the outcome under a lost hold is not known")
{
	struct scene *scene = *state;

	assert_int_equal(test_sql(scene->sql,
				  "UPDATE business_lease SET attempt = attempt "
				  "^ 4711 WHERE name = '%s'",
				  scene->name),
			 1);
	scene->relay.fate = ANSWER_IS_LOST;
	assert_code(rowlock_commit(scene->lock, scene->mysql, &err),
		    ROWLOCK_EUNKNOWN, &err);
	assert_non_null(strstr(err.message, "look at the data"));
	assert_int_equal(balance(scene), 100);
	assert_int_equal(rowlock_held(scene->lock), 0);
}

/* As who commits by the guard as text. */
static void count_by_text(const struct scene *scene)
{
	char text[ROWLOCK_GUARD_SQL_SIZE];
	char *end;

	assert_ok(rowlock_guard_sql(scene->lock, text, sizeof(text), &err));
	end = strstr(text, "; SET");
	assert_non_null(end);
	*end = '\0';
	assert_int_equal(test_sql(scene->sql, "%s", text), 1);
}

/* The text's count is nobody's commit: not that of one whose answer is lost,
 * nor of one that does not come any more. */
LOST("a text that counts is not taken for a commit")
{
	struct scene *scene = *state;

	count_by_text(scene);
	scene->relay.fate = QUESTION_IS_LATE;
	assert_code(rowlock_commit(scene->lock, scene->mysql, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_late_one_does_nothing(scene);
	assert_ok(rowlock_verify(scene->lock, &err));
	assert_goes_on(scene->lock);
	assert_ok(rowlock_release(scene->lock, &err));
}

/* Though twice one is as much as what steps over a commit. */
LOST("texts that count are not taken for the question")
{
	struct scene *scene = *state;

	count_by_text(scene);
	count_by_text(scene);
	scene->relay.fate = ANSWER_IS_LOST;
	assert_code(rowlock_commit(scene->lock, scene->mysql, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_int_equal(balance(scene), 100);
	assert_ok(rowlock_verify(scene->lock, &err));
}

/* The row would be gone. */
LOST("a release beside it did not take place")
{
	struct scene *scene = *state;

	count_by_text(scene);
	scene->relay.fate = QUESTION_IS_LATE;
	assert_code(rowlock_commit_release(scene->lock, scene->mysql, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_late_one_does_nothing(scene);
	assert_goes_on(scene->lock);
	assert_ok(rowlock_release(scene->lock, &err));
}

/* Its row is locked from here on. */
static void begin_early(const struct scene *scene)
{
	assert_ok(rowlock_rollback(scene->lock, scene->mysql, &err));
	assert_ok(rowlock_begin(scene->lock, scene->mysql, ROWLOCK_EARLY_GUARD,
				&err));
	assert_int_equal(mysql_query(scene->mysql,
				     "UPDATE " ACCOUNT " SET balance = 7 "
				     "WHERE id = 1"),
			 0);
}

LOST("a late commit with an early guard is ended")
{
	struct scene *scene = *state;

	begin_early(scene);
	scene->relay.fate = QUESTION_IS_LATE;
	assert_code(rowlock_commit(scene->lock, scene->mysql, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_non_null(strstr(err.message, "nothing was committed"));
	/* Nothing of its transaction is there any more. */
	assert_int_equal(test_sql(scene->sql,
				  "UPDATE " ACCOUNT " SET balance = 100 + id "
				  "WHERE id = 1"),
			 1);
	sem_post(&scene->relay.deliver);
	sem_wait(&scene->relay.delivered);
	assert_int_equal(balance(scene), 101);
	assert_ok(rowlock_verify(scene->lock, &err));
	assert_goes_on(scene->lock);
	assert_ok(rowlock_release(scene->lock, &err));
}

LOST("a late release with an early guard is ended")
{
	struct scene *scene = *state;

	begin_early(scene);
	scene->relay.fate = QUESTION_IS_LATE;
	assert_code(rowlock_commit_release(scene->lock, scene->mysql, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_late_one_does_nothing(scene);
	assert_int_equal(rows(scene), 1);
	assert_goes_on(scene->lock);
	assert_ok(rowlock_release(scene->lock, &err));
}

LOST("a commit with an early guard is found out")
{
	struct scene *scene = *state;

	for (int lost = 0; lost < 2; lost++) {
		begin_early(scene);
		scene->relay.fate = lost ? ANSWER_IS_LOST : ANSWER_STAYS_AWAY;
		assert_ok(rowlock_commit(scene->lock, scene->mysql, &err));
		assert_int_equal(balance(scene), 7);
		assert_ok(rowlock_verify(scene->lock, &err));
		assert_goes_on(scene->lock);
		if (lost)
			return;
		mysql_close(scene->mysql);
		one_relay_end(&scene->relay);
		memset(&scene->relay, 0, sizeof(scene->relay));
		scene->mysql = connect_by(&scene->relay);
		assert_ok(rowlock_begin(scene->lock, scene->mysql, 0, &err));
	}
}

/* The row is not locked any more, though the server has not heard anything. */
LOST("a rollback with an early guard frees the row")
{
	struct scene *scene = *state;

	begin_early(scene);
	scene->relay.fate = QUESTION_IS_LATE;
	assert_ok(rowlock_rollback(scene->lock, scene->mysql, &err));
	assert_ok(rowlock_release(scene->lock, &err));
	assert_int_equal(rows(scene), 0);
	sem_post(&scene->relay.deliver);
	sem_wait(&scene->relay.delivered);
	assert_int_equal(balance(scene), 100);
}

/* Something on the way counts connections by itself, and greets with the number
 * that another one has on the server. */
LOST("a number that is another's is not killed")
{
	struct scene *scene = *state;
	MYSQL *other = mysql_init(NULL);

	assert_non_null(other);
	assert_non_null(mysql_real_connect(other, test_dsn(), NULL, NULL, NULL,
					   0, NULL, CLIENT_MULTI_STATEMENTS));
	assert_ok(rowlock_rollback(scene->lock, scene->mysql, &err));
	scene->mysql->thread_id = mysql_thread_id(other);
	assert_ok(rowlock_begin(scene->lock, scene->mysql, 0, &err));
	begin_early(scene);
	scene->relay.fate = QUESTION_IS_LATE;
	assert_code(rowlock_commit(scene->lock, scene->mysql, &err),
		    ROWLOCK_EUNKNOWN, &err);
	assert_int_equal(mysql_query(other, "DO 0"), 0);
	mysql_close(other);
	sem_post(&scene->relay.deliver);
	sem_wait(&scene->relay.delivered);
}

/* What a begin fails with, when the connection breaks in the middle of it. */
LOST("a begin that breaks is none")
{
	struct scene *scene = *state;

	assert_ok(rowlock_rollback(scene->lock, scene->mysql, &err));
	test_sql(scene->sql, "DELETE FROM business_lease WHERE name = '%s'",
		 scene->name);
	scene->relay.fate = SECOND_IS_LOST;
	/* A snapshot is taken by asking for the lease. */
	assert_code(
	    rowlock_begin(scene->lock, scene->mysql, ROWLOCK_SNAPSHOT, &err),
	    ROWLOCK_ECONNECT, &err);
	assert_code(rowlock_commit(scene->lock, scene->mysql, &err),
		    ROWLOCK_EINVAL, &err);
	assert_int_equal(balance(scene), 100);
}

CASE_MAIN(test_main)
