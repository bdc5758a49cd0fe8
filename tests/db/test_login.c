/* SPDX-License-Identifier: MIT */
/*
 * Peers that have got a server's port and ask for its clients' password: what
 * each of them hears. Each case twice, whole packets and byte by byte.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <mysql.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/thread.h"
#include "db/connect.h"
#include "db_test.h"

#define PASSWORD "s3cret-of-mine"

/* The user that a peer's socket belongs to, if the tests run as root. */
#define STRANGER 65534

/* What is said, one after the other; each after the one before was answered. */
struct line {
	const char *bytes;
	size_t size;
};
#define SAYS(text)                                                             \
	{                                                                      \
		text, sizeof(text) - 1                                         \
	}
#define LINES 4

struct script {
	struct line lines[LINES];
	bool slow;         /* one byte at a time */
	struct line flood; /* behind the last one, without an end */
	bool servers;      /* it runs as the tests do, and not as a stranger */
};

struct peer {
	struct rlk_thread thread;
	struct script script;
	int listener;
	bool tcp;
	struct sockaddr_un file;
	char dsn[200];
	char heard[8192];
	size_t length;
	unsigned int packets;
	_Atomic size_t flooded; /* bytes */
};

/* ---------------------------------------------------------------- packets */

/* Of protocol 41, without TLS, with a scramble of 21 bytes, the last of them 0.
 */
#define GREETING(size, low, high, plugin)                                      \
	size "\0\0\0\x0a"                                                      \
	     "8.0.36\0\x07\0\0\0"                                              \
	     "01234567\0" low "\x2d\2\0" high "\x15\0\0\0\0\0\0\0\0\0\0"       \
	     "89012345678a\0" plugin "\0"
#define NATIVE GREETING("\x4a", "\xff\xf7", "\xff\x81", "mysql_native_password")
#define CACHING                                                                \
	GREETING("\x4a", "\xff\xf7", "\xff\x81", "caching_sha2_password")
#define CLEAR GREETING("\x49", "\xff\xf7", "\xff\x81", "mysql_clear_password")

#define WITH_TLS                                                               \
	GREETING("\x4a", "\xff\xff", "\xff\x81", "mysql_native_password")

#define OK "\7\0\0\2\0\0\0\2\0\0\0"

/* -------------------------------------------------------------------- peer */

static void say(const struct peer *peer, int fd, const struct line *line)
{
	const char *bytes = line->bytes;
	size_t left = line->size;

	while (left) {
		size_t part = peer->script.slow ? 1 : left;
		ssize_t sent = send(fd, bytes, part, MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		bytes += sent;
		left -= (size_t) sent;
		if (peer->script.slow)
			poll(NULL, 0, 1);
	}
}

/* A packet of the client's, or the end. */
static bool hear(struct peer *peer, int fd)
{
	size_t begin = peer->length;

	for (;;) {
		const unsigned char *packet =
		    (const unsigned char *) peer->heard + begin;
		size_t had = peer->length - begin;
		ssize_t count;

		if (had >= 4 &&
		    had >= 4 + (size_t) packet[0] + ((size_t) packet[1] << 8)) {
			peer->packets++;
			return true;
		}
		count = recv(fd, peer->heard + peer->length,
			     sizeof(peer->heard) - peer->length, 0);
		if (count <= 0)
			return false;
		peer->length += (size_t) count;
	}
}

/* Until who has it gone, or the case is over: what has been let go may leave us
 * behind with no window to send into, and nobody to say so for minutes. */
static void flood(struct peer *peer, int fd)
{
	const struct line *line = &peer->script.flood;
	struct pollfd either[] = { { fd, POLLOUT, 0 },
				   { peer->listener, POLLIN, 0 } };
	char bytes[4096];
	size_t size = 0, at = 0;

	if (!line->bytes)
		return;
	for (; size + line->size <= sizeof(bytes); size += line->size)
		memcpy(bytes + size, line->bytes, line->size);
	while (poll(either, 2, -1) > 0 && !either[1].revents) {
		ssize_t sent = send(fd, bytes + at, size - at,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno != EAGAIN)
			return;
		if (sent < 0)
			continue;
		peer->flooded += (size_t) sent;
		at = (at + (size_t) sent) % size;
	}
}

static void talk(struct peer *peer, int fd)
{
	for (int i = 0; i < LINES && peer->script.lines[i].bytes; i++) {
		say(peer, fd, &peer->script.lines[i]);
		if (!hear(peer, fd))
			return;
	}
	flood(peer, fd);
}

static void serve(void *arg)
{
	struct peer *peer = arg;
	int fd;

	if (!peer->script.servers)
		setfsuid(STRANGER);
	fd = accept4(peer->listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	talk(peer, fd);
	close(fd);
}

static void listen_on(struct peer *peer, struct sockaddr *at, socklen_t size)
{
	peer->listener = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(peer->listener, at, size), 0);
	assert_int_equal(listen(peer->listener, 8), 0);
	assert_int_equal(rlk_thread_start(&peer->thread, "peer", serve, peer),
			 0);
}

static void start(struct peer *peer, const char *host)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t length = sizeof(at);

	peer->tcp = true;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listen_on(peer, (struct sockaddr *) &at, sizeof(at));
	getsockname(peer->listener, (struct sockaddr *) &at, &length);
	snprintf(peer->dsn, sizeof(peer->dsn),
		 "host=%s;port=%u;user=u;password=" PASSWORD ";database=d",
		 host, ntohs(at.sin_port));
}

static void start_file(struct peer *peer)
{
	peer->file.sun_family = AF_UNIX;
	snprintf(peer->file.sun_path, sizeof(peer->file.sun_path),
		 "/tmp/rowlock-login-%d", (int) getpid());
	unlink(peer->file.sun_path);
	listen_on(peer, (struct sockaddr *) &peer->file, sizeof(peer->file));
	snprintf(peer->dsn, sizeof(peer->dsn),
		 "socket=%s;user=u;password=" PASSWORD ";database=d",
		 peer->file.sun_path);
}

static void stop(struct peer *peer)
{
	shutdown(peer->listener, SHUT_RDWR);
	rlk_thread_join(&peer->thread);
	close(peer->listener);
	if (!peer->tcp)
		unlink(peer->file.sun_path);
}

static bool heard(const struct peer *peer, const char *text)
{
	return memmem(peer->heard, peer->length, text, strlen(text)) != NULL;
}

/* Login at @peer with @more in the connection string: the code. */
static int log_in(struct peer *peer, const char *more, const char *plugins,
		  struct rowlock_errinfo *ret_error)
{
	struct rlk_conn_target target;
	struct rlk_conn *conn = NULL;
	char dsn[600];
	int code;

	test_dsn_with(peer->dsn, more, dsn, sizeof(dsn));
	target = db_target(dsn);
	target.unverified_auth = (char *) (uintptr_t) plugins;
	code = rlk_conn_open(&target, &db_lease, db_in(test_patience_ms()),
			     &conn, ret_error);
	assert_null(conn);
	return code;
}

/* The same at @host, over TCP, from its start to its end. */
static void log_in_at(struct peer *peer, const char *host, const char *more,
		      const char *plugins, int code,
		      struct rowlock_errinfo *ret_error)
{
	start(peer, host);
	assert_int_equal(log_in(peer, more, plugins, ret_error), code);
	stop(peer);
}

/* -------------------------------------------------------------- the password
 */

struct refusal {
	struct script script;
	const char *plugin;
	unsigned int packets; /* that are heard; none has the password */
};

static void assert_refused(const struct refusal *refusal, const char *more)
{
	struct peer peer = { .script = refusal->script };
	struct rowlock_errinfo error;

	log_in_at(&peer, "127.0.0.1", more, NULL, ROWLOCK_EAUTH, &error);
	assert_says(error.message, "nothing proves who it is");
	assert_says(error.message, refusal->plugin);
	assert_says(error.message, "127.0.0.1");
	assert_int_equal(peer.packets, refusal->packets);
	assert_false(heard(&peer, PASSWORD));
}

static void assert_refused_both(const struct refusal *refusal, const char *more)
{
	struct refusal slow = *refusal;

	assert_refused(refusal, more);
	slow.script.slow = true;
	assert_refused(&slow, more);
}

CASE("who asks for the password does not get it")
{
	static const struct refusal refusals[] = {
		{ { { SAYS(CLEAR) }, false }, "mysql_clear_password", 0 },
		{ { { SAYS(NATIVE),
		      SAYS("\x16\0\0\2\xfemysql_clear_password\0") },
		    false },
		  "mysql_clear_password",
		  1 },
		{ { { SAYS(NATIVE), SAYS("\x12\0\0\2\xfe"
					 "dialog\0\4Password:") },
		    false },
		  "dialog",
		  1 },
		{ { { SAYS(NATIVE), SAYS("\x26\0\0\2\xfesha256_password\0"
					 "01234567890123456789\0") },
		    false },
		  "sha256_password",
		  1 },
		{ { { SAYS(NATIVE), SAYS("\1\0\0\2\xfe") }, false },
		  "mysql_old_password",
		  1 },
		{ { { SAYS(NATIVE), SAYS("\x0a\0\0\2\xfewhatever\0") }, false },
		  "whatever",
		  1 },
		/* By way of one that is harmless. */
		{ { { SAYS(CACHING),
		      SAYS("\x2c\0\0\2\xfemysql_native_password\0"
			   "01234567890123456789\0"),
		      SAYS("\x16\0\0\4\xfemysql_clear_password\0") },
		    false },
		  "mysql_clear_password",
		  2 },
	};

	for (size_t i = 0; i < RLK_ARRAY_SIZE(refusals); i++)
		assert_refused_both(&refusals[i], "");
}

/* All that the plugin takes for the wish to have it. */
CASE("a hash that is not enough is all that is told")
{
	static const struct line answers[] = {
		SAYS("\2\0\0\2\1\4"),
		SAYS("\1\0\0\2\4"),
		SAYS("\2\0\0\2\1\5"),
		SAYS("\3\0\0\2\1\3\3"),
		SAYS(OK),
		SAYS("\x1a\0\0\2-----BEGIN PUBLIC KEY-----"),
	};

	for (size_t i = 0; i < RLK_ARRAY_SIZE(answers); i++) {
		const struct refusal refusal = {
			{ { SAYS(CACHING), answers[i] }, false },
			"caching_sha2_password",
			1
		};

		assert_refused_both(&refusal, "");
	}
}

/* Connector/C takes it where nothing else names one. */
CASE("a password of the environment is not told")
{
	struct peer peer = { .script = { { SAYS(CACHING), SAYS("\2\0\0\2\1\4"),
					   SAYS("\1\0\0\4\1") },
					 false } };

	start(&peer, "127.0.0.1");
	*strstr(peer.dsn, ";password=") = '\0';
	setenv("MYSQL_PWD", PASSWORD, 1);
	assert_code(log_in(&peer, "", NULL, &err), ROWLOCK_EAUTH, &err);
	unsetenv("MYSQL_PWD");
	stop(&peer);
	/* The hash; and no wish for a key, by which it would be told. */
	assert_int_equal(peer.packets, 1);
	assert_false(heard(&peer, "s3cret"));
}

CASE("an option that names a plugin does not allow it")
{
	static const struct refusal refusal = { { { SAYS(NATIVE) }, false },
						"mysql_clear_password",
						0 };

	assert_refused_both(&refusal, "default-auth=mysql_clear_password");
}

/* ------------------------------------------------------------- who may have it
 */

CASE("a plugin that is allowed is used")
{
	struct peer peer = { .script = { { SAYS(CLEAR), SAYS(OK) }, false } };

	/* The peer says no more then. */
	log_in_at(&peer, "127.0.0.1", "", "parsec,mysql_clear_password",
		  ROWLOCK_ECONNECT, &err);
	assert_true(heard(&peer, PASSWORD));
}

CASE("a plugin is allowed by its whole name")
{
	static const char *const lists[] = {
		"mysql_clear_password_too",
		"my,sql_clear_password",
		"mysql_clear",
		"MYSQL_CLEAR_PASSWORD",
	};

	for (size_t i = 0; i < RLK_ARRAY_SIZE(lists); i++) {
		struct peer peer = { .script = { { SAYS(CLEAR) }, false } };
		struct rowlock_errinfo error;

		log_in_at(&peer, "127.0.0.1", "", lists[i], ROWLOCK_EAUTH,
			  &error);
		assert_int_equal(peer.length, 0);
	}
}

CASE("a socket file is trusted")
{
	struct peer peer = { .script = { { SAYS(CLEAR), SAYS(OK) }, false } };

	start_file(&peer);
	assert_code(log_in(&peer, "", NULL, &err), ROWLOCK_ECONNECT, &err);
	stop(&peer);
	assert_true(heard(&peer, PASSWORD));
}

static bool is_root(void)
{
	return getuid() == 0;
}

static struct db_need need_root = { is_root, "root" };

static void log_in_to_root(const char *host, bool trusted)
{
	struct peer peer = { .script = { { SAYS(CLEAR), SAYS(OK) },
					 .servers = true } };
	struct rowlock_errinfo error;

	log_in_at(&peer, host, "", NULL,
		  trusted ? ROWLOCK_ECONNECT : ROWLOCK_EAUTH, &error);
	assert_int_equal(heard(&peer, PASSWORD), trusted);
}

CASE_NEEDS("a process of root is trusted", need_root)
{
	log_in_to_root("127.0.0.1", true);
	log_in_to_root("::ffff:127.0.0.1", true);
}

CASE_NEEDS("root that asks more than the hash is trusted", need_root)
{
	struct peer peer = { .script = { { SAYS(CACHING), SAYS("\2\0\0\2\1\4"),
					   SAYS(OK) },
					 .servers = true } };

	/* The third packet is a request of the peer's public key. */
	log_in_at(&peer, "127.0.0.1", "", NULL, ROWLOCK_ECONNECT, &err);
	assert_int_equal(peer.packets, 2);
	assert_int_equal(peer.heard[peer.length - 1], 2);
}

CASE("a hash that is enough lets in")
{
	struct peer peer = { .script = { { SAYS(CACHING),
					   SAYS("\2\0\0\2\1\3\7\0\0\3\0\0\0\2\0"
						"\0\0") },
					 false } };

	log_in_at(&peer, "127.0.0.1", "", NULL, ROWLOCK_ECONNECT, &err);
	/* The login, and the first command. */
	assert_int_equal(peer.packets, 2);
	assert_true(heard(&peer, "autocommit"));
	assert_false(heard(&peer, PASSWORD));
}

/* The key that is in a file, and no other. */
CASE("a key that is known hides it")
{
	struct peer peer = { .script = { { SAYS(CACHING), SAYS("\2\0\0\2\1\4"),
					   SAYS("\7\0\0\4\0\0\0\2\0\0\0") },
					 false } };
	char more[300];

	snprintf(more, sizeof(more),
		 "server-public-key=%s/tests/db/login-key.pem",
		 getenv("ROWLOCK_SOURCE"));
	log_in_at(&peer, "127.0.0.1", more, NULL, ROWLOCK_ECONNECT, &err);
	/* Login, 256 bytes that only who has the key can read, command. */
	assert_int_equal(peer.packets, 3);
	assert_false(heard(&peer, PASSWORD));
}

CASE("a key of the peer is not taken")
{
	static const struct refusal refusal = {
		{ { SAYS(CACHING), SAYS("\2\0\0\2\1\4"),
		    SAYS("\x1b\0\0\4\1-----BEGIN PUBLIC KEY-----") },
		  false },
		"caching_sha2_password",
		2
	};

	assert_refused_both(&refusal, "server-public-key=/nowhere/key.pem");
}

/* --------------------------------------------------------------- dialog */

CASE("dialog is told the password and no more")
{
	static const struct line questions[][2] = {
		{ SAYS("\x12\0\0\2\xfe"
		       "dialog\0\4Password:"),
		  SAYS("\5\0\0\4\2PIN:") },
		{ SAYS("\x12\0\0\2\xfe"
		       "dialog\0\4Password:"),
		  SAYS("\6\0\0\4\1\4PIN:") },
		{ SAYS("\x0d\0\0\2\xfe"
		       "dialog\0\2PIN:"),
		  { NULL, 0 } },
	};

	for (size_t i = 0; i < RLK_ARRAY_SIZE(questions); i++) {
		struct peer peer = { .script = { { SAYS(NATIVE),
						   questions[i][0],
						   questions[i][1] },
						 false } };
		struct rowlock_errinfo error;

		start_file(&peer);
		assert_code(log_in(&peer, "", NULL, &error), ROWLOCK_ECONNECT,
			    &error);
		stop(&peer);
		assert_says(error.message, "nobody to answer");
		assert_int_equal(peer.packets, i < 2 ? 2 : 1);
	}
}

/* ------------------------------------------------------------------- TLS */

CASE("TLS that is asked for is had, or nothing")
{
	static const char *const wishes[] = {
		"ssl_enforce=1",
		"ssl_ca=/etc/ssl/certs/ca-certificates.crt",
		"ssl_cipher=AES256-SHA",
		"ssl_fp=00:11:22:33",
	};

	for (size_t i = 0; i < RLK_ARRAY_SIZE(wishes); i++) {
		struct peer peer = { .script = { { SAYS(NATIVE) }, false } };
		struct rowlock_errinfo error;

		log_in_at(&peer, "127.0.0.1", wishes[i], NULL, ROWLOCK_ECONNECT,
			  &error);
		assert_says(error.message, "asked for by ssl-");
		assert_int_equal(peer.length, 0);
	}
}

static bool obeys_the_environment(void)
{
	return mysql_get_client_version() >= 30400;
}
static struct db_need need_connector_34 = { obeys_the_environment,
					    "Connector/C 3.4" };

/* Its first versions would believe any certificate then. */
CASE_NEEDS("a verification that is forbidden is no connection",
	   need_connector_34)
{
	struct peer peer = { .script = { { SAYS(WITH_TLS) }, false } };

	setenv("MARIADB_TLS_DISABLE_PEER_VERIFICATION", "1", 1);
	log_in_at(&peer, "127.0.0.1", "ssl_verify_server_cert=1", NULL,
		  ROWLOCK_ECONNECT, &err);
	unsetenv("MARIADB_TLS_DISABLE_PEER_VERIFICATION");
	assert_says(err.message,
		    "MARIADB_TLS_DISABLE_PEER_VERIFICATION forbids");
	assert_int_equal(peer.length, 0);
}

/* Where the server's part of the handshake should come: records of messages
 * that a client reads and forgets (RFC 5246, 7.4.1.1, HelloRequest). OpenSSL
 * does not come back while there are more of them. */
CASE("a handshake without an end is left")
{
	static const struct script script = {
		{ SAYS(WITH_TLS) },
		false,
		SAYS("\x16\3\3\0\4\0\0\0\0"),
	};
	int64_t since = db_in(0), ms = 100;
	size_t flooded;

	/* On a busy machine it may not come so far in so short a time. */
	do {
		struct peer peer = { .script = script };
		struct rowlock_errinfo error;
		struct rlk_conn_target target;
		struct rlk_conn *conn = NULL;
		char dsn[600];

		db_keep_waiting(since, "a flood");
		start(&peer, "127.0.0.1");
		test_dsn_with(peer.dsn, "ssl_enforce=1", dsn, sizeof(dsn));
		target = db_target(dsn);
		assert_code(
		    rlk_conn_open(&target, &db_lease, db_in(ms), &conn, &error),
		    ROWLOCK_ECONNECT, &error);
		stop(&peer);
		flooded = peer.flooded;
		ms *= 2;
	} while (!flooded);
}

/* A name may be told to lead anywhere. */
CASE("a name that leads here is not local")
{
	struct peer peer = { .script = { { SAYS(NATIVE) }, false } };

	log_in_at(&peer, "127.1", "", NULL, ROWLOCK_ECONNECT, &err);
	assert_int_equal(err.mysql, 2026);
	assert_int_equal(peer.length, 0);
}

CASE("an address that is written out is local")
{
	static const char *const hosts[] = { "127.0.0.1", "127.0.0.1,127.0.0.2",
					     "::ffff:127.0.0.1" };

	for (size_t i = 0; i < RLK_ARRAY_SIZE(hosts); i++) {
		struct peer peer = { .script = { { SAYS(NATIVE) }, false } };
		struct rowlock_errinfo error;

		log_in_at(&peer, hosts[i], "", NULL, ROWLOCK_ECONNECT, &error);
		assert_int_equal(peer.packets, 1);
	}
}

/* ------------------------------------------------------------------ packets */

/* Said before TLS it would be read as if it had come under it; and numbers tell
 * what is a login. */
CASE("what is out of turn ends it")
{
	static const struct {
		struct script script;
		const char *words;
	} cases[] = {
		{ { { SAYS(NATIVE OK) }, false }, "more than a greeting" },
		{ { { SAYS(NATIVE), SAYS("\7\0\0\0\0\0\0\2\0\0\0") }, false },
		  "does not let in" },
		{ { { SAYS(NATIVE), SAYS("\7\0\0\xff\0\0\0\2\0\0\0") }, false },
		  "does not let in" },
		{ { { SAYS(NATIVE), SAYS(OK "\7\0\0\3\0\0\0\2\0\0\0") },
		    false },
		  "does not let in" },
		{ { { SAYS(NATIVE), SAYS("\7\0\0\2\0\xfe\0\2\0\0\0") }, false },
		  "does not let in" },
		{ { { SAYS(NATIVE), SAYS("\7\0\0\2\xfe"
					 "dialog") },
		    false },
		  "does not let in" },
		{ { { SAYS(NATIVE), SAYS("\6\0\0\2\xfe"
					 "a/b\0x") },
		    false },
		  "does not let in" },
		{ { { SAYS(NATIVE), SAYS("\x0c\0\0\2\xff\xff\xff\1\1\1\0\0\0\0"
					 "\0\0") },
		    false },
		  "does not let in" },
	};

	for (size_t i = 0; i < RLK_ARRAY_SIZE(cases); i++) {
		struct peer peer = { .script = cases[i].script };
		struct rowlock_errinfo error;

		log_in_at(&peer, "127.0.0.1", "", NULL, ROWLOCK_ECONNECT,
			  &error);
		assert_says(error.message, cases[i].words);
		assert_false(heard(&peer, PASSWORD));
	}
}

/* Whatever is missing at its end, it is no greeting. */
CASE("a greeting that is cut is none")
{
	static const char greeting[] = NATIVE;

	for (size_t size = 5; size < sizeof(greeting) - 24; size++) {
		char bytes[sizeof(greeting)];
		struct peer peer = { .script = { { { bytes, size } }, false } };
		struct rowlock_errinfo error;

		memcpy(bytes, greeting, size);
		bytes[0] = (char) (size - 4);
		log_in_at(&peer, "127.0.0.1", "", NULL, ROWLOCK_ECONNECT,
			  &error);
		assert_says(error.message, "does not greet");
		assert_int_equal(peer.length, 0);
	}
}

CASE_MAIN(db_main)
