/* SPDX-License-Identifier: MIT */
/*
 * What a peer may send.
 *
 * Connector/C reads as long as there is something to read and comes back to us
 * only when there is not: a peer that never pauses would be read for ever, past
 * each deadline, and what it sends be kept. And it does what it is asked to.
 * But it tells of each read before it looks at what has come
 * (ma_pvio_register_callback() of MariaDB Connector/C), so here is counted how
 * much of an answer has come, and when; and what comes before the login is over
 * is looked at first (login.c). What is too much, too late or no login is never
 * looked at by Connector/C: it is overwritten, by a packet of no bytes, which
 * that takes for a stream that has ended, and the stream is ended.
 *
 * Failure modes: the connection is dead then, its call fails as for one that
 * was lost, and the reason is in the message.
 */
#include "db/conn_private.h"

#include <string.h>
#include <sys/socket.h>

/* The most of an answer, and so of a packet, for which Connector/C makes room
 * when its length has come. The longest that we ask for are pages of lists. */
#define ANSWER_MOST (1024u * 1024u)

/* What is there already is taken when the deadline has come (rlk_io_run()); of
 * a stream that goes on and on, so much. */
#define LATE_MOST (64u * 1024u)

/* A stream that was ended is read to its end: so many times 4 KiB. */
#define REST_MOST 4096

/* Not in its headers; exported since 3.0. */
int ma_pvio_register_callback(my_bool add,
			      void (*fn)(int mode, MYSQL *mysql,
					 const unsigned char *bytes,
					 size_t length));

static bool is_over(const struct rlk_conn *conn)
{
	return atomic_load(&conn->interrupted) ||
	       rlk_now(conn->target->clock) >= conn->until_ms;
}

/* NULL: go on. */
static const char *objection(struct rlk_conn *conn, const unsigned char *bytes,
			     size_t count)
{
	struct rlk_io *io = &conn->io;
	const char *problem = NULL;

	io->heard += count;
	if (io->call == RLK_CALL_CONNECT) {
		if (!io->login.greeted)
			rlk_peer_decide(conn);
		problem = rlk_login_read(conn, bytes, count);
	}
	if (problem)
		return problem;
	if (io->heard > ANSWER_MOST)
		return "its answer has no end: more than 1 MiB were sent";
	if (is_over(conn))
		io->late += count;
	return io->late > LATE_MOST ? "its answer has no end" : NULL;
}

/* The peer's next packet resets a connection that is shut down, so that what is
 * left to read has an end. */
static void end_stream(int fd)
{
	char rest[4096];

	shutdown(fd, SHUT_RDWR);
	for (int i = 0; i < REST_MOST; i++)
		if (recv(fd, rest, sizeof(rest), MSG_DONTWAIT) <= 0)
			return;
}

/* What of a packet of the login has come with an earlier read is in
 * Connector/C's buffer; what it becomes with the bytes of this one is an error,
 * which makes it do nothing. */
static void spoil(struct rlk_conn *conn)
{
	static const unsigned char error[] = { 255, 1, 0 };
	size_t before = conn->io.login.before;
	NET *net = &conn->mysql->net;

	if (conn->io.call == RLK_CALL_CONNECT && net->buff)
		memcpy(net->buff + net->where_b, error,
		       before < sizeof(error) ? before : sizeof(error));
}

/* The buffer is Connector/C's own, to write to. */
static void on_read(struct rlk_conn *conn, const unsigned char *bytes,
		    size_t length)
{
	MYSQL *mysql = conn->mysql;

	/* Whatever the options say, and before it looks at a length. */
	mysql->net.max_packet_size = ANSWER_MOST;
	if (!conn->io.cut)
		conn->io.cut = objection(conn, bytes, length);
	if (!conn->io.cut)
		return;
	memset((void *) (uintptr_t) bytes, 0, length);
	spoil(conn);
	end_stream(mysql_get_socket(mysql));
}

/* @mode is 0 for what was read, 1 for what was written; @length is -1 if that
 * was nothing. */
static void on_bytes(int mode, MYSQL *mysql, const unsigned char *bytes,
		     size_t length)
{
	struct rlk_conn *conn = rlk_io_current();

	if (!conn || conn->mysql != mysql || (ssize_t) length <= 0)
		return;
	if (mode == 0)
		on_read(conn, bytes, length);
	else if (conn->io.call == RLK_CALL_CONNECT)
		rlk_login_wrote(conn, bytes, length);
}

static bool registered;

void rlk_intake_init(void)
{
	registered = ma_pvio_register_callback(1, on_bytes) == 0;
}

bool rlk_intake_ready(void)
{
	return registered;
}

void rlk_intake_begin(struct rlk_conn *conn)
{
	struct rlk_io *io = &conn->io;

	/* Of one answer, in as many calls as it is read by. */
	if (io->call == RLK_CALL_STORE || io->call == RLK_CALL_NEXT ||
	    io->call == RLK_CALL_BUFFER)
		return;
	io->heard = 0;
	io->late = 0;
}

void rlk_intake_another(struct rlk_conn *conn)
{
	conn->io.login = (struct rlk_login){ .seen = 0 };
	conn->io.cut = NULL;
}
