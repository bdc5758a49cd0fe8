/* SPDX-License-Identifier: MIT */
/*
 * Runs texts on the application's connection by Connector/C's non-blocking
 * calls, so that our deadline holds, whatever the connection's own time-outs
 * are. The driver returns to blocking calls at the application's next call.
 *
 * Failure modes: a call whose time is up is unwound as in io.c: it fails, and
 * the connection is then as one that the server has closed. The statements may
 * be executed all the same.
 */
#include "db/borrowed.h"

#include <fcntl.h>
#include <mysql.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/pipe.h"
#include "db/sql.h"

/* As in io.c. */
#define SLICE_MS 1000
#define UNWIND_STEPS 64

enum step {
	STEP_QUERY,
	STEP_NEXT,
	STEP_STORE,
	STEP_ALLOW,
};

/* A call, and what came out. */
struct call {
	const struct rlk_borrowed *on;
	enum step step;
	int64_t until_ms;
	bool interrupted;
	const char *text;
	bool allow;
	int status;
	MYSQL_RES *result;
};

static int start(struct call *call)
{
	MYSQL *mysql = call->on->mysql;

	switch (call->step) {
	case STEP_QUERY:
		return mysql_real_query_start(&call->status, mysql, call->text,
					      strlen(call->text));
	case STEP_NEXT:
		return mysql_next_result_start(&call->status, mysql);
	case STEP_STORE:
		return mysql_store_result_start(&call->result, mysql);
	case STEP_ALLOW:
		return mysql_set_server_option_start(
		    &call->status, mysql,
		    call->allow ? MYSQL_OPTION_MULTI_STATEMENTS_ON
				: MYSQL_OPTION_MULTI_STATEMENTS_OFF);
	}
	return 0;
}

static int go_on(struct call *call, int events)
{
	MYSQL *mysql = call->on->mysql;

	switch (call->step) {
	case STEP_QUERY:
		return mysql_real_query_cont(&call->status, mysql, events);
	case STEP_NEXT:
		return mysql_next_result_cont(&call->status, mysql, events);
	case STEP_STORE:
		return mysql_store_result_cont(&call->result, mysql, events);
	case STEP_ALLOW:
		return mysql_set_server_option_cont(&call->status, mysql,
						    events);
	}
	return 0;
}

/* False: its time is up. */
static bool interrupt(struct call *call)
{
	const struct rlk_interrupter *interrupter = call->on->interrupter;

	call->interrupted = true;
	call->until_ms =
	    interrupter ? interrupter->interrupt(interrupter->arg) : 0;
	return call->until_ms != 0;
}

/* Returns the events that came, 0 if the deadline has. */
static int wait_for(struct call *call, int status)
{
	const struct rlk_borrowed *on = call->on;
	struct pollfd fds[2] = {
		{ .fd = mysql_get_socket(on->mysql) },
		{ .fd = on->interrupter ? on->interrupter->wake : -1,
		  .events = POLLIN },
	};

	if (status & MYSQL_WAIT_READ)
		fds[0].events |= POLLIN;
	if (status & MYSQL_WAIT_WRITE)
		fds[0].events |= POLLOUT;
	if (status & MYSQL_WAIT_EXCEPT)
		fds[0].events |= POLLPRI;
	for (;;) {
		int64_t left = call->until_ms - rlk_now(on->clock);

		if (left < 0)
			left = 0;
		if (call->interrupted)
			fds[1].fd = -1;
		poll(fds, 2, (int) (left < SLICE_MS ? left : SLICE_MS));
		if (fds[0].revents)
			return status & ~MYSQL_WAIT_TIMEOUT;
		if ((left == 0 || fds[1].revents) && !interrupt(call))
			return 0;
	}
}

/* Under TLS the call looks at the stream again before it believes in a
 * time-out: so the stream has to have an end (as in io.c). */
static void unwind(struct call *call, int status)
{
	MYSQL *mysql = call->on->mysql;

	if (mysql_get_ssl_cipher(mysql))
		shutdown(mysql_get_socket(mysql), SHUT_RD);
	for (int i = 0; status && i < UNWIND_STEPS; i++)
		status = go_on(call, MYSQL_WAIT_TIMEOUT);
}

/* False: it was given up. */
static bool finish(struct call *call, int status)
{
	while (status) {
		int events = wait_for(call, status);

		if (!events) {
			unwind(call, status);
			return false;
		}
		status = go_on(call, events);
	}
	return true;
}

/* The same, from its beginning. */
static bool run(struct call *call, enum step step)
{
	_cleanup_(rlk_pipe_onp) struct rlk_pipe pipe =
	    rlk_pipe_off(mysql_get_ssl_cipher(call->on->mysql));
	call->step = step;
	call->status = 0;
	call->result = NULL;
	return finish(call, start(call));
}

/* OpenSSL reads from the socket as it is, which may be one that blocks; that it
 * is again afterwards, if it is not closed by then. */
static int unblock(const struct rlk_borrowed *on)
{
	int fd = mysql_get_socket(on->mysql);
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	return flags;
}

static void set_back(const struct rlk_borrowed *on, int flags)
{
	fcntl(mysql_get_socket(on->mysql), F_SETFL, flags);
}

int rlk_borrowed_ready(const struct rlk_borrowed *on,
		       struct rowlock_errinfo *reterr)
{
	MYSQL *mysql = on->mysql;

	if (mysql_get_socket(mysql) < 0)
		return rlk_fail(reterr, ROWLOCK_ECONNECT,
				"the connection is closed; open another one");
	if (mysql->status != MYSQL_STATUS_READY || mysql_more_results(mysql))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"the connection has a result that is not read "
				"to its end; read or free it first");
	if (mysql_optionsv(mysql, MYSQL_OPT_NONBLOCK, NULL))
		return rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	return 0;
}

/* An error has no flags, and the driver keeps those of the answer before. It
 * does not read those of a ping, a prepare or a reset either. The next thing
 * that is sent, such as the close of a prepared statement, clears the error, so
 * mysql_errno() is no evidence. But each of these takes the number of rows
 * away, and only an answer whose flags are read gives it back. */
bool rlk_borrowed_recall(const struct rlk_borrowed *on,
			 struct rlk_borrowed_state *ret_state)
{
	const unsigned int status = on->mysql->server_status;

	ret_state->in_transaction = (status & SERVER_STATUS_IN_TRANS) != 0;
	ret_state->autocommits = (status & SERVER_STATUS_AUTOCOMMIT) != 0;
	return mysql_affected_rows(on->mysql) != (my_ulonglong) -1;
}

bool rlk_borrowed_reconnects(const struct rlk_borrowed *on)
{
	my_bool does = 0;

	mysql_get_optionv(on->mysql, MYSQL_OPT_RECONNECT, &does);
	return does;
}

void rlk_borrowed_let_reconnect(const struct rlk_borrowed *on, bool let)
{
	const my_bool value = let;

	mysql_optionsv(on->mysql, MYSQL_OPT_RECONNECT, &value);
}

uint64_t rlk_borrowed_id(const struct rlk_borrowed *on)
{
	return mysql_thread_id(on->mysql);
}

uint64_t rlk_borrowed_affected(const struct rlk_borrowed *on)
{
	return mysql_affected_rows(on->mysql);
}

uint64_t rlk_borrowed_insert_id(const struct rlk_borrowed *on)
{
	return mysql_insert_id(on->mysql);
}

bool rlk_borrowed_speaks_utf8(const struct rlk_borrowed *on)
{
	const char *set = mysql_character_set_name(on->mysql);

	return set &&
	       (strncmp(set, "utf8", 4) == 0 || strcmp(set, "binary") == 0);
}

const char *rlk_borrowed_host(const struct rlk_borrowed *on)
{
	const char *host = mysql_get_host_info(on->mysql);

	return host ? host : "a connection that is closed";
}

static enum rlk_fault fail(const struct rlk_borrowed *on, bool answered,
			   struct rowlock_errinfo *reterr)
{
	unsigned int number = answered ? mysql_errno(on->mysql) : 2013;
	const char *text =
	    answered ? mysql_error(on->mysql) : "no answer in time";

	/* With two or four bytes per letter, the text's first byte is 0. */
	if (!*text)
		text = "an error in words that cannot be read (its number is "
		       "told; see character_set_results)";
	if (!number)
		number = 2000;
	rlk_fail_db(reterr, rlk_fault_code(number, text), number, "%s on %s",
		    text, rlk_borrowed_host(on));
	return rlk_fault_class(number);
}

enum rlk_fault rlk_borrowed_allow_several(const struct rlk_borrowed *on,
					  bool allow,
					  struct rowlock_errinfo *reterr)
{
	struct call call = { .on = on,
			     .until_ms = on->until_ms,
			     .allow = allow };
	int flags = unblock(on);
	bool answered = run(&call, STEP_ALLOW);
	enum rlk_fault fault = RLK_DONE;

	set_back(on, flags);
	if (!answered || call.status)
		fault = fail(on, answered, reterr);
	if (fault == RLK_UNKNOWN)
		rlk_borrowed_close(on);
	return fault;
}

/* The next row's number, 0 if there is no row. Where character_set_results has
 * two or four bytes per letter, as utf16, all but one of a digit's are 0. */
static uint64_t next_number(MYSQL_RES *result, unsigned int column)
{
	MYSQL_ROW row = mysql_fetch_row(result);
	const unsigned long *lengths = mysql_fetch_lengths(result);
	uint64_t number = 0;

	if (!row || !row[column])
		return 0;
	for (unsigned long i = 0; i < lengths[column]; i++) {
		const char digit = row[column][i];

		if (digit >= '0' && digit <= '9')
			number = 10 * number + (uint64_t) (digit - '0');
	}
	return number;
}

/* One answer: its result, if it has one, is read to its end. */
static bool take_answer(struct call *call, enum step step, bool *ret_answered,
			uint64_t *ret_number)
{
	*ret_number = 0;
	*ret_answered = run(call, step);
	if (!*ret_answered || call->status)
		return false;
	if (!mysql_field_count(call->on->mysql))
		return true;
	*ret_answered = run(call, STEP_STORE);
	if (!*ret_answered || !call->result)
		return false;
	*ret_number = next_number(call->result, 0);
	mysql_free_result(call->result);
	return true;
}

static enum rlk_fault take_answers(struct call *call, uint64_t *ret_numbers,
				   size_t most, size_t *ret_answered,
				   struct rowlock_errinfo *reterr)
{
	const struct rlk_borrowed *on = call->on;
	enum step step = STEP_QUERY;

	for (*ret_answered = 0;; ++*ret_answered, step = STEP_NEXT) {
		uint64_t number;
		bool answered;

		if (*ret_answered && !mysql_more_results(on->mysql))
			return RLK_DONE;
		if (!take_answer(call, step, &answered, &number))
			return fail(on, answered, reterr);
		if (*ret_answered < most)
			ret_numbers[*ret_answered] = number;
	}
}

void rlk_borrowed_close(const struct rlk_borrowed *on)
{
	int fd = mysql_get_socket(on->mysql);

	if (fd >= 0)
		shutdown(fd, SHUT_RDWR);
	if (on->closed)
		*on->closed = true;
}

enum rlk_fault rlk_borrowed_run(const struct rlk_borrowed *on, const char *text,
				uint64_t *ret_numbers, size_t most,
				size_t *ret_answered,
				struct rowlock_errinfo *reterr)
{
	struct call call = { .on = on, .until_ms = on->until_ms, .text = text };
	int flags = unblock(on);
	enum rlk_fault fault =
	    take_answers(&call, ret_numbers, most, ret_answered, reterr);

	set_back(on, flags);
	/* Also where the server has said so itself, as with 1180. */
	if (fault == RLK_UNKNOWN)
		rlk_borrowed_close(on);
	return fault;
}

/* The columns are Level, Code and Message. */
static bool find_warning(MYSQL_RES *result, unsigned int number)
{
	uint64_t code;

	do
		code = next_number(result, 1);
	while (code && code != number);
	return code != 0;
}

bool rlk_borrowed_warned(const struct rlk_borrowed *on, unsigned int number)
{
	struct call call = { .on = on,
			     .until_ms = on->until_ms,
			     .text = "SHOW WARNINGS" };
	bool found = false;
	bool answered;
	int flags;

	if (!mysql_warning_count(on->mysql))
		return false;
	flags = unblock(on);
	answered = run(&call, STEP_QUERY);
	if (answered && !call.status)
		answered = run(&call, STEP_STORE);
	set_back(on, flags);
	if (!answered)
		rlk_borrowed_close(on);
	if (!call.result)
		return false;
	found = find_warning(call.result, number);
	mysql_free_result(call.result);
	return found;
}

static enum rlk_fault say(const struct rlk_borrowed *on, const char *text,
			  uint64_t *ret_number, struct rowlock_errinfo *reterr)
{
	MYSQL *mysql = on->mysql;
	_cleanup_(rlk_pipe_onp) struct rlk_pipe pipe =
	    rlk_pipe_off(mysql_get_ssl_cipher(mysql));
	MYSQL_RES *result;

	if (mysql_real_query(mysql, text, strlen(text)))
		return fail(on, true, reterr);
	result = mysql_store_result(mysql);
	if (!result && mysql_field_count(mysql))
		return fail(on, true, reterr);
	if (!result)
		return RLK_DONE;
	*ret_number = next_number(result, 0);
	mysql_free_result(result);
	return RLK_DONE;
}

enum rlk_fault rlk_borrowed_say_script(const struct rlk_borrowed *on,
				       struct rlk_script *script,
				       uint64_t *ret_number,
				       struct rowlock_errinfo *reterr)
{
	const char *text = rlk_script_end(script);
	enum rlk_fault fault = RLK_FAILED;

	*ret_number = 0;
	if (text)
		fault = say(on, text, ret_number, reterr);
	else
		rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	rlk_sql_fini(&script->sql);
	return fault;
}
