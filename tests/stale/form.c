// SPDX-License-Identifier: MIT
/* The ways to protect a register, from none to a commit that is its guard. */
#include "stale.h"

#include <stdio.h>
#include <string.h>

static bool take_nothing(struct stale_worker *worker, unsigned int number)
{
	(void) worker;
	(void) number;
	return true;
}

static void give_nothing(struct stale_worker *worker, unsigned int number)
{
	(void) worker;
	(void) number;
}

/* ------------------------------------------- the application's own commit */

static bool begin_bare(struct stale_worker *worker, unsigned int number)
{
	(void) number;
	return !stale_say(worker->mysql,
			  "SET TRANSACTION ISOLATION LEVEL READ COMMITTED") &&
	       !stale_say(worker->mysql, "SET autocommit = 0");
}

static enum stale_end commit_bare(struct stale_worker *worker,
				  unsigned int number)
{
	unsigned int error = stale_say(worker->mysql, "COMMIT");

	(void) number;
	if (!error)
		return STALE_COMMITTED;
	return error >= 2000 && error < 3000 ? STALE_UNKNOWN : STALE_NOT;
}

static void roll_back_bare(struct stale_worker *worker, unsigned int number)
{
	(void) number;
	stale_say(worker->mysql, "ROLLBACK");
}

/* ---------------------------------------------------------------- rowlock */

static bool acquire(struct stale_worker *worker, unsigned int number)
{
	struct rowlock_errinfo error;

	return !rowlock_acquire(worker->locks[number], STALE_WAIT_MS, &error);
}

static void release(struct stale_worker *worker, unsigned int number)
{
	rowlock_release(worker->locks[number], NULL);
}

static bool begin_guarded(struct stale_worker *worker, unsigned int number)
{
	struct rowlock_errinfo error;

	return !rowlock_begin(worker->locks[number], worker->mysql,
			      stale_lot(worker, 2) ? ROWLOCK_SNAPSHOT : 0,
			      &error);
}

/* A session whose statements do not commit by themselves any more would lose
 * what the application does next. One that was closed as if by the server says
 * what was so before, until it is asked. */
static void check_session(const struct stale_worker *worker)
{
	MYSQL *mysql = worker->mysql;

	if (mysql_get_socket(mysql) != MARIADB_INVALID_SOCKET &&
	    !(mysql->server_status & SERVER_STATUS_AUTOCOMMIT) &&
	    !mysql_ping(mysql) &&
	    !(mysql->server_status & SERVER_STATUS_AUTOCOMMIT))
		stale_die("autocommit stays off behind a transaction");
}

static enum stale_end end_of(const struct stale_worker *worker, int code,
			     const struct rowlock_errinfo *error)
{
	check_session(worker);
	switch (code) {
	case 0:
		return STALE_COMMITTED;
	case ROWLOCK_EUNKNOWN:
		return STALE_UNKNOWN;
	case ROWLOCK_ELOST:
		return STALE_REFUSED;
	case ROWLOCK_EBROKEN:
		return STALE_BROKEN;
	case ROWLOCK_ECONNECT:
	case ROWLOCK_EDB:
	case ROWLOCK_EREADONLY:
		return STALE_NOT;
	default:
		stale_die("commit: %s", error->message);
	}
}

static enum stale_end commit_guarded(struct stale_worker *worker,
				     unsigned int number)
{
	struct rowlock_errinfo error;
	int code = rowlock_commit(worker->locks[number], worker->mysql, &error);

	return end_of(worker, code, &error);
}

static enum stale_end commit_and_release(struct stale_worker *worker,
					 unsigned int number)
{
	struct rowlock_errinfo error;
	int code = rowlock_commit_release(worker->locks[number], worker->mysql,
					  &error);

	return end_of(worker, code, &error);
}

static void roll_back_guarded(struct stale_worker *worker, unsigned int number)
{
	rowlock_rollback(worker->locks[number], worker->mysql, NULL);
	check_session(worker);
}

/* ------------------------------------------------- a token, and its fence */

static bool fence(struct stale_worker *worker, unsigned int number,
		  struct rowlock_errinfo *error)
{
	char name[32];

	snprintf(name, sizeof(name), "stale-%u", number);
	return !rowlock_fence(worker->mysql, name, worker->token, error);
}

/* Who has passed before is done by now: what is read is what he wrote. */
static bool begin_fenced(struct stale_worker *worker, unsigned int number)
{
	struct rowlock_errinfo error;

	if (rowlock_token(worker->locks[number], &worker->token, &error) ||
	    !begin_bare(worker, number))
		return false;
	if (fence(worker, number, &error))
		return true;
	roll_back_bare(worker, number);
	return false;
}

/* Once more, for what was ended half way. */
static enum stale_end commit_fenced(struct stale_worker *worker,
				    unsigned int number)
{
	struct rowlock_errinfo error;

	if (fence(worker, number, &error))
		return commit_bare(worker, number);
	roll_back_bare(worker, number);
	return error.code == ROWLOCK_ELOST ? STALE_REFUSED : STALE_NOT;
}

/* --------------------------------------------------------------- GET_LOCK */

static bool get_lock(struct stale_worker *worker, unsigned int number)
{
	char text[64];
	MYSQL_RES *result;
	MYSQL_ROW row;
	bool got;

	if (!worker->aside)
		worker->aside = stale_open(worker->options);
	snprintf(text, sizeof(text), "SELECT GET_LOCK('stale-%u', %u)", number,
		 STALE_WAIT_MS / 1000);
	if (mysql_query(worker->aside, text)) {
		mysql_close(worker->aside);
		worker->aside = stale_open(worker->options);
		return false;
	}
	result = mysql_store_result(worker->aside);
	row = result ? mysql_fetch_row(result) : NULL;
	got = row && row[0] && !strcmp(row[0], "1");
	mysql_free_result(result);
	return got;
}

static void release_lock(struct stale_worker *worker, unsigned int number)
{
	char text[64];

	snprintf(text, sizeof(text), "DO RELEASE_LOCK('stale-%u')", number);
	stale_say(worker->aside, text);
}

/* -------------------------------------------------------------- ZooKeeper */

#ifdef HAVE_ZOOKEEPER
/* A session may end behind this look: it is no part of the commit. */
static enum stale_end commit_in_session(struct stale_worker *worker,
					unsigned int number)
{
	if (stale_zookeeper_holds())
		return commit_bare(worker, number);
	roll_back_bare(worker, number);
	return STALE_REFUSED;
}
#endif

static const struct stale_form forms[] = {
	{ "none", take_nothing, begin_bare, commit_bare, roll_back_bare,
	  give_nothing },
	{ "get_lock", get_lock, begin_bare, commit_bare, roll_back_bare,
	  release_lock },
#ifdef HAVE_HIREDIS
	{ "redis", stale_redis_acquire, begin_bare, commit_bare, roll_back_bare,
	  stale_redis_release },
#endif
#ifdef HAVE_ZOOKEEPER
	{ "zookeeper", stale_zookeeper_acquire, begin_bare, commit_in_session,
	  roll_back_bare, stale_zookeeper_release },
#endif
	{ "lease", acquire, begin_bare, commit_bare, roll_back_bare, release },
	{ "fence", acquire, begin_fenced, commit_fenced, roll_back_bare,
	  release },
	{ "commit", acquire, begin_guarded, commit_guarded, roll_back_guarded,
	  release },
	{ "commit_release", acquire, begin_guarded, commit_and_release,
	  roll_back_guarded, release },
};

const struct stale_form *stale_form(const char *name)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (!strcmp(forms[i].name, name))
			return &forms[i];
	return NULL;
}

void stale_print_forms(const struct stale_options *options)
{
	(void) options;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		puts(forms[i].name);
}
