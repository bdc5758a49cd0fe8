/* SPDX-License-Identifier: MIT */
/*
 * Checks what a peer sends, as it comes.
 *
 * Connector/C returns to us only when there is nothing left to read: a peer
 * that never pauses would be read for ever, past each deadline, and all of it
 * kept. And it does what the peer asks for. But it reports each read before it
 * looks at the data (ma_pvio_register_callback() of MariaDB Connector/C). So
 * the size and the time of an answer are counted here, and each packet is
 * checked first: those of a login (login.c) and those of answers (answer.c).
 * Connector/C never sees data that is too much, too late or garbled: a packet
 * of no bytes, which it takes for the end of the stream, overwrites them, and
 * the stream is ended.
 *
 * Failure modes: the connection is dead then, its call fails as for one that
 * was lost, and the message has the reason.
 */
#include "db/intake.h"

#include "db/answer.h"
#include "db/io.h"
#include "db/login.h"
#include "db/peer.h"

#include <string.h>
#include <sys/socket.h>

/* The most of an answer, and so of a packet: Connector/C allocates a packet
 * when its length has come. Our longest answers are pages of lists. */
#define ANSWER_MOST (1024u * 1024u)

/* At the deadline, data already received is still read (rlk_io_run()), up to
 * this many bytes. */
#define LATE_MOST (64u * 1024u)

/* A late read counts as at least this, since it takes time whatever it brings:
 * under TLS a record may have one byte. So there are at most 1,024 of them,
 * some 20 ms. An honest answer to a batch has one for each of its statements
 * (packet.h: RLK_PACKET_STATEMENTS), and passes. */
#define LATE_READ 64u

/* A stream that was ended is read to its end, at most 4 KiB this many times. */
#define REST_MOST 4096

/* The most of a packet of a login: the first three letters of a peer that
 * speaks without packets are a larger size. */
#define LOGIN_MOST (16u * 1024u)

/* Not in its headers; exported since 3.0. */
int ma_pvio_register_callback(my_bool add,
			      void (*fn)(int mode, MYSQL *mysql,
					 const unsigned char *bytes,
					 size_t length));

static bool is_login(const struct rlk_conn *conn)
{
	return conn->io.call == RLK_CALL_CONNECT && !conn->io.login.over;
}

static bool is_over(const struct rlk_conn *conn)
{
	return atomic_load(&conn->wake.interrupted) ||
	       rlk_now(conn->target->clock) >= conn->until_ms;
}

/* NULL: go on. */
static const char *judge(struct rlk_conn *conn, const struct rlk_frame *frame,
			 bool more)
{
	bool login = is_login(conn);

	switch (frame->state) {
	case RLK_FRAME_COMES:
		return NULL;
	case RLK_FRAME_WHOLE:
		return login ? rlk_login_judge(conn, frame, more)
			     : rlk_answer_judge(conn, frame);
	case RLK_FRAME_LONG:
		return login ? rlk_login_judge(conn, frame, more)
			     : "a packet of its answer is longer than 1 MiB";
	case RLK_FRAME_NO_MEMORY:
		return "out of memory for its answer";
	}
	return NULL;
}

static const char *judge_all(struct rlk_conn *conn, const unsigned char *bytes,
			     size_t count)
{
	struct rlk_frames *frames = &conn->io.frames;
	size_t most = is_login(conn) ? LOGIN_MOST : ANSWER_MOST;
	const char *problem = NULL;
	struct rlk_frame frame;
	size_t at = 0;

	mariadb_get_infov(conn->mysql,
			  MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES,
			  &conn->extended);
	frames->before = frames->seen;
	while (at < count && !problem) {
		at += rlk_frames_take(frames, bytes + at, count - at, most,
				      &frame);
		problem = judge(conn, &frame, at < count);
	}
	return problem;
}

static const char *objection(struct rlk_conn *conn, const unsigned char *bytes,
			     size_t count)
{
	struct rlk_io *io = &conn->io;
	const char *problem;

	io->heard += count;
	if (io->call == RLK_CALL_CONNECT && !io->login.greeted)
		rlk_peer_decide(conn);
	problem = judge_all(conn, bytes, count);
	if (problem)
		return problem;
	if (io->heard > ANSWER_MOST)
		return "its answer has no end: more than 1 MiB were sent";
	if (is_over(conn))
		io->late += count > LATE_READ ? count : LATE_READ;
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

/* Where Connector/C has, or will have, the byte number @at of the packet's
 * body. Bytes of earlier reads are in its buffer. */
static unsigned char *byte_at(struct rlk_conn *conn, unsigned char *bytes,
			      size_t length, size_t at)
{
	NET *net = &conn->mysql->net;
	size_t before = conn->io.frames.before - RLK_FRAME_HEADER;

	if (at < before)
		return net->buff ? net->buff + net->where_b + at : NULL;
	return at - before < length ? bytes + (at - before) : NULL;
}

/* Turn the data into a packet of no bytes. If its header is read already, turn
 * it into an error, which makes Connector/C do nothing. */
static void spoil(struct rlk_conn *conn, unsigned char *bytes, size_t length)
{
	static const unsigned char error[] = { 255, 1, 0 };

	memset(bytes, 0, length);
	if (conn->io.frames.before < RLK_FRAME_HEADER)
		return;
	for (size_t i = 0; i < sizeof(error); i++) {
		unsigned char *byte = byte_at(conn, bytes, length, i);

		if (byte)
			*byte = error[i];
	}
}

/* The buffer is Connector/C's own, to write to. */
static void on_read(struct rlk_conn *conn, const unsigned char *bytes,
		    size_t length)
{
	if (!conn->io.cut)
		conn->io.cut = objection(conn, bytes, length);
	if (!conn->io.cut)
		return;
	spoil(conn, (unsigned char *) (uintptr_t) bytes, length);
	end_stream(mysql_get_socket(conn->mysql));
}

void rlk_intake_no_data(struct rlk_conn *conn)
{
	struct rlk_io *io = &conn->io;

	if (is_over(conn))
		io->late += LATE_READ;
	if (!io->cut && io->late > LATE_MOST)
		io->cut = "what it sends has no end, and is no answer";
	if (io->cut)
		end_stream(mysql_get_socket(conn->mysql));
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

	/* Count per answer, however many calls read it. */
	if (io->call == RLK_CALL_STORE || io->call == RLK_CALL_NEXT ||
	    io->call == RLK_CALL_BUFFER)
		return;
	io->heard = 0;
	io->late = 0;
	if (io->call != RLK_CALL_CONNECT)
		rlk_answer_begin(conn);
}

void rlk_intake_another(struct rlk_conn *conn)
{
	conn->io.login = (struct rlk_login){ .number = 0 };
	rlk_frames_drop(&conn->io.frames);
	conn->io.cut = NULL;
}
