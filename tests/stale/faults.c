// SPDX-License-Identifier: MIT
/*
 * What an application does wrong, and what happens to its connection, in one
 * transaction: by lot, and noted in its story.
 */
#include "stale.h"

#include <signal.h>
#include <stdio.h>

#define DEADLOCK 1213
#define ERROR_TIMEOUT 1969 /* max_statement_time */

static bool fault(struct stale_worker *worker, unsigned int n)
{
	return worker->options->faults && stale_lot(worker, n);
}

/* The driver lets it go on after more than a TTL. */
void stale_think(struct stale_worker *worker)
{
	if (stale_lot(worker, worker->options->stops)) {
		stale_note(worker, "stopped");
		raise(SIGSTOP);
	} else if (stale_lot(worker, worker->options->muses)) {
		stale_nap(worker, 1000000);
	} else if (stale_lot(worker, 3)) {
		stale_nap(worker, 3000);
	}
}

static void end_by(struct stale_worker *worker, const char *text)
{
	stale_note(worker, "%.12s", text);
	stale_say(worker->mysql, text);
}

/* What ends a transaction, or half of it, and is not noticed. */
void stale_end_half_way(struct stale_worker *worker)
{
	if (fault(worker, 150))
		end_by(worker, "CREATE TABLE IF NOT EXISTS stale_other "
			       "(id INT)");
	else if (fault(worker, 150))
		end_by(worker, "COMMIT");
	else if (fault(worker, 150))
		end_by(worker, "ROLLBACK");
}

unsigned int stale_write_one(struct stale_worker *worker, const char *text)
{
	unsigned int error = stale_say(worker->mysql, text);

	if (error == DEADLOCK && worker->options->faults) {
		stale_note(worker, "overlooked-deadlock");
		error = stale_say(worker->mysql, text);
	}
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
		error = stale_write_one(worker, text);
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

/* What is written to this table does not arrive where somebody has locked it:
 * stale_hold_back(). */
static unsigned int write_behind(struct stale_worker *worker)
{
	char text[96];

	snprintf(text, sizeof(text),
		 "UPDATE stale_behind SET n = n + 1 WHERE id = %u",
		 worker->options->worker);
	stale_note(worker, "behind");
	return stale_write_one(worker, text);
}

unsigned int stale_write_more(struct stale_worker *worker, unsigned int number)
{
	unsigned int error = 0;

	if (worker->options->node_count > 1 &&
	    (worker->brake || fault(worker, 2)))
		error = write_behind(worker);
	if (!error && fault(worker, 10))
		error = cross(worker);
	if (!error && fault(worker, 20))
		error = try_it_first(worker, number);
	return error;
}

/* The client's node does not learn of what is written behind, as long as this
 * connection is there. */
void stale_brake(struct stale_worker *worker)
{
	const struct stale_options *options = worker->options;

	if (worker->brake || options->node_count < 2 ||
	    stale_port(worker->node) == stale_port(options->dsn) ||
	    !fault(worker, 40))
		return;
	worker->brake = stale_open_softly(options->dsn);
	if (worker->brake && !stale_lock_behind(worker->brake))
		stale_let_go(worker);
}

void stale_let_go(struct stale_worker *worker)
{
	mysql_close(worker->brake);
	worker->brake = NULL;
}

static void lose_the_answer(struct stale_worker *worker)
{
	static const struct {
		enum one_relay_fate fate;
		const char *name;
	} fates[] = {
		{ ANSWER_IS_LOST, "answer-lost" },
		{ ANSWER_IS_LOST, "answer-lost" },
		{ QUESTION_IS_LATE, "question-late" },
		{ QUESTION_IS_LATE, "question-late" },
		{ ANSWER_STAYS_AWAY, "answer-stays-away" },
	};
	unsigned int lot = stale_draw(worker, 5);

	stale_note(worker, "%s", fates[lot].name);
	worker->relay.fate = fates[lot].fate;
}

/* Microseconds: some statements come to their end, some do not. MySQL has
 * max_execution_time instead, which is for SELECT only, and refuses this. */
static void bound_statements(struct stale_worker *worker)
{
	unsigned int us = 20 + stale_draw(worker, 600);
	char text[80];

	snprintf(text, sizeof(text), "SET SESSION max_statement_time = 0.%06u",
		 us);
	worker->bounded = !stale_say(worker->mysql, text);
	if (worker->bounded)
		stale_note(worker, "max_statement_time=%u-us", us);
}

void stale_disturb(struct stale_worker *worker, bool commits)
{
	/* It is the second one of a hold that is easily taken for the first. */
	const unsigned int one_of = worker->brake ? 2 : worker->again ? 10 : 30;

	if (commits && fault(worker, one_of)) {
		lose_the_answer(worker);
		if (fault(worker, 2))
			stale_storm_begin(worker, true);
	} else if (fault(worker, 12)) {
		stale_storm_begin(worker, fault(worker, 4));
	} else if (fault(worker, 12)) {
		bound_statements(worker);
	}
}

void stale_disturb_no_more(struct stale_worker *worker)
{
	stale_storm_end(worker);
	/* That may itself take too long. */
	for (int i = 0; i < 100 && worker->bounded; i++)
		worker->bounded =
		    stale_say(worker->mysql, "SET SESSION max_statement_time = "
					     "0") == ERROR_TIMEOUT;
	worker->bounded = false;
}
