// SPDX-License-Identifier: MIT
/*
 * A round: acquire, begin, read, think, write, commit, say what was told.
 *
 * The faults are an application's: it is stopped at the worst moment, its
 * transaction is ended half way, it overlooks a deadlock, a savepoint takes
 * back what was locked, the answer to its COMMIT is lost. What comes from
 * outside is spoil.c's and the driver's.
 */
#include "stale.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dsn.h"

#define DEADLOCK 1213

/* xorshift64*: the same lots for the same seed, whatever the C library. */
unsigned int stale_draw(struct stale_worker *worker, unsigned int n)
{
	worker->lots ^= worker->lots >> 12;
	worker->lots ^= worker->lots << 25;
	worker->lots ^= worker->lots >> 27;
	return (unsigned int) ((worker->lots * 0x2545F4914F6CDD1D) >> 33) % n;
}

bool stale_lot(struct stale_worker *worker, unsigned int n)
{
	return n && !stale_draw(worker, n);
}

static bool fault(struct stale_worker *worker, unsigned int n)
{
	return worker->options->faults && stale_lot(worker, n);
}

static void nap(struct stale_worker *worker, unsigned int most_us)
{
	struct timespec time = { 0, (long) stale_draw(worker, most_us) * 1000 };

	nanosleep(&time, NULL);
}

/* A server that is away is not asked all the time. */
static void let_it_come_back(void)
{
	struct timespec time = { 0, 10000000 };

	nanosleep(&time, NULL);
}

static volatile sig_atomic_t ends;

static void come_to_an_end(int signal)
{
	(void) signal;
	ends = 1;
}

/* Behind a relay of its own, if there is one. */
static void say_where(struct stale_worker *worker, char *dsn, size_t size)
{
	const char *given = worker->options->dsn;
	const char *port = strstr(given, "port=");
	char more[64];

	if (worker->options->direct) {
		snprintf(dsn, size, "%s", given);
		return;
	}
	snprintf(more, sizeof(more), "host=127.0.0.1;port=%u",
		 one_relay_start(&worker->relay,
				 port ? (unsigned int) atoi(port + 5) : 3306));
	test_dsn_with(given, more, dsn, size);
}

static bool connected(struct stale_worker *worker)
{
	unsigned int timeout_s = 6;
	char dsn[1024];

	say_where(worker, dsn, sizeof(dsn));
	worker->mysql = mysql_init(NULL);
	mysql_optionsv(worker->mysql, MYSQL_OPT_CONNECT_TIMEOUT, &timeout_s);
	mysql_optionsv(worker->mysql, MYSQL_OPT_READ_TIMEOUT, &timeout_s);
	/* Whatever the server gives to a new session. */
	return mysql_real_connect(worker->mysql, dsn, NULL, NULL, NULL, 0, NULL,
				  CLIENT_MULTI_STATEMENTS) &&
	       !stale_say(worker->mysql, "SET autocommit = 1, "
					 "innodb_lock_wait_timeout = 2");
}

void stale_connect(struct stale_worker *worker)
{
	while (!ends && !connected(worker)) {
		/* Cut off as it came, or the server is away. */
		stale_disconnect(worker);
		let_it_come_back();
	}
}

void stale_disconnect(struct stale_worker *worker)
{
	if (!worker->mysql)
		return;
	mysql_close(worker->mysql);
	if (!worker->options->direct)
		one_relay_end(&worker->relay);
	worker->mysql = NULL;
}

unsigned int stale_say(MYSQL *mysql, const char *text)
{
	MYSQL_RES *result;

	if (mysql_query(mysql, text))
		return mysql_errno(mysql);
	result = mysql_store_result(mysql);
	if (!result)
		return mysql_errno(mysql);
	mysql_free_result(result);
	return 0;
}

/* ------------------------------------------------------------------ faults */

/* The driver lets it go on after more than a TTL. */
static void think(struct stale_worker *worker)
{
	if (stale_lot(worker, worker->options->stops))
		raise(SIGSTOP);
	else if (stale_lot(worker, worker->options->muses))
		nap(worker, 1000000);
	else if (stale_lot(worker, 3))
		nap(worker, 3000);
}

/* What ends a transaction, or half of it, and is not noticed. */
static void end_half_way(struct stale_worker *worker)
{
	if (fault(worker, 150))
		stale_say(worker->mysql, "CREATE TABLE IF NOT EXISTS "
					 "stale_other (id INT)");
	else if (fault(worker, 150))
		stale_say(worker->mysql, "COMMIT");
	else if (fault(worker, 150))
		stale_say(worker->mysql, "ROLLBACK");
}

/* 0, or what it failed with; one that was chosen as a victim is said again, as
 * by somebody who does not look. */
static unsigned int write_one(struct stale_worker *worker, const char *text)
{
	unsigned int error = stale_say(worker->mysql, text);

	if (error == DEADLOCK && worker->options->faults)
		error = stale_say(worker->mysql, text);
	return error;
}

/* Two rows that all change, in either order. */
static unsigned int cross(struct stale_worker *worker)
{
	unsigned int first = stale_draw(worker, 2);
	unsigned int error = 0;
	char text[96];

	for (unsigned int i = 0; i < 2 && !error; i++) {
		snprintf(text, sizeof(text),
			 "UPDATE stale_cross SET n = n + 1 WHERE id = %u",
			 (first + i) % 2);
		error = write_one(worker, text);
	}
	return error;
}

/* What is taken back. */
static unsigned int try_it_first(struct stale_worker *worker,
				 unsigned int number)
{
	char text[96];
	unsigned int error = stale_say(worker->mysql, "SAVEPOINT mine");

	snprintf(text, sizeof(text),
		 "UPDATE stale_register SET last = 0 WHERE id = %u", number);
	if (!error)
		error = stale_say(worker->mysql, text);
	if (!error)
		error = stale_say(worker->mysql, "ROLLBACK TO SAVEPOINT mine");
	return error;
}

static void lose_the_answer(struct stale_worker *worker)
{
	static const enum one_relay_fate fates[] = {
		ANSWER_IS_LOST,   ANSWER_IS_LOST,    QUESTION_IS_LATE,
		QUESTION_IS_LATE, ANSWER_STAYS_AWAY,
	};

	if (fault(worker, 40))
		worker->relay.fate = fates[stale_draw(worker, 5)];
}

/* --------------------------------------------------------------- the round */

static bool read_last(struct stale_worker *worker, unsigned int number,
		      uint64_t *ret_last)
{
	char text[96];
	MYSQL_RES *result;
	MYSQL_ROW row;

	snprintf(text, sizeof(text),
		 "SELECT last FROM stale_register WHERE id = %u", number);
	if (mysql_query(worker->mysql, text))
		return false;
	result = mysql_store_result(worker->mysql);
	row = result ? mysql_fetch_row(result) : NULL;
	if (row)
		*ret_last = strtoull(row[0], NULL, 10);
	mysql_free_result(result);
	return row != NULL;
}

static unsigned int write_all(struct stale_worker *worker, unsigned int number,
			      uint64_t last, uint64_t id)
{
	unsigned int error = 0;
	char text[160];

	if (fault(worker, 10))
		error = cross(worker);
	if (!error && fault(worker, 20))
		error = try_it_first(worker, number);
	snprintf(text, sizeof(text),
		 "UPDATE stale_register SET last = %" PRIu64 " WHERE id = %u",
		 id, number);
	if (!error)
		error = write_one(worker, text);
	snprintf(text, sizeof(text),
		 "INSERT INTO stale_write (id, register, follows) "
		 "VALUES (%" PRIu64 ", %u, %" PRIu64 ")",
		 id, number, last);
	if (!error)
		error = write_one(worker, text);
	return error;
}

static enum stale_end write_and_commit(struct stale_worker *worker,
				       unsigned int number, uint64_t id)
{
	const struct stale_form *form = worker->options->form;
	uint64_t last = 0;

	end_half_way(worker);
	if (!read_last(worker, number, &last))
		goto rolled_back;
	think(worker);
	if (write_all(worker, number, last, id))
		goto rolled_back;
	think(worker);
	lose_the_answer(worker);
	return form->commit(worker, number);

rolled_back:
	form->roll_back(worker, number);
	return STALE_NOT;
}

static void tell(unsigned int number, uint64_t id, enum stale_end end)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "%u %" PRIu64 " %c\n", number,
			      id, (char) end);

	/* One write: it is said, or not. */
	if (write(STDOUT_FILENO, line, (size_t) length) != length)
		_exit(1);
}

/* A late question comes before the next transaction, or in the middle of
 * somebody's. */
static void start_anew(struct stale_worker *worker)
{
	if (worker->relay.fate == QUESTION_IS_LATE)
		nap(worker, 20000);
	stale_disconnect(worker);
	stale_connect(worker);
}

static void play(struct stale_worker *worker, uint64_t id)
{
	const struct stale_form *form = worker->options->form;
	unsigned int number = stale_draw(worker, worker->options->registers);
	enum stale_end end = STALE_NOT;

	if (!form->acquire(worker, number)) {
		tell(number, id, STALE_NOT);
		if (worker->options->direct)
			let_it_come_back();
		return;
	}
	if (form->begin(worker, number))
		end = write_and_commit(worker, number, id);
	tell(number, id, end);
	form->release(worker, number);
	if (worker->relay.fate != PASSES ||
	    (end != STALE_COMMITTED && mysql_ping(worker->mysql)))
		start_anew(worker);
}

/* Cut off as it comes, too; and where a run goes on until it is ended, the
 * server may be of no use for a while. */
static void open_client(struct stale_worker *worker)
{
	const struct stale_options *options = worker->options;
	struct rowlock_client_options wanted = ROWLOCK_CLIENT_OPTIONS_DEFAULT;
	struct rowlock_errinfo error;
	int code;

	wanted.dsn = options->dsn;
	wanted.program = "stale";
	wanted.ttl_ms = options->ttl_ms;
	wanted.call_timeout_ms = 4000;
	wanted.flags = (options->observe ? ROWLOCK_OBSERVE_BEATS : 0) |
		       (options->tls_unverified ? ROWLOCK_TLS_UNVERIFIED : 0);
	while ((code = rowlock_client_new(&wanted, &worker->client, &error))) {
		if (code != ROWLOCK_ECONNECT && options->rounds)
			stale_die("%s", error.message);
		if (ends)
			_exit(0);
		let_it_come_back();
	}
}

static void open_all(struct stale_worker *worker)
{
	const struct stale_options *options = worker->options;
	struct rowlock_options lease = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo error;
	char name[32];

	open_client(worker);
	lease.strategy = ROWLOCK_LEASE;
	for (unsigned int i = 0; i < options->registers; i++) {
		snprintf(name, sizeof(name), "stale-%u", i);
		if (rowlock_new(worker->client, name, &lease, &worker->locks[i],
				&error))
			stale_die("%s", error.message);
	}
	if (!options->direct)
		worker->aside = stale_open(options);
	stale_connect(worker);
}

static void close_all(struct stale_worker *worker)
{
	stale_disconnect(worker);
	mysql_close(worker->aside);
	for (unsigned int i = 0; i < worker->options->registers; i++)
		rowlock_freep(&worker->locks[i]);
	rowlock_client_free(worker->client, NULL);
}

void stale_work(const struct stale_options *options)
{
	struct stale_worker worker = {
		.options = options,
		.lots =
		    0x9e3779b97f4a7c15 * (options->worker + 1) + options->seed,
	};

	if (!options->rounds)
		signal(SIGTERM, come_to_an_end);
	open_all(&worker);
	for (uint64_t i = 1;
	     !ends && (!options->rounds || i <= options->rounds); i++)
		play(&worker, options->worker * UINT64_C(1000000) + i);
	close_all(&worker);
}
