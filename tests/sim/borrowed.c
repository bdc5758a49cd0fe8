/* SPDX-License-Identifier: MIT */
/*
 * The application's connection as the library sees it. Linked instead of
 * db/borrowed.c: a text goes to the simulated server, and the answers come
 * back one by one; who does not live to see the last may have seen some.
 */
#include "db/borrowed.h"

#include <string.h>

#include "base/error.h"
#include "borrowed.h"
#include "core/client.h"
#include "db/connect.h"
#include "db/sql.h"
#include "net.h"
#include "sim.h"
#include "trace.h"

static struct sim_conn *conn_of(const struct sim_borrowed *on)
{
	return container_of(on->conn, struct sim_conn, base);
}

static struct sim_session *session_of(const struct sim_borrowed *on)
{
	return conn_of(on)->session;
}

static struct sim_borrowed *of(const struct rlk_borrowed *on)
{
	return (struct sim_borrowed *) (void *) on->mysql;
}

struct st_mysql *sim_borrowed_mysql(struct sim_borrowed *on)
{
	return (struct st_mysql *) (void *) on;
}

/* ----------------------------------------------------------- open and close */

bool sim_borrowed_open(struct sim_borrowed *on,
		       const struct rowlock_client *client)
{
	struct rlk_conn_profile profile = {
		.label = "application",
		.autocommit = sim_below(4) > 0,
		.lock_wait_s = 1,
		.idle_s = sim_world.calm
			      ? 3600
			      : (unsigned int) sim_between(5, SIM_APP_IDLE_S),
	};
	struct rlk_conn *conn;

	*on = (struct sim_borrowed){ .conn = NULL };
	if (rlk_conn_open(&client->target, &profile,
			  rlk_now(client->target.clock) + 2000, &conn, NULL))
		return false;
	on->conn = conn;
	on->id = rlk_conn_id(conn);
	on->several = sim_below(4) > 0;
	on->recalls = true;
	on->autocommit = on->autocommits = profile.autocommit;
	session_of(on)->borrowed = true;
	session_of(on)->repeatable = on->id % 2;
	session_of(on)->several = on->several;
	return true;
}

void sim_borrowed_close(struct sim_borrowed *on)
{
	on->conn = rlk_conn_close(on->conn);
}

/* ------------------------------------------------------------------- texts */

/* What the driver knows now; it closes what is broken. */
static void take_answer(struct sim_borrowed *on, enum rlk_fault fault)
{
	const struct sim_session *session = session_of(on);

	if (fault == RLK_PENDING || fault == RLK_UNKNOWN) {
		sim_borrowed_close(on);
		return;
	}
	/* An error has no flags. */
	on->recalls = !fault;
	if (fault)
		return;
	on->autocommits = session->script.autocommits;
	on->in_transaction = session->script.in_transaction;
	on->affected = session->answer.affected;
	on->insert_id = session->answer.insert_id;
}

static size_t count_answers(const struct sim_script *script,
			    enum rlk_fault fault)
{
	size_t seen = script->answered;

	/* Of those that have come by then. */
	if (fault == RLK_PENDING || fault == RLK_UNKNOWN)
		seen = (size_t) sim_below(seen + 1);
	return seen;
}

/* At the deadline, and when it is woken, the library may put it off. */
static enum rlk_fault await(struct sim_borrowed *on, enum rlk_fault fault,
			    const struct rlk_interrupter *interrupter,
			    struct rowlock_errinfo *reterr)
{
	struct sim_conn *conn = conn_of(on);

	while (fault == RLK_PENDING && interrupter) {
		int64_t until_ms;

		/* Once it is enough. */
		conn->wake = -1;
		until_ms = interrupter->interrupt(interrupter->arg);
		if (!until_ms)
			break;
		rlk_conn_set_until(on->conn, until_ms);
		fault = sim_stmt_await(conn, reterr);
	}
	conn->wake = -1;
	return fault;
}

static enum rlk_fault say(struct sim_borrowed *on, const char *text,
			  int64_t until_ms,
			  const struct rlk_interrupter *interrupter,
			  uint64_t *ret_numbers, size_t most,
			  size_t *ret_answered, struct rowlock_errinfo *reterr)
{
	struct sim_script *script;
	enum rlk_fault fault;

	*ret_answered = 0;
	if (!on->conn) {
		rlk_fail_db(reterr, ROWLOCK_ECONNECT, 2006, "%s",
			    sim_error_text(2006));
		return RLK_UNKNOWN;
	}
	script = &session_of(on)->script;
	sim_script_read(script, text);
	rlk_conn_set_until(on->conn, until_ms);
	on->conn->run.label = "text";
	sim_publish(session_of(on));
	conn_of(on)->wake = interrupter ? interrupter->wake : -1;
	fault = sim_stmt_send(on->conn, script->said[0].op, false, reterr);
	fault = await(on, fault, interrupter, reterr);
	if (fault == RLK_PENDING)
		rlk_fail_db(reterr, ROWLOCK_ECONNECT, 2013,
			    "no answer in time");
	*ret_answered = count_answers(script, fault);
	for (size_t i = 0; i < *ret_answered && i < most; i++)
		ret_numbers[i] = script->numbers[i];
	take_answer(on, fault);
	return fault == RLK_PENDING ? RLK_UNKNOWN : fault;
}

/* The application's own time-outs. */
static int64_t patience_ms(void)
{
	return sim_proc_ms(sim_self->proc) +
	       (int64_t) (2 * sim_world.call_ms + 1500);
}

unsigned int sim_borrowed_say(struct sim_borrowed *on, const char *text,
			      uint64_t *ret_number)
{
	struct rowlock_errinfo error = { 0 };
	size_t answered;

	*ret_number = 0;
	return say(on, text, patience_ms(), NULL, ret_number, 1, &answered,
		   &error)
		   ? error.mysql
		   : 0;
}

const struct sim_session *sim_borrowed_session(const struct sim_borrowed *on)
{
	const struct sim_session *session = on->conn ? session_of(on) : NULL;

	return session && session->alive ? session : NULL;
}

/* ------------------------------------------------- as the library sees them */

int rlk_borrowed_ready(const struct rlk_borrowed *on,
		       struct rowlock_errinfo *reterr)
{
	if (of(on)->conn)
		return 0;
	return rlk_fail(reterr, ROWLOCK_ECONNECT, "the connection is closed");
}

bool rlk_borrowed_recall(const struct rlk_borrowed *on,
			 struct rlk_borrowed_state *ret_state)
{
	*ret_state = (struct rlk_borrowed_state){
		.in_transaction = of(on)->in_transaction,
		.autocommits = of(on)->autocommits,
	};
	return of(on)->recalls;
}

bool rlk_borrowed_reconnects(const struct rlk_borrowed *on)
{
	(void) on;
	return false;
}

void rlk_borrowed_let_reconnect(const struct rlk_borrowed *on, bool let)
{
	(void) on;
	(void) let;
}

uint64_t rlk_borrowed_id(const struct rlk_borrowed *on)
{
	return of(on)->id;
}

bool rlk_borrowed_speaks_utf8(const struct rlk_borrowed *on)
{
	(void) on;
	return true;
}

const char *rlk_borrowed_host(const struct rlk_borrowed *on)
{
	(void) on;
	return "server";
}

enum rlk_fault rlk_borrowed_allow_several(const struct rlk_borrowed *on,
					  bool allow,
					  struct rowlock_errinfo *reterr)
{
	size_t answered;

	return rlk_borrowed_run(
	    on, allow ? "several statements: 1" : "several statements: 0", NULL,
	    0, &answered, reterr);
}

enum rlk_fault rlk_borrowed_run(const struct rlk_borrowed *on, const char *text,
				uint64_t *ret_numbers, size_t most,
				size_t *ret_answered,
				struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = say(of(on), text, on->until_ms, on->interrupter,
				   ret_numbers, most, ret_answered, reterr);

	if (fault == RLK_UNKNOWN && on->closed)
		*on->closed = true;
	return fault;
}

enum rlk_fault rlk_borrowed_say_script(const struct rlk_borrowed *on,
				       struct rlk_script *script,
				       uint64_t *ret_number,
				       struct rowlock_errinfo *reterr)
{
	const char *text = rlk_script_end(script);
	enum rlk_fault fault = RLK_FAILED;
	size_t answered;

	*ret_number = 0;
	if (text)
		fault = say(of(on), text, patience_ms(), NULL, ret_number, 1,
			    &answered, reterr);
	rlk_sql_fini(&script->sql);
	return fault;
}

bool rlk_borrowed_warned(const struct rlk_borrowed *on, unsigned int number)
{
	(void) on;
	(void) number;
	return false;
}

uint64_t rlk_borrowed_affected(const struct rlk_borrowed *on)
{
	return of(on)->affected;
}

uint64_t rlk_borrowed_insert_id(const struct rlk_borrowed *on)
{
	return of(on)->insert_id;
}

void rlk_borrowed_close(const struct rlk_borrowed *on)
{
	sim_borrowed_close(of(on));
	if (on->closed)
		*on->closed = true;
}

/* ------------------------------------------------------------------- judge */
void sim_borrowed_check(const struct sim_borrowed *on, const char *call)
{
	const struct sim_session *session;

	if (!on->conn)
		return;
	session = session_of(on);
	if (!session->alive)
		return;
	if (session->autocommit != on->autocommit ||
	    session->several != on->several || session->work.open ||
	    session->locked || session->consistent)
		sim_violation("%s: the application's connection is not as it "
			      "was: autocommit is %s, several statements are "
			      "%s, %s transaction is open%s",
			      call, session->autocommit ? "on" : "off",
			      session->several ? "allowed" : "not allowed",
			      session->work.open ? "a" : "no",
			      session->consistent ? ", begins wait" : "");
}
