// SPDX-License-Identifier: MIT
/*
 * A round: acquire, begin, read, think, write, commit, say what was told.
 *
 * Its faults are in faults.c; what comes from outside is spoil.c's and the
 * driver's.
 */
#include "stale.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dsn.h"

#define ERROR_INTERRUPTED 1317 /* KILL QUERY */

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

void stale_nap(struct stale_worker *worker, unsigned int most_us)
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

unsigned int stale_port(const char *dsn)
{
	const char *port = strstr(dsn, "port=");

	return port ? (unsigned int) atoi(port + 5) : 3306;
}

/* Any of the nodes: of three, in two of three cases another one than the
 * client's. */
static const char *some_node(struct stale_worker *worker)
{
	const struct stale_options *options = worker->options;

	return options->node_count
		   ? options->nodes[stale_draw(worker, options->node_count)]
		   : options->dsn;
}

/* Behind a relay of its own, if there is one. */
static void say_where(struct stale_worker *worker, char *dsn, size_t size)
{
	char more[64];

	worker->node = some_node(worker);
	if (worker->options->direct) {
		snprintf(dsn, size, "%s", worker->node);
		return;
	}
	snprintf(more, sizeof(more), "host=127.0.0.1;port=%u",
		 one_relay_start(&worker->relay, stale_port(worker->node)));
	test_dsn_with(worker->node, more, dsn, size);
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

bool stale_ask(MYSQL *mysql, const char *text, uint64_t *ret_number)
{
	MYSQL_RES *result;
	MYSQL_ROW row;

	if (mysql_query(mysql, text))
		return false;
	result = mysql_store_result(mysql);
	row = result ? mysql_fetch_row(result) : NULL;
	if (row)
		*ret_number = strtoull(row[0], NULL, 10);
	mysql_free_result(result);
	return row != NULL;
}

/* --------------------------------------------------------------- the story */

uint64_t stale_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

/* What a message has in it, be it what it may, stays one line of ASCII. */
void stale_note(struct stale_worker *worker, const char *format, ...)
{
	size_t used = strlen(worker->story);
	va_list args;

	if (used && used + 1 < sizeof(worker->story))
		worker->story[used++] = ' ';
	va_start(args, format);
	vsnprintf(worker->story + used, sizeof(worker->story) - used, format,
		  args);
	va_end(args);
	for (char *c = worker->story + used; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

static void start_story(struct stale_worker *worker)
{
	worker->story[0] = '\0';
	stale_note(worker, "from=%" PRIu64, stale_now_ms());
	if (worker->mysql)
		stale_note(worker, "client-at=%u own-at=%u connection=%lu",
			   stale_port(worker->options->dsn),
			   stale_port(worker->node),
			   mysql_thread_id(worker->mysql));
}

/* --------------------------------------------------------------- the round */

static bool read_last(struct stale_worker *worker, unsigned int number,
		      uint64_t *ret_last)
{
	char text[96];

	snprintf(text, sizeof(text),
		 "SELECT last FROM stale_register WHERE id = %u", number);
	return stale_ask(worker->mysql, text, ret_last);
}

/* An OK is not enough: the row must be changed. A server that is told to end
 * a statement may say that it found none. */
static bool write_row(struct stale_worker *worker, const char *text)
{
	return !stale_write_one(worker, text) &&
	       mysql_affected_rows(worker->mysql) == 1;
}

static bool write_all(struct stale_worker *worker, unsigned int number,
		      uint64_t last, uint64_t id)
{
	char text[160];

	if (stale_write_more(worker, number))
		return false;
	snprintf(text, sizeof(text),
		 "UPDATE stale_register SET last = %" PRIu64 " WHERE id = %u",
		 id, number);
	if (!write_row(worker, text))
		return false;
	snprintf(text, sizeof(text),
		 "INSERT INTO stale_write (id, register, follows) "
		 "VALUES (%" PRIu64 ", %u, %" PRIu64 ")",
		 id, number, last);
	return write_row(worker, text);
}

static enum stale_end write_and_commit(struct stale_worker *worker,
				       unsigned int number, uint64_t id)
{
	const struct stale_form *form = worker->options->form;
	uint64_t last = 0;
	enum stale_end end;

	stale_end_half_way(worker);
	if (!read_last(worker, number, &last))
		goto rolled_back;
	stale_think(worker);
	if (!write_all(worker, number, last, id))
		goto rolled_back;
	stale_think(worker);
	stale_disturb(worker, true);
	end = form->commit(worker, number);
	stale_disturb_no_more(worker);
	return end;

rolled_back:
	form->roll_back(worker, number);
	return STALE_NOT;
}

static void tell(struct stale_worker *worker, unsigned int number, uint64_t id,
		 enum stale_end end)
{
	char line[STALE_STORY_MOST + 64];
	int length = snprintf(line, sizeof(line), "%u %" PRIu64 " %c %s\n",
			      number, id, (char) end, worker->story);

	/* One write: it is said, or not. */
	if (write(STDOUT_FILENO, line, (size_t) length) != length)
		_exit(1);
}

/* A late COMMIT may wait for the node that this worker keeps behind: Galera's
 * flow control stops all nodes for one. stale_disconnect() waits for the
 * COMMIT, so the node is let go first where that takes more than a second. */
static void deliver_behind_brake(struct stale_worker *worker)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	sem_post(&worker->relay.deliver);
	if (sem_timedwait(&worker->relay.delivered, &until))
		stale_let_go(worker);
}

/* A late question comes before the next transaction, or in the middle of
 * somebody's. */
static void start_anew(struct stale_worker *worker)
{
	if (worker->relay.fate == QUESTION_IS_LATE) {
		stale_nap(worker, 20000);
		if (worker->brake)
			deliver_behind_brake(worker);
	}
	stale_disconnect(worker);
	stale_connect(worker);
}

static bool begin(struct stale_worker *worker, unsigned int number)
{
	bool begun;

	stale_disturb(worker, false);
	begun = worker->options->form->begin(worker, number);
	stale_disturb_no_more(worker);
	return begun;
}

/* One transaction, under a lock that is held, or is thought to be. */
static enum stale_end transact(struct stale_worker *worker, unsigned int number,
			       uint64_t id)
{
	enum stale_end end = STALE_NOT;

	start_story(worker);
	worker->denied = false;
	stale_brake(worker);
	if (worker->brake)
		stale_note(worker, "client-behind");
	if (begin(worker, number))
		end = write_and_commit(worker, number, id);
	if (worker->denied)
		end = STALE_DENIED;
	stale_note(worker, "until=%" PRIu64, stale_now_ms());
	tell(worker, number, id, end);
	if (worker->relay.fate != PASSES ||
	    (end != STALE_COMMITTED && mysql_ping(worker->mysql)))
		start_anew(worker);
	return end;
}

/* Also after one whose end is not known: it may come late. */
static bool goes_on(struct stale_worker *worker, enum stale_end end)
{
	worker->again = worker->options->form->keeps && !ends &&
			(end == STALE_COMMITTED || end == STALE_UNKNOWN) &&
			(worker->brake || stale_lot(worker, 2));
	return worker->again;
}

/* Returns the number of writes that it has tried, which begin with @id. */
static uint64_t play(struct stale_worker *worker, uint64_t id)
{
	const struct stale_form *form = worker->options->form;
	unsigned int number = stale_draw(worker, worker->options->registers);
	uint64_t count = 1;

	start_story(worker);
	if (!form->acquire(worker, number)) {
		tell(worker, number, id, STALE_NOT);
		if (worker->options->direct)
			let_it_come_back();
		return count;
	}
	while (goes_on(worker, transact(worker, number, id + count - 1)))
		count++;
	stale_let_go(worker);
	form->release(worker, number);
	return count;
}

/* Others end connections and statements while this process starts. A run that
 * goes on until it is ended also outlives a server that is of no use. */
static bool will_pass(const struct stale_options *options,
		      const struct rowlock_errinfo *error)
{
	return !options->rounds || error->code == ROWLOCK_ECONNECT ||
	       error->mysql == ERROR_INTERRUPTED;
}

struct rowlock_client *stale_open_client(
    const struct stale_options *options,
    const struct rowlock_client_options *wanted)
{
	struct rowlock_client *client;
	struct rowlock_errinfo error;

	while (rowlock_client_new(wanted, &client, &error)) {
		if (!will_pass(options, &error))
			stale_die("%s", error.message);
		if (ends)
			_exit(0);
		let_it_come_back();
	}
	return client;
}

static void open_client(struct stale_worker *worker)
{
	const struct stale_options *options = worker->options;
	struct rowlock_client_options wanted = ROWLOCK_CLIENT_OPTIONS_DEFAULT;

	wanted.dsn = options->dsn;
	wanted.program = "stale";
	wanted.ttl_ms = options->ttl_ms;
	wanted.call_timeout_ms = 4000;
	wanted.flags = (options->observe ? ROWLOCK_OBSERVE_BEATS : 0) |
		       (options->tls_unverified ? ROWLOCK_TLS_UNVERIFIED : 0);
	worker->client = stale_open_client(options, &wanted);
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
	rowlock_client_free(worker->client);
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
	     !ends && (!options->rounds || i <= options->rounds);)
		i += play(&worker, options->worker * UINT64_C(1000000) + i);
	close_all(&worker);
}
