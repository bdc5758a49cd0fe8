/* SPDX-License-Identifier: MIT */
/*
 * A connection at rest: its end, its deadline, small questions.
 *
 * Failure modes: closing never waits. A suspended call is unwound first, which
 * also closes its socket; then mysql_close() has nothing to say to the server.
 * A connection at rest says COM_QUIT if its socket takes it at once, and not
 * otherwise (io.c: nothing waits outside of rlk_io_run()). Statements are
 * freed after mysql_close() has taken the connection from them, so that none
 * of them sends a COM_STMT_CLOSE.
 */
#include "db/conn_private.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/pipe.h"
#include "db/io.h"
#include "db/packet.h"
#include "db/peer_user.h"
#include "db/stmt_private.h"

/* No server's clock is so far from 1970; beyond, a difference to ours is no
 * number any more. */
#define TIME_MOST_US (INT64_MAX / 4)

struct rlk_conn *rlk_conn_close(struct rlk_conn *conn)
{
	if (!conn)
		return NULL;
	if (conn->mysql) {
		_cleanup_(rlk_pipe_onp) struct rlk_pipe pipe =
		    rlk_pipe_off(true);

		rlk_io_abandon(conn);
		/* The one text among its options that mysql_close() of
		 * Connector/C 3.3 does not free. */
		mysql_optionsv(conn->mysql, MYSQL_SERVER_PUBLIC_KEY, NULL);
		mysql_close(conn->mysql);
		rlk_io_forget_errors(conn);
	}
	rlk_stmt_free_all(conn);
	rlk_packet_drop(conn);
	rlk_sql_fini(&conn->run.plain);
	rlk_frames_drop(&conn->io.frames);
	if (conn->wake.fd >= 0)
		close(conn->wake.fd);
	free(conn);
	return NULL;
}

int64_t rlk_conn_now(const struct rlk_conn *conn)
{
	return rlk_now(conn->target->clock);
}

void rlk_conn_set_until(struct rlk_conn *conn, int64_t until_ms)
{
	uint64_t count;

	conn->until_ms = until_ms;
	if (!atomic_load(&conn->wake.interrupted))
		return;
	atomic_store(&conn->wake.interrupted, false);
	if (read(conn->wake.fd, &count, sizeof(count)) < 0)
		return; /* taken already */
}

void rlk_conn_interrupt(struct rlk_conn *conn)
{
	const uint64_t one = 1;

	/* In this order: a thread that sees the flag finds the count. */
	if (write(conn->wake.fd, &one, sizeof(one)) < 0)
		return; /* the counter is full, so it is readable */
	atomic_store(&conn->wake.interrupted, true);
}

bool rlk_conn_usable(const struct rlk_conn *conn)
{
	return !conn->dead && !conn->stale && !conn->io.suspended &&
	       conn->run.stage == RLK_STAGE_NONE;
}

bool rlk_conn_alive(const struct rlk_conn *conn)
{
	struct pollfd fd = { .fd = mysql_get_socket(conn->mysql),
			     .events = POLLIN };

	/* A server has nothing to say unasked, but that it is leaving. */
	return rlk_conn_usable(conn) && poll(&fd, 1, 0) == 0;
}

bool rlk_conn_may_not_come_back(const struct rlk_conn *conn)
{
	return conn->io.login.by_hash && !rlk_peer_user_is_servers(conn);
}

bool rlk_conn_retired(const struct rlk_conn *conn)
{
	return conn->retired;
}

int rlk_conn_fd(const struct rlk_conn *conn)
{
	return mysql_get_socket(conn->mysql);
}

uint64_t *rlk_conn_note(struct rlk_conn *conn)
{
	return &conn->note;
}

uint64_t rlk_conn_id(const struct rlk_conn *conn)
{
	return conn->session.id;
}

bool rlk_conn_may_kill(const struct rlk_conn *conn)
{
	return !conn->session.renumbered;
}

const struct rlk_server *rlk_conn_server(const struct rlk_conn *conn)
{
	return &conn->server;
}

const char *rlk_conn_schema(const struct rlk_conn *conn)
{
	return conn->mysql->db ? conn->mysql->db : "";
}

void rlk_conn_spoil(struct rlk_conn *conn)
{
	conn->dead = true;
}

const struct rlk_conn_profile *rlk_conn_profile(const struct rlk_conn *conn)
{
	return &conn->profile;
}

/* The longer time counts from before it is sent, as the server may have it from
 * then on. */
enum rlk_fault rlk_conn_keep(struct rlk_conn *conn, unsigned int idle_s,
			     struct rowlock_errinfo *reterr)
{
	if (idle_s > conn->profile.idle_s)
		conn->profile.idle_s = idle_s;
	snprintf(conn->keep_sql, sizeof(conn->keep_sql),
		 "SET SESSION wait_timeout = %u", idle_s);
	return rlk_stmt_text(conn, conn->keep_sql, reterr);
}

void rlk_conn_mark(const struct rlk_conn *conn, struct rlk_mark *ret_mark)
{
	/* wait_timeout for its beginning, net_read_timeout for the rest of it
	 * (MariaDB Server Documentation, "Server System Variables"). */
	struct rlk_mark mark = {
		.id = conn->session.id,
		.silent_ms = (conn->profile.idle_s + RLK_NET_READ_S) * 1000,
	};

	memcpy(mark.lock, conn->session.mark, sizeof(mark.lock));
	memcpy(mark.identity, conn->server.identity, sizeof(mark.identity));
	*ret_mark = mark;
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
	enum rlk_fault fault;

	fault = rlk_stmt_run(conn, &def, NULL, &reply, reterr);
	if (fault != RLK_DONE)
		return rlk_stmt_give_up(conn, fault, reterr);
	if (!reply.has_row || reply.columns[0].type != RLK_I64 ||
	    reply.columns[0].i64 > TIME_MOST_US ||
	    reply.columns[0].i64 < -TIME_MOST_US) {
		rlk_fail(reterr, ROWLOCK_EDB, "clock: no time from %s",
			 conn->server.name);
		return RLK_REFUSED;
	}
	*ret_us = reply.columns[0].i64;
	return RLK_DONE;
}
