/* SPDX-License-Identifier: MIT */
/*
 * TLS: whose certificate is believed, and that what lies decrypted in the
 * library's buffer, or half written in it, holds nothing up. Deadlines, cut and
 * dripping streams under TLS are what db-wait-tls and db-cut-tls are about.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/conn_private.h"
#include "db/connect.h"
#include "db/packet.h"
#include "db/stmt.h"
#include "db/tls.h"
#include "db_test.h"
#include "tls_relay.h"

/* OpenSSL's (openssl/ssl.h); only Connector/C is linked with it. */
#define NO_RENEGOTIATION (1u << 30)

/* db_dsn() without its words about TLS. */
static const char *plain_dsn(const char *options)
{
	static char texts[16][512];
	static unsigned int used;
	char *text = texts[used++ % 16];
	const char *end = strstr(db_dsn(), ";ssl_");

	assert_non_null(end);
	snprintf(text, sizeof(texts[0]), "%.*s%s", (int) (end - db_dsn()),
		 db_dsn(), options);
	return text;
}

static const char *authority(void)
{
	return strstr(db_dsn(), ";ssl_ca=");
}

/* A certificate, and not of who signed the server's. */
static const char *stranger(void)
{
	static char text[512];

	snprintf(text, sizeof(text), ";ssl_ca=%s/tests/cli/tls/%s",
		 getenv("ROWLOCK_SOURCE"), "somebody-else.pem");
	return text;
}

static bool is_encrypted(struct rlk_conn *conn)
{
	bool encrypted = db_number(conn, "SELECT VARIABLE_VALUE <> '' FROM "
					 "information_schema.SESSION_STATUS "
					 "WHERE VARIABLE_NAME = 'Ssl_cipher'");

	assert_int_equal(conn->peer.tls, encrypted);
	return encrypted;
}

CASE("a server that is verified is talked to")
{
	DB_CONN(conn, db_open(NULL, &db_lease));

	assert_true(is_encrypted(conn));
}

static void assert_not_believed(const char *dsn, unsigned int flags,
				const char *why)
{
	struct rowlock_errinfo error;

	assert_code(db_refused(dsn, flags, &error), ROWLOCK_ECONNECT, &error);
	assert_int_equal(error.mysql, 2026);
	assert_says(error.message, why);
}

CASE("a certificate for another name is refused")
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, "127.0.0.2"));

	assert_not_believed(relay_dsn(relay), 0, "and not for '127.0.0.2'");
}

CASE("a certificate of another authority is refused")
{
	assert_not_believed(db_dsn_with(stranger() + 1), 0,
			    "the authority of ssl-ca");
	/* What the connection string asks for, no flag takes back. */
	assert_not_believed(db_dsn_with(stranger() + 1), ROWLOCK_TLS_UNVERIFIED,
			    "ssl-ca (the dsn)");
}

/* SHA-1 of the server's certificate, which lies beside its authority's. */
static void fingerprint(char *ret_text, size_t size)
{
	const char *path = authority() + strlen(";ssl_ca=");
	char command[512];
	FILE *openssl;

	snprintf(command, sizeof(command),
		 "openssl x509 -in '%.*s/cert.pem' -noout -fingerprint -sha1 | "
		 "cut -d= -f2 | tr -d '\n'",
		 (int) (strrchr(path, '/') - path), path);
	openssl = popen(command, "r");
	assert_non_null(openssl);
	assert_non_null(fgets(ret_text, (int) size, openssl));
	assert_int_equal(pclose(openssl), 0);
	assert_int_equal(strlen(ret_text), 59);
}

/* Nobody has to vouch for it; and it counts in each byte. */
CASE("a server is verified by its certificate's fingerprint")
{
	char text[80], options[120];
	struct rlk_conn *conn;

	fingerprint(text, sizeof(text));
	snprintf(options, sizeof(options), ";ssl_fp=%s", text);
	conn = db_open(plain_dsn(options), &db_lease);
	assert_true(is_encrypted(conn));
	assert_true(conn->peer.verified);
	rlk_conn_close(conn);
	snprintf(options, sizeof(options), ";ssl_fp=%.58s%c", text,
		 text[58] == '7' ? '8' : '7');
	assert_not_believed(plain_dsn(options), 0, "leave out ssl-fp");
	assert_not_believed(plain_dsn(options), ROWLOCK_TLS_UNVERIFIED,
			    "leave out ssl-fp");
}

CASE("a local server needs no TLS")
{
	DB_CONN(conn, db_open(plain_dsn(""), &db_lease));

	assert_false(is_encrypted(conn));
	rlk_conn_close(conn);
	/* A name that the certificate has not matters only if one asks. */
	conn = db_open(plain_dsn(";ssl_enforce=1"), &db_lease);
	assert_true(is_encrypted(conn));
}

/* By way of an address that is not local, with a connection string that says
 * nothing of TLS but @options. */
struct remote {
	struct relay *relay;
	char address[64];
	char dsn[512];
};

static struct remote remote_start(const char *options)
{
	struct remote remote;
	char changes[96];
	const char *port;

	db_address(remote.address, sizeof(remote.address));
	remote.relay = relay_start(RELAY_STRAIGHT, remote.address);
	port = strrchr(relay_dsn(remote.relay), '=') + 1;
	snprintf(changes, sizeof(changes), "host=%s;port=%s", remote.address,
		 port);
	test_dsn_with(plain_dsn(options), changes, remote.dsn,
		      sizeof(remote.dsn));
	return remote;
}

CASE_NEEDS("another host is verified unasked", db_need_address)
{
	struct remote remote = remote_start(authority());
	struct rlk_conn *conn = db_open(remote.dsn, &db_lease);

	assert_true(is_encrypted(conn));
	rlk_conn_close(conn);
	relay_end(remote.relay);
}

CASE_NEEDS("another host without its authority is refused", db_need_address)
{
	struct remote remote = remote_start("");

	assert_not_believed(remote.dsn, 0, "or set ROWLOCK_TLS_UNVERIFIED");
	relay_end(remote.relay);
	remote = remote_start(stranger());
	assert_not_believed(remote.dsn, 0, "the authority of ssl-ca");
	relay_end(remote.relay);
}

static void assert_believed(const char *dsn)
{
	struct rlk_conn_target target = db_target(dsn);
	struct rowlock_errinfo error = { 0 };
	DB_CONN(conn, NULL);

	target.flags = ROWLOCK_TLS_UNVERIFIED;
	rlk_conn_open(&target, &db_lease, db_in(test_patience_ms()), &conn,
		      &error);
	assert_string_equal(error.message, "");
	/* Not verified, and still not for everybody to read. */
	assert_true(is_encrypted(conn));
}

static bool asks_for_names(void)
{
	return mysql_get_client_version() >= 30400;
}

/* An authority that is named is asked all the same, but not for the name. */
CASE_NEEDS("another host is believed when told so", db_need_address)
{
	struct remote remote = remote_start("");
	char changes[96], dsn[640];

	assert_believed(remote.dsn);
	relay_end(remote.relay);
	remote = remote_start(authority());
	snprintf(changes, sizeof(changes), "host=::ffff:%s", remote.address);
	test_dsn_with(remote.dsn, changes, dsn, sizeof(dsn));
	assert_not_believed(dsn, 0, "and not for '::ffff:");
	/* Connector/C 3.4 asks for the name, too. */
	if (!asks_for_names())
		assert_believed(dsn);
	relay_end(remote.relay);
	remote = remote_start(stranger());
	assert_not_believed(remote.dsn, ROWLOCK_TLS_UNVERIFIED,
			    "leave out ssl-ca (the dsn)");
	relay_end(remote.relay);
}

CASE("a handshake that stops is left at the deadline")
{
	/* Within the server's part of it, which follows the greeting. */
	static const size_t after[] = { 150, 400, 900 };
	struct rowlock_errinfo error;
	struct rlk_conn *conn = NULL;

	for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++) {
		struct relay *relay = relay_start(RELAY_STRAIGHT, NULL);
		struct rlk_conn_target target = db_target(relay_dsn(relay));
		int64_t since = db_in(0), ms = 300;

		/* On a busy machine it may not come so far in so short a
		 * time. */
		do {
			db_keep_waiting(since, "a handshake to come to the "
					       "place where it stops");
			relay_stop_after(relay, after[i], false);
			error = (struct rowlock_errinfo){ 0 };
			assert_code(rlk_conn_open(&target, &db_lease, db_in(ms),
						  &conn, &error),
				    ROWLOCK_ECONNECT, &error);
			assert_says(error.message, "no answer in time");
			ms *= 2;
		} while (!relay_stopped(relay));
		relay_end(relay);
	}
}

static void count_rows(const struct rlk_value *columns, void *arg)
{
	assert_int_equal(columns[0].u64, *(uint64_t *) arg);
	++*(uint64_t *) arg;
}

/* A record holds many packets: once it is decrypted the socket is silent, and
 * only the library knows that there is more. */
CASE("rows in the buffer are not waited for")
{
	static const struct rlk_stmt_def many = {
		"many",
		"SELECT CAST(seq AS UNSIGNED) FROM seq_0_to_49999",
	};
	DB_CONN(conn, db_open(db_root_dsn(), &db_lease));
	uint64_t count = 0;

	rlk_conn_set_until(conn, db_in(test_patience_ms()));
	assert_done(rlk_stmt_each(conn, &many, NULL, count_rows, &count, &err));
	assert_int_equal(count, 50000);
	assert_true(rlk_conn_alive(conn));
}

/* Session tickets, a statement's last bytes: nothing may stay in the socket, as
 * what is readable there is taken for the server's farewell. */
CASE("an idle connection is alive until it is killed")
{
	DB_CONN(conn, db_open(NULL, &db_lease));
	DB_CONN(other, db_open(NULL, &db_lease));
	int64_t since;
	char sql[64];

	assert_true(rlk_conn_alive(conn));
	assert_done(rlk_conn_ping(conn, &err));
	assert_true(rlk_conn_alive(conn));
	snprintf(sql, sizeof(sql), "KILL %llu",
		 (unsigned long long) rlk_conn_id(conn));
	db_exec(other, sql);
	since = db_in(0);
	while (rlk_conn_alive(conn))
		db_keep_waiting(since, "the killed connection's end");
	assert_int_equal(rlk_conn_ping(conn, &err), RLK_UNKNOWN);
}

/* Its actions are the application's, and Connector/C would change one. */
CASE("the process keeps its SIGPIPE")
{
	struct sigaction action;

	rlk_conn_close(db_open(NULL, &db_lease));
	assert_int_equal(sigaction(SIGPIPE, NULL, &action), 0);
	assert_ptr_equal(action.sa_handler, SIG_DFL);
}

/* A write to a peer that is gone would end the process. */
CASE("a thread gets no SIGPIPE")
{
	struct relay *relay = relay_start(RELAY_STRAIGHT, NULL);
	struct rlk_conn *conn = db_open(relay_dsn(relay), &db_lease);
	sigset_t pending;

	relay_end(relay);
	for (int i = 0; i < 3; i++) {
		rlk_conn_set_until(conn, db_in(5000));
		assert_int_not_equal(rlk_stmt_text(conn, "DO 1", &err),
				     RLK_DONE);
	}
	rlk_conn_close(conn);
	assert_int_equal(sigpending(&pending), 0);
	assert_false(sigismember(&pending, SIGPIPE));
}

/* More than all buffers on the way hold, to a peer that reads nothing. */
CASE("a statement that nobody reads is left")
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	DB_CONN(conn, db_open(relay_dsn(relay), &db_lease));
	const size_t size = 15 << 20;
	char *sql = malloc(size + 1);

	assert_non_null(sql);
	memset(sql, ' ', size);
	memcpy(sql, "DO 1", 4);
	sql[size] = '\0';
	relay_set_mode(relay, RELAY_SILENT);
	rlk_conn_set_until(conn, db_in((int64_t) (500 * test_load())));
	assert_int_equal(rlk_stmt_text(conn, sql, &err), RLK_PENDING);
	assert_true(conn->io.waits_for & MYSQL_WAIT_WRITE);
	free(sql);
}

/* OpenSSL's queue of errors is the thread's, and is looked at after each call:
 * what stays in it ends whoever comes next. */
static unsigned long next_error(void)
{
	unsigned long (*peek)(void);
	void *symbol = dlsym(RTLD_DEFAULT, "ERR_peek_error");

	if (!symbol)
		return 0; /* Connector/C has another library */
	memcpy(&peek, &symbol, sizeof(symbol));
	return peek();
}

CASE("the failure of one connection is not the next one's")
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	DB_CONN(good, db_open(NULL, &db_lease));
	struct rlk_conn *cut = db_open(relay_dsn(relay), &db_lease);

	relay_stop_after(relay, 3, true); /* in the middle of a record */
	assert_int_equal(rlk_conn_ping(cut, &err), RLK_UNKNOWN);
	assert_int_equal(next_error(), 0);
	assert_int_equal(db_number(good, "SELECT SLEEP(0.05) + 7"), 7);
	rlk_conn_close(cut);
	assert_int_equal(next_error(), 0);
	db_exec(good, "DO 1");
	db_refused(db_dsn_with(stranger() + 1), 0, &err);
	assert_int_equal(next_error(), 0);
	db_exec(good, "DO 1");
}

/* A client that asks for it by TLS 1.2 may not be made to shake hands again. */
CASE("hands are shaken once")
{
	void *get_options = dlsym(RTLD_DEFAULT, "SSL_get_options");
	DB_CONN(conn, db_open(NULL, &db_lease));
	uint64_t (*options)(const void *ssl);
	void *ssl = rlk_tls_session(conn);

	if (!get_options)
		skip(); /* Connector/C has another library */
	memcpy(&options, &get_options, sizeof(get_options));
	assert_non_null(ssl);
	assert_int_not_equal(options(ssl) & NO_RENEGOTIATION, 0);
}

/* Tickets are no data: OpenSSL reads on behind each. */
CASE_NEEDS("tickets do not pass the deadline", need_tls_relay)
{
	enum { TICKETS = 40000 };
	static const struct rlk_stmt_def one = { "one", "SELECT 1", true };
	struct tls_relay *relay = tls_relay_start();
	struct rlk_conn *conn = db_open(tls_relay_dsn(relay), &db_lease);
	struct rlk_reply reply;
	int64_t since = db_in(0);
	enum rlk_fault fault;

	tls_relay_tickets(relay, TICKETS);
	rlk_conn_set_until(conn, since);
	fault = rlk_stmt_run(conn, &one, NULL, &reply, &err);
	while (fault == RLK_PENDING) {
		db_keep_waiting(since, "the tickets' end");
		fault = rlk_stmt_resume(conn, &reply, &err);
	}
	assert_int_equal(fault, RLK_UNKNOWN);
	assert_says(err.message, "has no end");
	rlk_conn_close(conn);
	tls_relay_end(relay);
}

/* ------------------------------------------------- records of one byte */

/* A report of progress, which Connector/C takes note of and reads on. */
static const char progress[] = "\x0c\0\0\0\xff\xff\xff\x01\x01\x01\0\0\0\0\0";

/* Records that lie there when the deadline has come. */
#define ENOUGH 4000u

/* Of these so many are read. A read takes some 20 us. */
#define LATE_READS 2000u

static size_t in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

CASE_NEEDS("bytes in records do not pass the deadline", need_tls_relay)
{
	static const struct rlk_stmt_def one = { "one", "SELECT 1", true };
	struct tls_relay *relay = tls_relay_start();
	struct rlk_conn *conn = db_open(tls_relay_dsn(relay), &db_lease);
	struct rlk_reply reply;
	size_t before = in_use();
	int64_t since = db_in(0);
	enum rlk_fault fault;

	tls_relay_flood(relay, progress, sizeof(progress));
	rlk_conn_set_until(conn, since);
	fault = rlk_stmt_run(conn, &one, NULL, &reply, &err);
	/* Unless it has come before the first look. */
	while (fault == RLK_PENDING) {
		while (tls_relay_records(relay) < conn->io.heard + ENOUGH)
			db_keep_waiting(since, "records");
		fault = rlk_stmt_resume(conn, &reply, &err);
	}
	assert_int_equal(fault, RLK_UNKNOWN);
	assert_says(err.message, "has no end");
	assert_null(strstr(err.message, "1 MiB"));
	/* Each brought one byte. */
	assert_in_range(conn->io.heard, 1, LATE_READS);
	assert_in_range(in_use(), 0, before + 8u * 1024 * 1024);
	rlk_conn_close(conn);
	tls_relay_end(relay);
}

static void fill(const void *rows, size_t row, struct rlk_value *values)
{
	(void) rows;
	(void) row;
	values[0] = rlk_text("db-test no such");
}

/* An honest answer to many statements comes in a small record for each. */
CASE_NEEDS("answers that are there are taken late", need_tls_relay)
{
	static const struct rlk_conn_profile packets = { "lease", true, 1,
							 30,      true, false };
	static const struct rlk_many_def change = {
		"change",
		"UPDATE business_lease SET info = info WHERE name IN "
		"({?0|, })",
	};
	struct tls_relay *relay = tls_relay_start();
	struct rlk_conn *conn = db_open(tls_relay_dsn(relay), &packets);
	size_t records = tls_relay_records(relay);
	struct rlk_packet *packet = rlk_packet_begin(conn);
	int64_t since = db_in(0);
	enum rlk_fault fault;

	for (int i = 0; i < RLK_PACKET_STATEMENTS; i++)
		assert_int_equal(rlk_packet_add(packet, &change, fill, NULL, 1),
				 i);
	rlk_conn_set_until(conn, since);
	fault = rlk_packet_run(packet, &err);
	while (tls_relay_records(relay) < records + RLK_PACKET_STATEMENTS)
		db_keep_waiting(since, "all of the answers");
	while (fault == RLK_PENDING) {
		db_keep_waiting(since, "the last of the answers");
		fault = rlk_packet_resume(packet, &err);
	}
	assert_done(fault);
	assert_int_equal(rlk_packet_answered(packet), RLK_PACKET_STATEMENTS);
	rlk_conn_close(conn);
	tls_relay_end(relay);
}

CASE_MAIN(db_main_tls)
