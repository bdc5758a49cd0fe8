/* SPDX-License-Identifier: MIT */
/*
 * What a peer may send.
 *
 * Connector/C reads as long as there is something to read and comes back to us
 * only when there is not: a peer that never pauses would be read for ever, past
 * each deadline, and what it sends be kept. And it trusts the very first packet
 * more than it should. But it tells of each read before it looks at what has
 * come (ma_pvio_register_callback() of MariaDB Connector/C), so here is counted
 * how much of an answer has come, and when. What is too much, too late or no
 * greeting is never looked at: it is overwritten, by a packet of no bytes,
 * which Connector/C takes for a stream that has ended, and the stream is ended.
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

/* Where the first packet's own bytes begin, behind its length and number; and
 * what they are: the protocol's version, or an error with its number. */
#define GREETING_AT 4
#define PROTOCOL 10
#define ERROR 255

/* Not in its headers; exported since 3.0. */
int ma_pvio_register_callback(my_bool add,
			      void (*fn)(int mode, MYSQL *mysql,
					 const unsigned char *bytes,
					 size_t length));

/* Progress, in place of a greeting, is an error with the number 65535: whether
 * it may come is asked of the server's version, which is not known yet. */
static bool is_no_greeting(struct rlk_io *io, const unsigned char *bytes,
			   size_t count)
{
	for (size_t i = 0; i < count && io->greeted < sizeof(io->greeting); i++)
		io->greeting[io->greeted++] = bytes[i];
	if (io->greeted <= GREETING_AT)
		return false;
	if (io->greeting[GREETING_AT] != ERROR)
		return io->greeting[GREETING_AT] != PROTOCOL;
	return io->greeted == sizeof(io->greeting) &&
	       io->greeting[GREETING_AT + 1] == 255 &&
	       io->greeting[GREETING_AT + 2] == 255;
}

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

	io->heard += count;
	if (io->call == RLK_CALL_CONNECT &&
	    io->greeted < sizeof(io->greeting) &&
	    is_no_greeting(io, bytes, count))
		return "what answers there does not greet as a server does";
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

/* The buffer is Connector/C's own, to write to; @length is -1 if nothing was
 * read. */
static void on_read(int mode, MYSQL *mysql, const unsigned char *bytes,
		    size_t length)
{
	struct rlk_conn *conn = rlk_io_current();

	if (mode != 0 || !conn || conn->mysql != mysql || (ssize_t) length <= 0)
		return;
	/* Whatever the options say, and before it looks at a length. */
	mysql->net.max_packet_size = ANSWER_MOST;
	if (!conn->io.cut)
		conn->io.cut = objection(conn, bytes, length);
	if (!conn->io.cut)
		return;
	memset((void *) (uintptr_t) bytes, 0, length);
	end_stream(mysql_get_socket(mysql));
}

static bool registered;

void rlk_intake_init(void)
{
	registered = ma_pvio_register_callback(1, on_read) == 0;
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
	conn->io.greeted = 0;
	conn->io.cut = NULL;
}
