/* SPDX-License-Identifier: MIT */
/*
 * Statements as the library runs them. Linked instead of db/stmt.c and what is
 * below it: send, wait for the answer until the deadline, an interrupt or the
 * connection's end, and say what became of it in the words of db/fault.h.
 */
#include "db/stmt.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "db/stmt_private.h"
#include "net.h"
#include "sim.h"
#include "tables.h"
#include "trace.h"

struct rlk_value rlk_text(const char *text)
{
	struct rlk_value value = { .type = RLK_NULL };

	if (!text)
		return value;
	value.type = RLK_TEXT;
	value.text = text;
	value.length = strlen(text);
	return value;
}

const char *sim_error_text(unsigned int number)
{
	switch (number) {
	case 1040:
		return "Too many connections";
	case 1062:
		return "Duplicate entry";
	case 1094:
		return "Unknown thread id";
	case 1095:
		return "You are not owner of thread";
	case 1205:
		return "Lock wait timeout exceeded";
	case 1213:
		return "Deadlock found";
	case 1290:
		return "The server is running with --read-only";
	case 1317:
		return "Query execution was interrupted";
	case 2002:
		return "Can't connect to the server";
	case 2006:
		return "Server has gone away";
	case 2013:
		return "Lost connection";
	default:
		return "Error";
	}
}

/* What one look of the reaper can bring. */
#define SIM_CELLS (7 * 256)

static struct sim_conn *of(struct rlk_conn *conn)
{
	return container_of(conn, struct sim_conn, base);
}

static enum rlk_fault fail(struct rlk_conn *conn, unsigned int number,
			   struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = rlk_fault_class(number);

	const char *text = sim_error_text(number);
	int code = rlk_fault_code(number, text);

	if (fault == RLK_UNKNOWN)
		conn->dead = true;
	if (code == ROWLOCK_EREADONLY)
		conn->useless = true;
	rlk_fail_db(reterr, code, number, "%s: %s on %s", conn->run.label, text,
		    conn->server.name);
	return fault;
}

enum rlk_fault sim_stmt_await(struct sim_conn *conn,
			      struct rowlock_errinfo *reterr)
{
	struct rlk_conn *base = &conn->base;
	int64_t until = sim_proc_when(conn->proc, base->until_ms);

	if (sim_self->mutexes)
		sim_violation("%s: a statement is run under a mutex",
			      base->run.label);
	while (!conn->answered && !conn->ended) {
		if (base->wake.interrupted) {
			base->wake.interrupted = false;
			return RLK_PENDING;
		}
		if (sim_now >= until)
			return RLK_PENDING;
		if (conn->wake >= 0 && sim_is_readable(conn->wake))
			return RLK_PENDING;
		conn->sleeps = sim_self;
		sim_sleep_by(conn->wake, until);
		conn->sleeps = NULL;
	}
	base->run.stage = RLK_STAGE_NONE;
	if (!conn->answered)
		return fail(base, 2013, reterr);
	if (conn->session->answer.error)
		return fail(base, conn->session->answer.error, reterr);
	return RLK_DONE;
}

/* Parameters outlive their caller: a name becomes the world's text of it. */
struct rlk_value sim_stmt_param(const struct rlk_value *param)
{
	struct rlk_value value = *param;

	if (param->type != RLK_TEXT)
		return value;
	value.text = sim_bell_text(param->text);
	if (value.text)
		return value;
	value.text = sim_receipt_of(param->text) ? SIM_RECEIPT : "";
	for (unsigned int n = 0; n < SIM_NAMES; n++)
		if (param->length == strlen(sim_names[n]) &&
		    memcmp(param->text, sim_names[n], param->length) == 0)
			value.text = sim_names[n];
	return value;
}

/* "2026-11-20 12:00:00.000000" */
#define TIME_LENGTH 26

/* A time, in microseconds since 1970. */
static bool read_time(const struct rlk_value *param, int64_t *ret_us)
{
	struct tm tm = { 0 };
	const char *end;

	if (param->type != RLK_TEXT || param->length != TIME_LENGTH)
		return false;
	end = strptime(param->text, "%Y-%m-%d %H:%M:%S.", &tm);
	if (!end)
		return false;
	*ret_us = (int64_t) timegm(&tm) * 1000000 + strtol(end, NULL, 10);
	return true;
}

static void copy_param(struct sim_request *request, unsigned int i,
		       const struct rlk_value *param)
{
	int64_t us;

	request->params[i] = sim_stmt_param(param);
	if (read_time(param, &us)) {
		request->params[i] =
		    (struct rlk_value){ .type = RLK_I64, .i64 = us };
		return;
	}
	/* Seconds. */
	if (param->type == RLK_TEXT && *param->text >= '0' &&
	    *param->text <= '9')
		request->params[i] =
		    rlk_u64((uint64_t) (strtod(param->text, NULL) * 1000000));
	if (request->params[i].type == RLK_TEXT && !*request->params[i].text &&
	    param->length < sizeof(request->text))
		memcpy(request->text, param->text, param->length + 1);
}

enum rlk_fault sim_stmt_begin(struct rlk_conn *conn, const char *label,
			      struct rowlock_errinfo *reterr)
{
	conn->run.label = label;
	if (rlk_conn_usable(conn))
		return RLK_DONE;
	rlk_fail(reterr, ROWLOCK_ECONNECT,
		 "%s: the connection to %s is not usable any more", label,
		 conn->server.name);
	return RLK_FAILED;
}

enum rlk_fault sim_stmt_send(struct rlk_conn *conn, const struct sim_op *op,
			     bool packet, struct rowlock_errinfo *reterr)
{
	conn->run.stage = RLK_STAGE_EXECUTE;
	of(conn)->op = op;
	of(conn)->answered = false;
	of(conn)->session->request.op = op;
	of(conn)->session->request.packet = packet;
	sim_trace((struct sim_note){
	    "#process %u thread %u connection %u: asks %s until=%d",
	    { of(conn)->proc->number, sim_self->number, conn->session.id,
	      sim_text(op->label), (uint64_t) conn->until_ms } });
	if (!of(conn)->ended)
		sim_session_send(of(conn)->session);
	return sim_stmt_await(of(conn), reterr);
}

static enum rlk_fault run(struct rlk_conn *conn, const struct rlk_stmt_def *def,
			  const struct rlk_value *params,
			  struct rowlock_errinfo *reterr)
{
	const struct sim_op *op = sim_op_of(def);
	enum rlk_fault fault = sim_stmt_begin(conn, def->label, reterr);

	if (fault)
		return fault;
	for (unsigned int i = 0; i < op->params; i++)
		copy_param(&of(conn)->session->request, i, &params[i]);
	sim_publish(of(conn)->session);
	return sim_stmt_send(conn, op, false, reterr);
}

static void read_reply(struct rlk_conn *conn, struct rlk_reply *ret_reply)
{
	const struct sim_answer *answer = &of(conn)->session->answer;

	ret_reply->affected = answer->affected;
	ret_reply->insert_id = answer->insert_id;
	ret_reply->has_row = answer->rows > 0;
	if (answer->rows)
		memcpy(ret_reply->columns, answer->cells,
		       answer->columns * sizeof(*answer->cells));
}

enum rlk_fault rlk_stmt_run(struct rlk_conn *conn,
			    const struct rlk_stmt_def *def,
			    const struct rlk_value *params,
			    struct rlk_reply *ret_reply,
			    struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = run(conn, def, params, reterr);

	if (!fault)
		read_reply(conn, ret_reply);
	return fault;
}

enum rlk_fault rlk_stmt_resume(struct rlk_conn *conn,
			       struct rlk_reply *ret_reply,
			       struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault;

	if (conn->run.stage == RLK_STAGE_NONE || conn->dead) {
		rlk_fail(reterr, ROWLOCK_EINVAL,
			 "nothing is under way on this connection to %s",
			 conn->server.name);
		return RLK_FAILED;
	}
	fault = sim_stmt_await(of(conn), reterr);
	if (!fault)
		read_reply(conn, ret_reply);
	return fault;
}

enum rlk_fault rlk_stmt_give_up(struct rlk_conn *conn, enum rlk_fault fault,
				struct rowlock_errinfo *reterr)
{
	return fault == RLK_PENDING ? fail(conn, 2013, reterr) : fault;
}

enum rlk_fault rlk_stmt_each(struct rlk_conn *conn,
			     const struct rlk_stmt_def *def,
			     const struct rlk_value *params, rlk_row_fn fn,
			     void *arg, struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = run(conn, def, params, reterr);
	struct rlk_value cells[SIM_CELLS];
	unsigned int columns;
	unsigned int rows;

	if (fault)
		return rlk_stmt_give_up(conn, fault, reterr);
	/* The function may run other statements on the connection. */
	columns = of(conn)->session->answer.columns;
	rows = of(conn)->session->answer.rows;
	if (rows * columns > SIM_CELLS)
		sim_violation("%s: too many rows for a simulation", def->label);
	if (rows)
		memcpy(cells, of(conn)->session->answer.cells,
		       rows * columns * sizeof(*cells));
	for (unsigned int i = 0; i < rows; i++)
		fn(&cells[i * columns], arg);
	return RLK_DONE;
}

enum rlk_fault rlk_stmt_text(struct rlk_conn *conn, const char *sql,
			     struct rowlock_errinfo *reterr)
{
	uint64_t number = 0;
	const struct sim_op *op = sim_op_of_text(sql, &number);
	enum rlk_fault fault = sim_stmt_begin(conn, "query", reterr);

	if (fault)
		return fault;
	of(conn)->session->request.params[0] = rlk_u64(number);
	return sim_stmt_send(conn, op, false, reterr);
}

enum rlk_fault rlk_conn_ping(struct rlk_conn *conn,
			     struct rowlock_errinfo *reterr)
{
	return rlk_stmt_text(conn, "ping", reterr);
}

enum rlk_fault rlk_conn_server_time(struct rlk_conn *conn, int64_t *ret_us,
				    struct rowlock_errinfo *reterr)
{
	static const struct rlk_stmt_def def = {
		"clock",
		"SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', "
		"UTC_TIMESTAMP(6))",
	};
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_stmt_run(conn, &def, NULL, &reply, reterr);

	if (fault)
		return rlk_stmt_give_up(conn, fault, reterr);
	*ret_us = reply.columns[0].i64;
	return RLK_DONE;
}
