/* SPDX-License-Identifier: MIT */
/*
 * The client is shaken hands with as the server would, the server as a client
 * would, and what is between the two is plain. One thread, one client.
 */
#include "tls_relay.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread.h"

/* OpenSSL's (openssl/ssl.h), which we are not linked with. */
#define FILETYPE_PEM 1
#define CLEAR_MODE 78
#define MODE_AUTO_RETRY 4L
#define ERROR_WANT_READ 2

/* A packet that asks for TLS, with its header. */
#define TLS_REQUEST 36

static struct {
	const void *(*server_method)(void);
	const void *(*client_method)(void);
	void *(*context_new)(const void *method);
	void (*context_free)(void *context);
	int (*use_certificate)(void *context, const char *file, int type);
	int (*use_key)(void *context, const char *file, int type);
	void *(*new)(void *context);
	void (*free)(void *ssl);
	int (*set_fd)(void *ssl, int fd);
	long (*control)(void *ssl, int what, long number, void *rest);
	int (*accept)(void *ssl);
	int (*connect)(void *ssl);
	int (*read)(void *ssl, void *bytes, int size);
	int (*write)(void *ssl, const void *bytes, int size);
	int (*pending)(const void *ssl);
	int (*error)(const void *ssl, int returned);
	int (*new_ticket)(void *ssl);
	int (*shake_hands)(void *ssl);
} tls;

static bool find(const char *name, void *ret_function)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	memcpy(ret_function, &symbol, sizeof(symbol));
	return symbol;
}

static bool find_all(void)
{
	return find("TLS_server_method", &tls.server_method) &&
	       find("TLS_client_method", &tls.client_method) &&
	       find("SSL_CTX_new", &tls.context_new) &&
	       find("SSL_CTX_free", &tls.context_free) &&
	       find("SSL_CTX_use_certificate_file", &tls.use_certificate) &&
	       find("SSL_CTX_use_PrivateKey_file", &tls.use_key) &&
	       find("SSL_new", &tls.new) && find("SSL_free", &tls.free) &&
	       find("SSL_set_fd", &tls.set_fd) &&
	       find("SSL_ctrl", &tls.control) &&
	       find("SSL_accept", &tls.accept) &&
	       find("SSL_connect", &tls.connect) &&
	       find("SSL_read", &tls.read) && find("SSL_write", &tls.write) &&
	       find("SSL_pending", &tls.pending) &&
	       find("SSL_get_error", &tls.error) &&
	       find("SSL_new_session_ticket", &tls.new_ticket) &&
	       find("SSL_do_handshake", &tls.shake_hands);
}

struct db_need need_tls_relay = { find_all, "OpenSSL in Connector/C" };

struct tls_relay {
	struct rlk_thread thread;
	int listener;
	int stop;
	_Atomic size_t records;
	const char *_Atomic flood; /* NULL: none */
	size_t flood_size;
	_Atomic size_t tickets; /* 0: none */
	char dsn[512];

	int client_fd;
	int server_fd;
	void *contexts[2];
	void *client;
	void *server;
};

/* ---------------------------------------------------------------- the thread
 */

static int connect_up(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	const char *port = strstr(db_dsn(), "port=");
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at.sin_port = htons((uint16_t) atoi(port + strlen("port=")));
	if (connect(fd, (struct sockaddr *) &at, sizeof(at)))
		abort();
	return fd;
}

/* Up to @most bytes that are said before TLS. */
static bool pass_plain(int from, int to, size_t most)
{
	char bytes[512];
	ssize_t got = recv(from, bytes, most, 0);

	return got > 0 && send(to, bytes, (size_t) got, MSG_NOSIGNAL) == got;
}

static void *begin_tls(void *context, int fd)
{
	void *ssl = tls.new(context);

	if (!ssl || tls.set_fd(ssl, fd) != 1)
		abort();
	/* A ticket is no data: not to be waited behind. */
	tls.control(ssl, CLEAR_MODE, MODE_AUTO_RETRY, NULL);
	return ssl;
}

/* All that is there; false: it has ended. */
static bool pass(struct tls_relay *relay, bool reply)
{
	void *from = reply ? relay->server : relay->client;
	void *to = reply ? relay->client : relay->server;
	char bytes[16384];

	do {
		int got = tls.read(from, bytes, sizeof(bytes));

		if (got <= 0)
			return tls.error(from, got) == ERROR_WANT_READ;
		if (reply)
			relay->records++;
		if (tls.write(to, bytes, got) != got)
			return false;
	} while (tls.pending(from));
	return true;
}

static bool flood(struct tls_relay *relay)
{
	char request[4096];
	bool on = tls.read(relay->client, request, sizeof(request)) > 0;

	for (size_t at = 0; on; at = (at + 1) % relay->flood_size) {
		struct pollfd fds[] = { { relay->client_fd, POLLOUT, 0 },
					{ relay->stop, POLLIN, 0 } };

		poll(fds, 2, -1);
		on = !fds[1].revents &&
		     tls.write(relay->client, relay->flood + at, 1) == 1;
		relay->records += on;
	}
	return false;
}

static bool send_tickets(struct tls_relay *relay)
{
	char request[4096];
	bool on = tls.read(relay->client, request, sizeof(request)) > 0;

	for (size_t i = 0; on && i < relay->tickets; i++) {
		struct pollfd fds[] = { { relay->client_fd, POLLOUT, 0 },
					{ relay->stop, POLLIN, 0 } };

		poll(fds, 2, -1);
		on = !fds[1].revents && tls.new_ticket(relay->client) == 1 &&
		     tls.shake_hands(relay->client) == 1;
		relay->records += on;
	}
	shutdown(relay->client_fd, SHUT_WR);
	return false;
}

static bool answer(struct tls_relay *relay)
{
	if (relay->flood)
		return flood(relay);
	return relay->tickets ? send_tickets(relay) : pass(relay, false);
}

static void pass_all(struct tls_relay *relay)
{
	bool on = true;

	while (on) {
		struct pollfd fds[] = { { relay->client_fd, POLLIN, 0 },
					{ relay->server_fd, POLLIN, 0 },
					{ relay->stop, POLLIN, 0 } };

		poll(fds, 3, -1);
		if (fds[2].revents)
			return;
		if (fds[0].revents)
			on = answer(relay);
		if (on && fds[1].revents)
			on = pass(relay, true);
	}
}

static void run(void *arg)
{
	struct tls_relay *relay = arg;

	relay->client_fd = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
	if (relay->client_fd < 0)
		return;
	relay->server_fd = connect_up();
	relay->client = begin_tls(relay->contexts[0], relay->client_fd);
	relay->server = begin_tls(relay->contexts[1], relay->server_fd);
	if (pass_plain(relay->server_fd, relay->client_fd, 512) &&
	    pass_plain(relay->client_fd, relay->server_fd, TLS_REQUEST) &&
	    tls.accept(relay->client) == 1 && tls.connect(relay->server) == 1)
		pass_all(relay);
	tls.free(relay->client);
	tls.free(relay->server);
	close(relay->client_fd);
	close(relay->server_fd);
}

/* ------------------------------------------------------------------ the test
 */

/* The files lie beside the authority's. */
static const char *file_of(const char *name)
{
	static char path[2][300];
	static unsigned int used;
	char *text = path[used++ % 2];
	const char *at = strstr(db_dsn(), ";ssl_ca=") + strlen(";ssl_ca=");

	snprintf(text, sizeof(path[0]), "%.*s", (int) strcspn(at, ";"), at);
	snprintf(strrchr(text, '/') + 1, 20, "%s", name);
	return text;
}

static void make_contexts(struct tls_relay *relay)
{
	void *server = tls.context_new(tls.server_method());

	assert_non_null(server);
	assert_int_equal(
	    tls.use_certificate(server, file_of("cert.pem"), FILETYPE_PEM), 1);
	assert_int_equal(tls.use_key(server, file_of("key.pem"), FILETYPE_PEM),
			 1);
	relay->contexts[0] = server;
	relay->contexts[1] = tls.context_new(tls.client_method());
	assert_non_null(relay->contexts[1]);
}

struct tls_relay *tls_relay_start(void)
{
	struct tls_relay *relay = calloc(1, sizeof(*relay));
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t length = sizeof(at);
	char changes[32];

	assert_non_null(relay);
	make_contexts(relay);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	relay->stop = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(
	    bind(relay->listener, (struct sockaddr *) &at, sizeof(at)), 0);
	assert_int_equal(listen(relay->listener, 1), 0);
	getsockname(relay->listener, (struct sockaddr *) &at, &length);
	snprintf(changes, sizeof(changes), "port=%u", ntohs(at.sin_port));
	test_dsn_with(db_dsn(), changes, relay->dsn, sizeof(relay->dsn));
	assert_int_equal(
	    rlk_thread_start(&relay->thread, "tls-relay", run, relay), 0);
	return relay;
}

void tls_relay_end(struct tls_relay *relay)
{
	eventfd_write(relay->stop, 1);
	shutdown(relay->listener, SHUT_RDWR);
	rlk_thread_join(&relay->thread);
	close(relay->listener);
	close(relay->stop);
	for (int i = 0; i < 2; i++)
		tls.context_free(relay->contexts[i]);
	free(relay);
}

const char *tls_relay_dsn(const struct tls_relay *relay)
{
	return relay->dsn;
}

void tls_relay_flood(struct tls_relay *relay, const char *bytes, size_t size)
{
	relay->records = 0;
	relay->flood_size = size;
	relay->flood = bytes;
}

void tls_relay_tickets(struct tls_relay *relay, size_t count)
{
	relay->records = 0;
	relay->tickets = count;
}

size_t tls_relay_records(const struct tls_relay *relay)
{
	return relay->records;
}
