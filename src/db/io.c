/* SPDX-License-Identifier: MIT */
/*
 * Driving Connector/C's non-blocking calls (MariaDB Connector/C manual,
 * "Non-blocking API").
 *
 * A call is started and comes back with what it waits for; we poll for that,
 * together with the connection's eventfd and no longer than its deadline, and
 * go on with the call. So a deadline holds however slowly the peer drips its
 * bytes, and an interrupt is noticed at once.
 *
 * Failure modes: a call that is given up is unwound by telling it that its
 * wait has timed out; it then takes its own error path, closes the socket and
 * frees what it had. The TLS handshake does not come back (Connector/C polls
 * in the middle of it); it asks a function of ours instead, which is given no
 * more than the descriptor and finds the connection in a variable of the
 * thread: a coroutine runs on the thread that started it.
 */
#include "db/io.h"

#include "base/pipe.h"
#include "db/intake.h"
#include "db/peer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* poll() counts on CLOCK_MONOTONIC, which stands still while the host is
 * suspended: so it is asked for a second at most, and then our clock. */
#define SLICE_MS 1000

/* A call that is unwound fails at its next step; a connect tries the other
 * addresses first. */
#define UNWIND_STEPS 64

static _Thread_local struct rlk_conn *current;

/* OpenSSL's ERR_clear_error(), NULL if Connector/C uses another library.
 * SSL_get_error() takes an error that another connection left in the thread's
 * queue for this one's. Connector/C does not empty the queue, so we have to. */
static void (*clear_errors)(void);

/* How long poll() may wait; -1: not at all, the deadline has passed. */
static int time_left(const struct rlk_conn *conn)
{
	int64_t left;

	if (conn->until_ms == RLK_NEVER)
		return SLICE_MS;
	left = conn->until_ms - rlk_now(conn->target->clock);
	if (left <= 0)
		return -1;
	return left < SLICE_MS ? (int) left : SLICE_MS;
}

static void take_interrupt(struct rlk_conn *conn)
{
	uint64_t count;

	atomic_store(&conn->wake.interrupted, false);
	if (read(conn->wake.fd, &count, sizeof(count)) < 0)
		return; /* somebody else's write is still to come */
}

/* Wait for @events of @fd: those that came, 0 for deadline or interrupt. @look:
 * see what is there already, even if the deadline has come. */
static short wait_for(struct rlk_conn *conn, int fd, short events, bool look)
{
	struct pollfd fds[] = {
		{ .fd = fd, .events = events },
		{ .fd = conn->wake.fd, .events = POLLIN },
	};

	for (;;) {
		int left = time_left(conn);

		if (left < 0 && !look)
			return 0;
		look = false;
		if (poll(fds, 2, left < 0 ? 0 : left) <= 0)
			continue;
		if (fds[1].revents) {
			take_interrupt(conn);
			return 0;
		}
		return fds[0].revents;
	}
}

static int wait_status(struct rlk_conn *conn, int status, bool look)
{
	short events = 0;
	short came;
	int occurred = 0;

	if (status & MYSQL_WAIT_READ)
		events |= POLLIN;
	if (status & MYSQL_WAIT_WRITE)
		events |= POLLOUT;
	if (status & MYSQL_WAIT_EXCEPT)
		events |= POLLPRI;
	came = wait_for(conn, mysql_get_socket(conn->mysql), events, look);
	if (!came)
		return 0;
	if (came & POLLIN)
		occurred |= MYSQL_WAIT_READ;
	if (came & POLLOUT)
		occurred |= MYSQL_WAIT_WRITE;
	if (came & POLLPRI)
		occurred |= MYSQL_WAIT_EXCEPT;
	/* An error or the end of the stream: let it find out by itself. */
	if (!(occurred & status))
		occurred = status & ~MYSQL_WAIT_TIMEOUT;
	return occurred;
}

/* Connector/C polls by this while it shakes hands; see mysql_optionsv(3),
 * MARIADB_OPT_IO_WAIT. Outside of rlk_io_run() nothing may wait. */
static int io_wait(my_socket fd, my_bool is_read, int timeout)
{
	(void) timeout;
	if (!current) {
		errno = ETIMEDOUT;
		return 0;
	}
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	if (wait_for(current, fd, is_read ? POLLIN : POLLOUT, false))
		return 1;
	errno = ETIMEDOUT;
	return 0;
}

struct rlk_conn *rlk_io_current(void)
{
	return current;
}

void rlk_io_init(void)
{
	void *symbol = dlsym(RTLD_DEFAULT, "ERR_clear_error");

	memcpy(&clear_errors, &symbol, sizeof(symbol));
}

void rlk_io_forget_errors(const struct rlk_conn *conn)
{
	if (clear_errors && (conn->peer.tls || conn->dead))
		clear_errors();
}

bool rlk_io_hook(MYSQL *mysql)
{
	return mysql_optionsv(mysql, MARIADB_OPT_IO_WAIT, io_wait) == 0;
}

static unsigned long client_flag(const struct rlk_conn *conn)
{
	return conn->profile.packets ? CLIENT_MULTI_STATEMENTS : 0;
}

static int start(struct rlk_conn *conn, enum rlk_call call)
{
	struct rlk_io *io = &conn->io;
	MYSQL *mysql = conn->mysql;

	switch (call) {
	case RLK_CALL_CONNECT:
		return mysql_real_connect_start(&io->connected, mysql,
						io->hosts, NULL, NULL, NULL, 0,
						NULL, client_flag(conn));
	case RLK_CALL_QUERY:
		return mysql_real_query_start(&io->status, mysql, io->sql,
					      strlen(io->sql));
	case RLK_CALL_STORE:
		return mysql_store_result_start(&io->result, mysql);
	case RLK_CALL_NEXT:
		return mysql_next_result_start(&io->status, mysql);
	case RLK_CALL_PING:
		return mysql_ping_start(&io->status, mysql);
	case RLK_CALL_PREPARE:
		return mysql_stmt_prepare_start(&io->status, io->stmt, io->sql,
						strlen(io->sql));
	case RLK_CALL_EXECUTE:
		return mysql_stmt_execute_start(&io->status, io->stmt);
	case RLK_CALL_BUFFER:
		return mysql_stmt_store_result_start(&io->status, io->stmt);
	}
	return 0;
}

static int go_on(struct rlk_conn *conn, int events)
{
	struct rlk_io *io = &conn->io;
	MYSQL *mysql = conn->mysql;

	switch (io->call) {
	case RLK_CALL_CONNECT:
		return mysql_real_connect_cont(&io->connected, mysql, events);
	case RLK_CALL_QUERY:
		return mysql_real_query_cont(&io->status, mysql, events);
	case RLK_CALL_STORE:
		return mysql_store_result_cont(&io->result, mysql, events);
	case RLK_CALL_NEXT:
		return mysql_next_result_cont(&io->status, mysql, events);
	case RLK_CALL_PING:
		return mysql_ping_cont(&io->status, mysql, events);
	case RLK_CALL_PREPARE:
		return mysql_stmt_prepare_cont(&io->status, io->stmt, events);
	case RLK_CALL_EXECUTE:
		return mysql_stmt_execute_cont(&io->status, io->stmt, events);
	case RLK_CALL_BUFFER:
		return mysql_stmt_store_result_cont(&io->status, io->stmt,
						    events);
	}
	return 0;
}

/* It has taken the connection, and is to greet. */
static bool is_to_greet(const struct rlk_conn *conn, int status)
{
	return status & MYSQL_WAIT_READ && rlk_peer_is_there(conn);
}

/* Is there another host to go to, if this one does not answer at all, or does
 * not greet? */
static bool has_next_host(const struct rlk_conn *conn)
{
	const struct rlk_io *io = &conn->io;
	const char *host = conn->mysql->options.host;

	if (io->call != RLK_CALL_CONNECT || !host || !strchr(host, ',') ||
	    conn->until_ms == RLK_NEVER)
		return false;
	if (is_to_greet(conn, io->waits_for))
		return !io->login.greeted && rlk_peer_next_hosts(conn);
	return !rlk_peer_is_there(conn);
}

/* As wait_status(), but for half of the time that was left when this address
 * was begun: the other half is the next host's. How many addresses follow is
 * unknown. */
static int wait_for_host(struct rlk_conn *conn, int status, bool look)
{
	const int64_t until = conn->until_ms;
	bool greets = is_to_greet(conn, status);
	struct rlk_io *io = &conn->io;
	int64_t now = rlk_now(conn->target->clock);
	int events;

	if (!greets || !io->host_until_ms)
		io->host_until_ms = now + (until - now) / 2;
	if (io->host_until_ms >= until)
		return wait_status(conn, status, look);
	conn->until_ms = io->host_until_ms;
	events = wait_status(conn, status, look);
	conn->until_ms = until;
	/* 0 before its time is over: an interrupt. */
	if (events || rlk_now(conn->target->clock) < io->host_until_ms)
		return events;
	if (greets)
		io->next_hosts = rlk_peer_next_hosts(conn);
	return MYSQL_WAIT_TIMEOUT;
}

static bool run(struct rlk_conn *conn, enum rlk_call call)
{
	struct rlk_io *io = &conn->io;
	bool look = io->suspended;

	if (!io->suspended) {
		io->call = call;
		io->status = 0;
		io->host_until_ms = 0;
		io->next_hosts = NULL;
		rlk_intake_begin(conn);
		rlk_io_forget_errors(conn);
		io->waits_for = start(conn, call);
	}
	while (io->waits_for) {
		int events;

		if (io->call == RLK_CALL_CONNECT)
			rlk_peer_socket(conn);
		events = has_next_host(conn)
			     ? wait_for_host(conn, io->waits_for, look)
			     : wait_status(conn, io->waits_for, look);
		look = false; /* once: a peer may never stop sending */
		io->suspended = !events;
		if (!events)
			return false;
		rlk_io_forget_errors(conn);
		io->waits_for = go_on(conn, events);
	}
	io->suspended = false;
	rlk_io_forget_errors(conn); /* the application uses OpenSSL too */
	return true;
}

bool rlk_io_run(struct rlk_conn *conn, enum rlk_call call)
{
	/* Without TLS Connector/C writes with MSG_NOSIGNAL. */
	_cleanup_(rlk_pipe_onp) struct rlk_pipe pipe = rlk_pipe_off(
	    call == RLK_CALL_CONNECT || mysql_get_ssl_cipher(conn->mysql));
	bool finished;

	current = conn;
	finished = run(conn, call);
	current = NULL;
	return finished;
}

void rlk_io_abandon(struct rlk_conn *conn)
{
	_cleanup_(rlk_pipe_onp) struct rlk_pipe pipe = rlk_pipe_off(true);
	struct rlk_io *io = &conn->io;

	/* Under TLS the call looks at the stream again before it believes in
	 * a time-out: so the stream has to have an end. */
	if (io->suspended && mysql_get_ssl_cipher(conn->mysql))
		shutdown(mysql_get_socket(conn->mysql), SHUT_RDWR);
	for (int i = 0; io->suspended && i < UNWIND_STEPS; i++) {
		io->waits_for = go_on(conn, MYSQL_WAIT_TIMEOUT);
		io->suspended = io->waits_for != 0;
	}
	rlk_io_forget_errors(conn);
}

bool rlk_io_sleep(struct rlk_conn *conn, int ms)
{
	int64_t end = rlk_after(rlk_now(conn->target->clock), (uint64_t) ms);
	struct pollfd wake = { .fd = conn->wake.fd, .events = POLLIN };

	for (;;) {
		int64_t left = end - rlk_now(conn->target->clock);
		int allowed = time_left(conn);

		if (allowed < 0)
			return false;
		if (left <= 0)
			return true;
		if (poll(&wake, 1, left < allowed ? (int) left : allowed) <= 0)
			continue;
		take_interrupt(conn);
		return false;
	}
}
