// SPDX-License-Identifier: MIT
/* The ways to protect a register, from none to a commit that is its guard. */
#include "stale.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static void note_error(struct stale_worker *worker, const char *what,
		       const struct rowlock_errinfo *error)
{
	stale_note(worker, "%s: %d: %s;", what, error->code, error->message);
}

static bool acquire(struct stale_worker *worker, unsigned int number)
{
	struct rowlock_errinfo error;

	if (!rowlock_acquire(worker->locks[number], STALE_WAIT_MS, &error))
		return true;
	note_error(worker, "acquire", &error);
	return false;
}

static void release(struct stale_worker *worker, unsigned int number)
{
	rowlock_release(worker->locks[number], NULL);
}

/* What our own clock says of the hold. */
struct belief {
	uint64_t at_ms;
	uint64_t remaining_ms;
};

static struct belief believe(const struct stale_worker *worker,
			     unsigned int number)
{
	return (struct belief){
		.remaining_ms = rowlock_remaining_ms(worker->locks[number]),
		.at_ms = stale_now_ms(),
	};
}

/* A hold that is said to be lost before its time is over was taken away. Its
 * row, with the number of our process, is not there then, on the server that
 * says so. The library may remove it meanwhile: what is denied may look lost,
 * never the other way round. */
static void check_loss(struct stale_worker *worker, unsigned int number,
		       const struct belief *belief)
{
	uint64_t rows = 0;
	char text[200];

	if (stale_now_ms() - belief->at_ms >= belief->remaining_ms ||
	    mysql_get_socket(worker->mysql) == MARIADB_INVALID_SOCKET)
		return;
	stale_disturb_no_more(worker);
	snprintf(text, sizeof(text),
		 "SELECT COUNT(*) FROM business_lease l JOIN lease_session s "
		 "ON s.id = l.session WHERE l.name = 'stale-%u' "
		 "AND s.pid = %d LIMIT 1",
		 number, (int) getpid());
	worker->denied = stale_ask(worker->mysql, text, &rows) && rows;
	if (worker->denied)
		stale_note(worker, "and its row is there;");
}

static bool begin_guarded(struct stale_worker *worker, unsigned int number)
{
	const struct belief belief = believe(worker, number);
	struct rowlock_errinfo error;

	if (!rowlock_begin(worker->locks[number], worker->mysql,
			   stale_lot(worker, 2) ? ROWLOCK_SNAPSHOT : 0, &error))
		return true;
	note_error(worker, "begin", &error);
	if (error.code == ROWLOCK_ELOST)
		check_loss(worker, number, &belief);
	return false;
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

static enum stale_end end_of(struct stale_worker *worker, int code,
			     const struct rowlock_errinfo *error)
{
	check_session(worker);
	if (!code)
		return STALE_COMMITTED;
	note_error(worker, "commit", error);
	switch (code) {
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

typedef int (*commit_fn)(struct rowlock *lock, MYSQL *mysql,
			 struct rowlock_errinfo *reterr);

static enum stale_end commit_by(struct stale_worker *worker,
				unsigned int number, commit_fn commit)
{
	const struct belief belief = believe(worker, number);
	struct rowlock_errinfo error;
	int code = commit(worker->locks[number], worker->mysql, &error);

	if (code == ROWLOCK_ELOST)
		check_loss(worker, number, &belief);
	return end_of(worker, code, &error);
}

static enum stale_end commit_guarded(struct stale_worker *worker,
				     unsigned int number)
{
	return commit_by(worker, number, rowlock_commit);
}

static enum stale_end commit_and_release(struct stale_worker *worker,
					 unsigned int number)
{
	return commit_by(worker, number, rowlock_commit_release);
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
	  release, .keeps = true },
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
