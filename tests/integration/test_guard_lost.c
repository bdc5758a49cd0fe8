/* SPDX-License-Identifier: MIT */
/*
 * A COMMIT whose answer, or which itself, does not arrive: what became of it is
 * found out, and stays so when it arrives after all.
 */
#include <arpa/inet.h>
#include <mysql.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rowlock/mysql.h>

#include "dsn.h"
#include "sql.h"
#include "test.h"

#define TTL_MS 30000

/* What becomes of what passes. */
enum fate {
	PASSES,
	ANSWER_IS_LOST,    /* and the client's connection with it */
	ANSWER_STAYS_AWAY, /* the connection stays */
	QUESTION_IS_LATE,  /* the connection is lost; it is delivered when the
			      test says so */
};

/* Between the application's connection and the server. */
struct relay {
	int listener;
	pthread_t thread;
	_Atomic int fate;
	sem_t deliver;
	sem_t delivered;
};

static int dial(void)
{
	const char *port = strstr(test_dsn(), "port=");
	struct sockaddr_in at = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_port = htons((uint16_t) (port ? atoi(port + 5) : 3306));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *) &at, sizeof(at)))
		abort();
	return fd;
}

static void send_all(int fd, const char *bytes, ssize_t count)
{
	while (count > 0) {
		ssize_t sent = send(fd, bytes, (size_t) count, MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		bytes += sent;
		count -= sent;
	}
}

/* All that comes from @fd until there is nothing more. */
static void drain(int fd)
{
	char bytes[4096];

	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
}

/* False: it is over. */
static bool pass_question(struct relay *relay, int client, int server)
{
	char bytes[16384];
	ssize_t count = recv(client, bytes, sizeof(bytes), 0);

	if (count <= 0)
		return false;
	if (relay->fate == QUESTION_IS_LATE) {
		shutdown(client, SHUT_RDWR);
		sem_wait(&relay->deliver);
		send_all(server, bytes, count);
		shutdown(server, SHUT_WR);
		drain(server);
		sem_post(&relay->delivered);
		return false;
	}
	send_all(server, bytes, count);
	return true;
}

static bool pass_answer(struct relay *relay, int client, int server)
{
	char bytes[16384];
	ssize_t count = recv(server, bytes, sizeof(bytes), 0);

	if (count <= 0 || relay->fate == ANSWER_IS_LOST)
		return false;
	if (relay->fate == PASSES)
		send_all(client, bytes, count);
	return true;
}

static void *run_relay(void *arg)
{
	struct relay *relay = arg;
	int client = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
	int server = dial();
	struct pollfd fds[] = {
		{ .fd = client, .events = POLLIN },
		{ .fd = server, .events = POLLIN },
	};
	bool on = true;

	while (on && poll(fds, 2, -1) > 0) {
		if (fds[0].revents)
			on = pass_question(relay, client, server);
		if (on && fds[1].revents)
			on = pass_answer(relay, client, server);
	}
	close(client);
	close(server);
	return NULL;
}

static MYSQL *connect_by(struct relay *relay)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t length = sizeof(at);
	MYSQL *mysql = mysql_init(NULL);
	char more[64];
	char dsn[1024];

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
	    bind(relay->listener, (struct sockaddr *) &at, sizeof(at)), 0);
	assert_int_equal(listen(relay->listener, 1), 0);
	getsockname(relay->listener, (struct sockaddr *) &at, &length);
	sem_init(&relay->deliver, 0, 0);
	sem_init(&relay->delivered, 0, 0);
	assert_int_equal(pthread_create(&relay->thread, NULL, run_relay, relay),
			 0);
	snprintf(more, sizeof(more), "host=127.0.0.1;port=%u",
		 ntohs(at.sin_port));
	test_dsn_with(test_dsn(), more, dsn, sizeof(dsn));
	if (!mysql_real_connect(mysql, dsn, NULL, NULL, NULL, 0, NULL,
				CLIENT_MULTI_STATEMENTS))
		fail_msg("connect: %s", mysql_error(mysql));
	return mysql;
}

/* A transaction that is open, behind the relay. */
struct scene {
	struct rowlock_client *client;
	struct rowlock *lock;
	const char *name;
	struct test_sql *sql;
	struct relay relay;
	MYSQL *mysql;
};

static int set_up(void **state)
{
	static struct scene scene;
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	struct rowlock_errinfo err;

	memset(&scene, 0, sizeof(scene));
	options.call_timeout_ms = test_ttl_ms(4000);
	assert_ok(rowlock_client_new(&options, &scene.client, &err));
	scene.name = test_name("lost");
	scene.lock = test_lock(scene.client, ROWLOCK_LEASE, 0, scene.name);
	scene.sql = test_sql_open();
	test_sql(scene.sql, "CREATE TABLE IF NOT EXISTS guard_lost (id INT "
			    "PRIMARY KEY, balance INT NOT NULL) ENGINE=InnoDB");
	test_sql(scene.sql, "REPLACE INTO guard_lost VALUES (1, 100)");
	scene.mysql = connect_by(&scene.relay);
	assert_ok(rowlock_acquire(scene.lock, 0, &err));
	assert_ok(rowlock_begin(scene.lock, scene.mysql, 0, &err));
	assert_int_equal(mysql_query(scene.mysql,
				     "UPDATE guard_lost SET balance = balance "
				     "- 10 WHERE id = 1"),
			 0);
	*state = &scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	rowlock_rollback(scene->lock, scene->mysql, NULL);
	rowlock_release(scene->lock, NULL);
	test_lock_end(scene->lock);
	mysql_close(scene->mysql);
	pthread_join(scene->relay.thread, NULL);
	close(scene->relay.listener);
	sem_destroy(&scene->relay.deliver);
	sem_destroy(&scene->relay.delivered);
	test_client_end(scene->client);
	test_sql(scene->sql, "DROP TABLE guard_lost");
	test_sql_end(scene->sql);
	return 0;
}

static uint64_t balance(const struct scene *scene)
{
	return test_sql_number(scene->sql,
			       "SELECT balance FROM guard_lost WHERE id = 1");
}

static void answer_that_is_lost_is_found_out(void **state)
{
	struct scene *scene = *state;
	struct rowlock_errinfo err;

	scene->relay.fate = ANSWER_IS_LOST;
	assert_ok(rowlock_commit(scene->lock, scene->mysql, &err));
	assert_int_equal(balance(scene), 90);
	assert_ok(rowlock_verify(scene->lock, &err));
	assert_ok(rowlock_release(scene->lock, &err));
}

static void answer_that_stays_away_is_found_out(void **state)
{
	struct scene *scene = *state;
	struct rowlock_errinfo err;

	scene->relay.fate = ANSWER_STAYS_AWAY;
	assert_ok(rowlock_commit(scene->lock, scene->mysql, &err));
	assert_int_equal(balance(scene), 90);
	assert_ok(rowlock_verify(scene->lock, &err));
}

/* And it does not take place when it comes: another one has, meanwhile. */
static void commit_that_is_late_does_not_take_place(void **state)
{
	struct scene *scene = *state;
	struct rowlock_errinfo err;

	scene->relay.fate = QUESTION_IS_LATE;
	assert_code(rowlock_commit(scene->lock, scene->mysql, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_non_null(strstr(err.message, "nothing was committed"));
	sem_post(&scene->relay.deliver);
	sem_wait(&scene->relay.delivered);
	assert_int_equal(balance(scene), 100);
	assert_ok(rowlock_verify(scene->lock, &err));
	assert_ok(rowlock_release(scene->lock, &err));
}

static void outcome_under_a_lost_hold_is_not_known(void **state)
{
	struct scene *scene = *state;
	struct rowlock_errinfo err;

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

static uint64_t rows(const struct scene *scene)
{
	return test_sql_number(scene->sql,
			       "SELECT COUNT(*) FROM business_lease "
			       "WHERE name = '%s'",
			       scene->name);
}

static void release_that_was_committed_is_found_out(void **state)
{
	struct scene *scene = *state;
	struct rowlock_errinfo err;

	scene->relay.fate = ANSWER_IS_LOST;
	assert_ok(rowlock_commit_release(scene->lock, scene->mysql, &err));
	assert_int_equal(balance(scene), 90);
	assert_int_equal(rows(scene), 0);
	assert_int_equal(rowlock_held(scene->lock), 0);
	assert_ok(rowlock_acquire(scene->lock, 0, &err));
}

static void release_that_is_late_does_not_take_place(void **state)
{
	struct scene *scene = *state;
	struct rowlock_errinfo err;

	scene->relay.fate = QUESTION_IS_LATE;
	assert_code(rowlock_commit_release(scene->lock, scene->mysql, &err),
		    ROWLOCK_ECONNECT, &err);
	sem_post(&scene->relay.deliver);
	sem_wait(&scene->relay.delivered);
	assert_int_equal(balance(scene), 100);
	assert_int_equal(rows(scene), 1);
	assert_ok(rowlock_verify(scene->lock, &err));
}

/* The row is gone, and others have broken a lease of this session: it may have
 * been this one. */
static void release_of_what_may_be_broken_is_not_known(void **state)
{
	struct scene *scene = *state;
	struct rowlock_errinfo err;

	assert_int_equal(test_sql(scene->sql,
				  "UPDATE lease_session s JOIN business_lease "
				  "l ON l.session = s.id SET s.breaks = "
				  "s.breaks + 1 WHERE l.name = '%s'",
				  scene->name),
			 1);
	assert_int_equal(test_sql(scene->sql,
				  "DELETE FROM business_lease WHERE name = "
				  "'%s'",
				  scene->name),
			 1);
	scene->relay.fate = ANSWER_IS_LOST;
	assert_code(rowlock_commit_release(scene->lock, scene->mysql, &err),
		    ROWLOCK_EUNKNOWN, &err);
	assert_int_equal(balance(scene), 100);
	assert_int_equal(rowlock_held(scene->lock), 0);
}

int main(void)
{
#define LOST(sentence, function)                                               \
	{                                                                      \
		sentence, function, set_up, tear_down, NULL                    \
	}
	const struct CMUnitTest tests[] = {
		LOST("an answer that is lost is found out",
		     answer_that_is_lost_is_found_out),
		LOST("an answer that stays away is found out",
		     answer_that_stays_away_is_found_out),
		LOST("a commit that is late does not take place",
		     commit_that_is_late_does_not_take_place),
		LOST("the outcome under a lost hold is not known",
		     outcome_under_a_lost_hold_is_not_known),
		LOST("a release that was committed is found out",
		     release_that_was_committed_is_found_out),
		LOST("a release that is late does not take place",
		     release_that_is_late_does_not_take_place),
		LOST("a release of what may be broken is not known",
		     release_of_what_may_be_broken_is_not_known),
	};

	return test_main(tests);
}
