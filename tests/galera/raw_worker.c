// SPDX-License-Identifier: MIT
/*
 * A thread that acquires in plain SQL, in one of several ways; after each grant
 * that was answered, the row is looked for on the next node, which waits until
 * it has all that is committed.
 *
 * A grant whose row is not there is a lie; so is a row that stays when its
 * DELETE was answered, or whose INSERT was answered "held by another": nobody
 * would ever remove it. A row that is there in spite of an answer 1213 is none:
 * who got an error has to look.
 */
#include "raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_S 30    /* longer than any answer takes that comes */
#define MOST_TRIES 10000 /* of what only conflicts hinder */
#define SERIAL_BITS 40   /* of an attempt; above them is the thread */

void raw_give_up(const char *what, const char *why)
{
	fprintf(stderr, "raw: %s: %s\n", what, why);
	exit(1);
}

/* --------------------------------------------------------- to the server */

MYSQL *raw_open_node(const struct plan *plan, unsigned int node)
{
	MYSQL *mysql = mysql_init(NULL);
	unsigned int patience_s = PATIENCE_S;

	if (!mysql)
		raw_give_up("connect", "out of memory");
	mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &patience_s);
	if (!mysql_real_connect(mysql, plan->dsns[node % plan->nodes], NULL,
				NULL, NULL, 0, NULL, CLIENT_MULTI_STATEMENTS))
		raw_give_up("connect", mysql_error(mysql));
	return mysql;
}

/* What several writers get when they meet: nothing was done. */
static bool is_conflict(unsigned int error)
{
	return error == 1213 || error == 1205 || error == 1020;
}

/* No answer came, or none that Connector/C can read. */
static bool is_silence(unsigned int error)
{
	return error == 2006 || error == 2013 || error == 2014 || error == 2027;
}

static void note_error(struct answer *answer, MYSQL *mysql)
{
	answer->error = mysql_errno(mysql);
	if (!is_conflict(answer->error) && !is_silence(answer->error))
		raw_give_up("query", mysql_error(mysql));
}

static void note_rows(struct answer *answer, MYSQL_RES *result)
{
	MYSQL_ROW row = mysql_fetch_row(result);

	if (row && row[0])
		answer->returned = strtoull(row[0], NULL, 10);
	mysql_free_result(result);
}

struct answer raw_query(MYSQL *mysql, const char *text)
{
	struct answer answer = { 0 };
	MYSQL_RES *result;
	int more = mysql_query(mysql, text);

	while (more == 0 && answer.count < MOST_STATEMENTS) {
		result = mysql_store_result(mysql);
		if (result)
			note_rows(&answer, result);
		else if (mysql_errno(mysql))
			break;
		answer.affected[answer.count++] = mysql_affected_rows(mysql);
		more = mysql_next_result(mysql);
	}
	if (mysql_errno(mysql))
		note_error(&answer, mysql);
	return answer;
}

void raw_do(MYSQL *mysql, const char *text)
{
	if (raw_query(mysql, text).error)
		raw_give_up(text, mysql_error(mysql));
}

static void set_session(struct worker *worker)
{
	const struct run *run = worker->run;
	char text[200];

	snprintf(text, sizeof(text),
		 "SET SESSION wsrep_sync_wait = %u, "
		 "SESSION wsrep_retry_autocommit = %d, "
		 "SESSION innodb_lock_wait_timeout = 1",
		 run->plan->sync_wait, run->mode->retry);
	raw_do(worker->acts, text);
	raw_do(worker->acts,
	       "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
	raw_do(worker->looks, "SET SESSION wsrep_sync_wait = 7");
}

#define INSERT                                                                 \
	"INSERT INTO raw_lease (name, slot, attempt, acquired_at) "            \
	"VALUES (%s, 0, %s, UTC_TIMESTAMP(6)) "                                \
	"ON DUPLICATE KEY UPDATE name = name%s"

void raw_open_worker(struct worker *worker)
{
	const struct plan *plan = worker->run->plan;
	char text[200];
	int length = snprintf(text, sizeof(text), INSERT, "?", "?",
			      " RETURNING attempt");

	worker->acts = raw_open_node(plan, worker->number);
	worker->looks = raw_open_node(plan, worker->number + 1);
	set_session(worker);
	if (worker->run->mode->way != PREPARED)
		return;
	worker->insert = mysql_stmt_init(worker->acts);
	if (!worker->insert ||
	    mysql_stmt_prepare(worker->insert, text, (unsigned long) length))
		raw_give_up("prepare", mysql_error(worker->acts));
}

void raw_close_worker(struct worker *worker)
{
	if (worker->insert)
		mysql_stmt_close(worker->insert);
	mysql_close(worker->acts);
	mysql_close(worker->looks);
}

/* ------------------------------------------------------------ statements */

static void write_insert(char *text, size_t size, unsigned int name,
			 uint64_t attempt, const char *more)
{
	char quoted[20], number[24];

	snprintf(quoted, sizeof(quoted), "'n%u'", name);
	snprintf(number, sizeof(number), "%" PRIu64, attempt);
	snprintf(text, size, INSERT, quoted, number, more);
}

/* With nothing held it finds nothing. */
static void write_delete(char *text, size_t size, unsigned int name,
			 uint64_t attempt)
{
	snprintf(text, size,
		 "DELETE FROM raw_lease WHERE name = 'n%u' AND slot = 0 "
		 "AND attempt = %" PRIu64,
		 name, attempt);
}

/* Until there is no conflict. */
static struct answer insist(MYSQL *mysql, const char *text, uint64_t *conflicts)
{
	struct answer answer;

	for (unsigned int i = 0; i < MOST_TRIES; i++) {
		answer = raw_query(mysql, text);
		if (!answer.error)
			return answer;
		if (!is_conflict(answer.error))
			break;
		if (conflicts)
			++*conflicts;
	}
	raw_give_up(text, mysql_error(mysql));
}

/* Whose is it, as all the cluster has it? 0: nobody's. */
static uint64_t look(struct worker *worker, unsigned int name)
{
	struct answer answer;
	char text[100];

	snprintf(text, sizeof(text),
		 "SELECT attempt FROM raw_lease WHERE name = 'n%u'", name);
	answer = insist(worker->looks, text, NULL);
	return answer.returned;
}

static void done_with(struct worker *worker, uint64_t attempt)
{
	atomic_store(&worker->run->done[worker->number], attempt);
}

static void delete_row(struct worker *worker, unsigned int name,
		       uint64_t attempt)
{
	char text[150];

	write_delete(text, sizeof(text), name, attempt);
	insist(worker->acts, text, &worker->counts.conflicts);
}

static void let_go(struct worker *worker)
{
	if (!worker->held)
		return;
	delete_row(worker, worker->held_name, worker->held);
	done_with(worker, worker->held);
	worker->held = 0;
}

/* ------------------------------------------------------------------ ways */

static struct answer insert_prepared(struct worker *worker, unsigned int name,
				     uint64_t attempt)
{
	struct answer answer = { 0 };
	MYSQL_STMT *stmt = worker->insert;
	unsigned long length;
	uint64_t column = 0;
	char text[20];
	MYSQL_BIND in[2] = { 0 };
	MYSQL_BIND out = { 0 };

	length = (unsigned long) snprintf(text, sizeof(text), "n%u", name);
	in[0].buffer_type = MYSQL_TYPE_STRING;
	in[0].buffer = text;
	in[0].buffer_length = length;
	in[0].length = &length;
	in[1].buffer_type = out.buffer_type = MYSQL_TYPE_LONGLONG;
	in[1].is_unsigned = out.is_unsigned = 1;
	in[1].buffer = &attempt;
	out.buffer = &column;
	if (mysql_stmt_bind_param(stmt, in) || mysql_stmt_execute(stmt) ||
	    mysql_stmt_bind_result(stmt, &out) ||
	    mysql_stmt_store_result(stmt)) {
		/* Without mysql_stmt_free_result(): where the error came in
		 * place of the rows it makes Connector/C 3.3 wait for more. */
		answer.error = mysql_stmt_errno(stmt);
		if (!is_conflict(answer.error))
			raw_give_up("execute", mysql_stmt_error(stmt));
		return answer;
	}
	if (mysql_stmt_fetch(stmt) == 0)
		answer.returned = column;
	mysql_stmt_free_result(stmt);
	return answer;
}

/* All in one text: true if it says that the row was made. */
static bool ask_in_one(struct worker *worker, unsigned int name,
		       uint64_t attempt, struct answer *ret_answer)
{
	bool together = worker->run->mode->way == TRANSACTION;
	unsigned int insert = together ? 2 : 1;
	char remove[150], make[250], text[500];

	write_delete(remove, sizeof(remove), worker->held_name, worker->held);
	write_insert(make, sizeof(make), name, attempt, "");
	snprintf(text, sizeof(text), "%s%s; %s%s", together ? "BEGIN; " : "",
		 remove, make, together ? "; COMMIT" : "");
	*ret_answer = raw_query(worker->acts, text);
	if (is_conflict(ret_answer->error) && together)
		raw_do(worker->acts, "ROLLBACK");
	if (ret_answer->error)
		return false;
	if (worker->held)
		done_with(worker, worker->held);
	worker->held = 0;
	return ret_answer->affected[insert] == 1;
}

static bool ask_alone(struct worker *worker, unsigned int name,
		      uint64_t attempt, struct answer *ret_answer)
{
	enum way way = worker->run->mode->way;
	char text[250];

	let_go(worker);
	if (way == PREPARED) {
		*ret_answer = insert_prepared(worker, name, attempt);
		return ret_answer->returned == attempt;
	}
	write_insert(text, sizeof(text), name, attempt,
		     way == RETURNING ? " RETURNING attempt" : "");
	*ret_answer = raw_query(worker->acts, text);
	return way == RETURNING ? ret_answer->returned == attempt
				: ret_answer->affected[0] == 1;
}

/* ----------------------------------------------------------------- judge */

static void judge_grant(struct worker *worker, unsigned int name,
			uint64_t attempt)
{
	uint64_t whose = look(worker, name);

	worker->counts.grants++;
	worker->counts.absent += whose == 0;
	worker->counts.others += whose != 0 && whose != attempt;
	worker->held_name = name;
	worker->held = attempt;
}

static void judge_conflict(struct worker *worker, unsigned int name,
			   uint64_t attempt)
{
	worker->counts.conflicts++;
	let_go(worker);
	if (look(worker, name) != attempt)
		return;
	worker->counts.ghosts++;
	delete_row(worker, name, attempt);
}

/* Its connection is of no use any more, and what it had is not known. */
static void judge_silence(struct worker *worker, unsigned int name,
			  uint64_t attempt)
{
	worker->counts.silent++;
	raw_close_worker(worker);
	raw_open_worker(worker);
	let_go(worker);
	delete_row(worker, name, attempt);
}

/* It was said to be held. Whose row it is had let go of it, or was told that it
 * has it not, before we look? */
static void judge_held(struct worker *worker, unsigned int name)
{
	struct run *run = worker->run;
	uint64_t done[MOST_THREADS];
	uint64_t whose, thread;

	for (unsigned int i = 0; i < run->plan->threads; i++)
		done[i] = atomic_load(&run->done[i]);
	whose = look(worker, name);
	thread = whose >> SERIAL_BITS;
	if (!whose || whose > done[thread])
		return;
	worker->counts.left++;
	delete_row(worker, name, whose);
}

static void cycle(struct worker *worker)
{
	unsigned int name =
	    (unsigned int) rand_r(&worker->seed) % worker->run->plan->names;
	uint64_t attempt =
	    ((uint64_t) worker->number << SERIAL_BITS) | ++worker->serial;
	enum way way = worker->run->mode->way;
	struct answer answer = { 0 };
	bool made;

	made = way == TRANSACTION || way == STATEMENTS
		   ? ask_in_one(worker, name, attempt, &answer)
		   : ask_alone(worker, name, attempt, &answer);
	if (is_silence(answer.error)) {
		judge_silence(worker, name, attempt);
		done_with(worker, attempt);
	} else if (answer.error) {
		judge_conflict(worker, name, attempt);
		done_with(worker, attempt);
	} else if (made) {
		judge_grant(worker, name, attempt);
	} else {
		done_with(worker, attempt);
		if (rand_r(&worker->seed) % 8 == 0)
			judge_held(worker, name);
	}
}

void *raw_work(void *arg)
{
	struct worker *worker = arg;

	mysql_thread_init();
	while (!atomic_load(&worker->run->stop))
		cycle(worker);
	let_go(worker);
	mysql_thread_end();
	return NULL;
}
