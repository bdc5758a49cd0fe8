/* SPDX-License-Identifier: MIT */
/*
 * Peers that are no servers, or servers that mean harm: what greets in another
 * way, and answers without an end.
 */
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/thread.h"
#include "db_test.h"

/* What its thread sends to whoever comes, whatever that says. */
struct peer {
	struct rlk_thread thread;
	int listener;
	const char *first;
	size_t first_size;
	bool slow; /* one byte at a time */
	char dsn[200];
};

static void send_all(struct peer *peer, int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t sent =
		    send(fd, bytes, peer->slow ? 1 : size, MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		bytes += sent;
		size -= (size_t) sent;
		if (peer->slow)
			poll(NULL, 0, 2);
	}
}

static void serve(void *arg)
{
	struct peer *peer = arg;
	int fd;

	while ((fd = accept4(peer->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		send_all(peer, fd, peer->first, peer->first_size);
		close(fd);
	}
}

static void start(struct peer *peer)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t length = sizeof(at);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	peer->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
	    bind(peer->listener, (struct sockaddr *) &at, sizeof(at)), 0);
	assert_int_equal(listen(peer->listener, 8), 0);
	getsockname(peer->listener, (struct sockaddr *) &at, &length);
	snprintf(peer->dsn, sizeof(peer->dsn),
		 "host=127.0.0.1;port=%u;user=u;password=secret;database=d",
		 ntohs(at.sin_port));
	assert_int_equal(rlk_thread_start(&peer->thread, "peer", serve, peer),
			 0);
}

static void stop(struct peer *peer)
{
	shutdown(peer->listener, SHUT_RDWR);
	rlk_thread_join(&peer->thread);
	close(peer->listener);
}

#define BYTES(text) text, sizeof(text) - 1

/* Of such a packet Connector/C 3.3 asks the server's version, which it does not
 * know, and ends the process. */
#define PROGRESS "\x0c\0\0\0\xff\xff\xff\x01\x01\x01\0\0\0\0\0\0"

CASE("what does not greet is refused")
{
	static const struct {
		const char *bytes;
		size_t size;
	} greetings[] = {
		{ BYTES(PROGRESS) },
		{ BYTES(PROGRESS PROGRESS PROGRESS) },
		{ BYTES("SSH-2.0-OpenSSH_9.2p1\r\n") },
		{ BYTES("HTTP/1.1 400 Bad Request\r\n\r\n") },
		{ BYTES("\x05\0\0\0\x09"
			"3.20") },
		{ BYTES("\x01\0\0\0\0") },
	};

	for (size_t i = 0; i < RLK_ARRAY_SIZE(greetings); i++) {
		struct peer peer = { .first = greetings[i].bytes,
				     .first_size = greetings[i].size };
		struct rowlock_errinfo error;

		start(&peer);
		assert_code(db_refused(peer.dsn, 0, &error), ROWLOCK_ECONNECT,
			    &error);
		assert_says(error.message, "does not greet");
		assert_says(error.message, "127.0.0.1");
		stop(&peer);
	}
}

/* Nothing of it is looked at before it is whole. */
CASE("a greeting in pieces is looked at")
{
	struct peer peer = { .first = PROGRESS,
			     .first_size = sizeof(PROGRESS) - 1,
			     .slow = true };

	start(&peer);
	assert_code(db_refused(peer.dsn, 0, &err), ROWLOCK_ECONNECT, &err);
	assert_says(err.message, "does not greet");
	stop(&peer);
}

CASE("a greeting that ends is no greeting")
{
	static const char progress[] = PROGRESS;

	for (size_t size = 0; size < sizeof(progress) - 1; size++) {
		struct peer peer = { .first = progress, .first_size = size };

		start(&peer);
		assert_code(db_refused(peer.dsn, 0, &err), ROWLOCK_ECONNECT,
			    &err);
		stop(&peer);
	}
}

/* A server that refuses says so with an error, and that is told. */
CASE("a refusal in place of a greeting is told")
{
	struct peer peer = {
		.first = "\x17\0\0\0\xff\x10\x04Too many connections",
		.first_size = 27,
	};

	start(&peer);
	assert_code(db_refused(peer.dsn, 0, &err), ROWLOCK_ECONNECT, &err);
	assert_int_equal(err.mysql, 1040);
	stop(&peer);
}

/* ------------------------------------------------- answers without an end */

static const struct rlk_stmt_def one = { "one", "SELECT 1", true };

/* Into TLS nobody can put a word; what a server says under it is counted behind
 * it, by the same lines. */
static bool without_tls(void)
{
	return !strstr(db_dsn(), "ssl_");
}
static struct db_need need_no_tls = { without_tls, "a connection without TLS" };

/* More than is taken when the deadline has come. */
#define ENOUGH 200000u

static size_t in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Behind a real login: from then on the relay says what it likes. */
static void is_cut_off(const unsigned char *progress, size_t size)
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	struct rowlock_errinfo error;
	DB_CONN(conn, db_open(relay_dsn(relay), &db_lease));
	struct rlk_reply reply;
	int64_t began = db_in(0);
	size_t before = in_use();

	relay_flood(relay, (const char *) progress, size);
	rlk_conn_set_until(conn, db_in(test_patience_ms()));
	assert_int_equal(rlk_stmt_run(conn, &one, NULL, &reply, &error),
			 RLK_UNKNOWN);
	assert_code(error.code, ROWLOCK_ECONNECT, NULL);
	assert_says(error.message, "has no end: more than 1 MiB");
	assert_false(rlk_conn_usable(conn));
	assert_in_range(in_use(), 0, before + 4u * 1024 * 1024);
	/* What it sent is that, and what the system keeps of a stream. */
	assert_in_range(relay_said(relay), 0, 32u * 1024 * 1024);
	/* It is not the deadline that ended it. */
	assert_true(db_in(0) - began < test_patience_ms());
}

/* Long reports of progress: few packets, many bytes. The second ones are never
 * at the beginning of what is read at a time: what is cut off is a packet whose
 * header Connector/C has. */
CASE_NEEDS("an answer without an end is cut off", need_no_tls)
{
	static const unsigned char whole[4096] = { 0xfc, 0xf,  0,   1,
						   0xff, 0xff, 0xff };
	static const unsigned char odd[5003] = { 0x87, 0x13, 0,   1,
						 0xff, 0xff, 0xff };

	is_cut_off(whole, sizeof(whole));
	is_cut_off(odd, sizeof(odd));
}

/* The rest is in unit-answer: here is seen that it is asked. */
CASE_NEEDS("an answer that is garbled is refused", need_no_tls)
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	DB_CONN(conn, db_open(relay_dsn(relay), &db_lease));
	struct rlk_reply reply;

	/* Five columns, and again that, where the first one's definition is to
	 * come. */
	relay_flood(relay, BYTES("\1\0\0\1\5"));
	rlk_conn_set_until(conn, db_in(test_patience_ms()));
	assert_int_equal(rlk_stmt_run(conn, &one, NULL, &reply, &err),
			 RLK_UNKNOWN);
	assert_code(err.code, ROWLOCK_ECONNECT, NULL);
	assert_says(err.message, "its answer is garbled");
	assert_false(rlk_conn_usable(conn));
}

/* Code that counts with such a time has no room for it. */
CASE_NEEDS("a time that is none is refused", need_no_tls)
{
	static const char asked[] = "SELECT TIMESTAMPDIFF(MICROSECOND, "
				    "'1970-01-01', UTC_TIMESTAMP(6))";
	static const char *const times[] = { "-9223372036854775808",
					     "9223372036854775807" };

	for (size_t i = 0; i < RLK_ARRAY_SIZE(times); i++) {
		struct relay *relay = relay_start(RELAY_STRAIGHT, NULL);
		struct rlk_conn *conn = db_open(relay_dsn(relay), &db_lease);
		char answered[sizeof(asked)], sql[64];
		struct rowlock_errinfo error;
		int64_t time;

		snprintf(sql, sizeof(sql), "SELECT CAST(%s AS SIGNED)",
			 times[i]);
		snprintf(answered, sizeof(answered), "%-*s",
			 (int) sizeof(asked) - 1, sql);
		relay_replace(relay, asked, answered, false);
		assert_int_equal(rlk_conn_server_time(conn, &time, &error),
				 RLK_REFUSED);
		assert_says(error.message, "no time from");
		rlk_conn_close(conn);
		relay_end(relay);
	}
}

/* One packet that is said to be long: no room is made for it. */
CASE_NEEDS("a long packet is refused", need_no_tls)
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	char dsn[600];
	struct rlk_reply reply;
	size_t before = in_use();

	/* Also where an option would allow it. */
	test_dsn_with(relay_dsn(relay), "max-allowed-packet=67108864", dsn,
		      sizeof(dsn));
	DB_CONN(conn, db_open(dsn, &db_lease));
	relay_flood(relay, BYTES("\xfe\xff\xff\1"));
	rlk_conn_set_until(conn, db_in(test_patience_ms()));
	assert_int_equal(rlk_stmt_run(conn, &one, NULL, &reply, &err),
			 RLK_UNKNOWN);
	assert_code(err.code, ROWLOCK_ECONNECT, NULL);
	/* By its length, before any of it was read. */
	assert_says(err.message, "a packet of its answer");
	assert_false(rlk_conn_usable(conn));
	assert_in_range(in_use(), 0, before + 4u * 1024 * 1024);
}

/* The deadline has come, and what is there may be taken; but it goes on. */
CASE_NEEDS("a flood does not pass the deadline", need_no_tls)
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	DB_CONN(conn, db_open(relay_dsn(relay), &db_lease));
	struct rlk_reply reply;
	int64_t since = db_in(0);
	enum rlk_fault fault;

	relay_flood(relay, BYTES(PROGRESS));
	rlk_conn_set_until(conn, since);
	fault = rlk_stmt_run(conn, &one, NULL, &reply, &err);
	/* Unless it has come before the first look. */
	if (fault == RLK_PENDING) {
		while (relay_said(relay) < ENOUGH)
			db_keep_waiting(since, "a flood");
		fault = rlk_stmt_resume(conn, &reply, &err);
	}
	assert_int_equal(fault, RLK_UNKNOWN);
	assert_code(err.code, ROWLOCK_ECONNECT, NULL);
	/* And for no other reason: more than 1 MiB, or too many rows. */
	assert_says(err.message, "its answer has no end on ");
}

CASE_MAIN(db_main)
