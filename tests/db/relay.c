/* SPDX-License-Identifier: MIT */
/*
 * A peer between client and server: one thread, poll(), one client at a time
 * or several. It passes bytes on, drips them, changes them, or says nothing.
 */
#include "db_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/thread.h"

#define PAIRS 16
#define DRIP_MS 50

struct pair {
	int client;
	int server;
};

struct relay {
	struct rlk_thread thread;
	int listener;
	int stop;
	_Atomic int mode;
	_Atomic size_t heard;
	_Atomic size_t said;
	_Atomic size_t left; /* bytes of the server's that still pass */
	_Atomic bool cut;
	const char *_Atomic flood; /* NULL: none */
	size_t flood_size;
	const char *from[2]; /* of the client's, of the server's */
	const char *to[2];
	char dsn[512];
	struct pair pairs[PAIRS];
	size_t count;
};

/* The value of @key in the connection string, "" without. */
static void dsn_value(const char *key, char *buffer, size_t size)
{
	const char *at = db_dsn();
	size_t length = strlen(key);

	*buffer = '\0';
	while (at) {
		if (strncmp(at, key, length) == 0 && at[length] == '=')
			snprintf(buffer, size, "%.*s",
				 (int) strcspn(at + length + 1, ";"),
				 at + length + 1);
		at = strchr(at, ';');
		at = at ? at + 1 : NULL;
	}
}

static int connect_up(void)
{
	struct sockaddr_un file = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET };
	char host[64];
	char port[16];
	int fd;

	dsn_value("socket", file.sun_path, sizeof(file.sun_path));
	dsn_value("host", host, sizeof(host));
	dsn_value("port", port, sizeof(port));
	if (*file.sun_path && (!*host || strcmp(host, "localhost") == 0)) {
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(fd, (struct sockaddr *) &file, sizeof(file)))
			abort();
		return fd;
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	in.sin_port = htons((uint16_t) atoi(*port ? port : "3306"));
	inet_pton(AF_INET, *host ? host : "127.0.0.1", &in.sin_addr);
	if (connect(fd, (struct sockaddr *) &in, sizeof(in)))
		abort();
	return fd;
}

static void take_client(struct relay *relay)
{
	struct pair *pair = &relay->pairs[relay->count];

	pair->client = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
	if (pair->client < 0 || relay->count == PAIRS)
		abort();
	pair->server = connect_up();
	relay->count++;
}

static void drop(struct relay *relay, size_t i)
{
	close(relay->pairs[i].client);
	close(relay->pairs[i].server);
	relay->pairs[i] = relay->pairs[--relay->count];
}

static void replace(char *bytes, size_t size, const char *from, const char *to)
{
	char *at = bytes;

	while (from && (at = memmem(at, size - (size_t) (at - bytes), from,
				    strlen(from))))
		memcpy(at, to, strlen(from));
}

/* Pass on what is there; false: one end is gone. */
static bool pass(struct relay *relay, const struct pair *pair, bool reply,
		 size_t most)
{
	char buffer[4096];
	ssize_t got =
	    recv(reply ? pair->server : pair->client, buffer, most, 0);

	if (got <= 0)
		return false;
	replace(buffer, (size_t) got, relay->from[reply], relay->to[reply]);
	*(reply ? &relay->said : &relay->heard) += (size_t) got;
	if (reply && relay->left != SIZE_MAX)
		relay->left -= (size_t) got;
	return send(reply ? pair->client : pair->server, buffer, (size_t) got,
		    MSG_NOSIGNAL) == got;
}

/* In place of an answer, until the client has enough of it. */
static bool flood(struct relay *relay, const struct pair *pair)
{
	char request[4096];
	char bytes[16384];
	size_t size = 0;

	if (recv(pair->client, request, sizeof(request), 0) <= 0)
		return false;
	while (size + relay->flood_size <= sizeof(bytes)) {
		memcpy(bytes + size, relay->flood, relay->flood_size);
		size += relay->flood_size;
	}
	for (size_t at = 0;;) {
		/* A stream that its reader has ended may merely be full. */
		struct pollfd fds[] = { { pair->client, POLLOUT, 0 },
					{ relay->stop, POLLIN, 0 } };
		ssize_t sent;

		poll(fds, 2, -1);
		if (fds[1].revents)
			return false;
		sent = send(pair->client, bytes + at, size - at,
			    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent <= 0)
			return false;
		at = (at + (size_t) sent) % size;
		relay->said += (size_t) sent;
	}
}

/* The server's turn. */
static bool pass_reply(struct relay *relay, const struct pair *pair)
{
	size_t most = relay->left < 4096 ? relay->left : 4096;

	if (relay->mode == RELAY_DRIP)
		poll(NULL, 0, (int) (DRIP_MS * test_load()));
	if (relay->mode == RELAY_DRIP || relay->mode == RELAY_BYTES)
		most = most ? 1 : 0;
	if (most)
		return pass(relay, pair, true, most);
	/* Read by nobody; the next look is due in a moment. */
	poll(NULL, 0, 1);
	return !relay->cut;
}

static bool serve(struct relay *relay, const struct pair *pair,
		  const struct pollfd *fds)
{
	if (relay->mode == RELAY_SILENT) {
		struct pollfd gone = { .fd = pair->client };

		poll(&gone, 1, 1);
		return !(gone.revents & (POLLHUP | POLLERR));
	}
	if (fds[0].revents && relay->flood)
		return flood(relay, pair);
	if (fds[0].revents && !pass(relay, pair, false, 4096))
		return false;
	return !fds[1].revents || pass_reply(relay, pair);
}

static void run(void *arg)
{
	struct relay *relay = arg;
	struct pollfd fds[2 + 2 * PAIRS];

	for (;;) {
		size_t count = relay->count;

		fds[0] = (struct pollfd){ relay->stop, POLLIN, 0 };
		fds[1] = (struct pollfd){ relay->listener, POLLIN, 0 };
		for (size_t i = 0; i < count; i++) {
			fds[2 + 2 * i] =
			    (struct pollfd){ relay->pairs[i].client, POLLIN,
					     0 };
			fds[3 + 2 * i] =
			    (struct pollfd){ relay->pairs[i].server, POLLIN,
					     0 };
		}
		poll(fds, 2 + 2 * count, relay->mode == RELAY_SILENT ? 10 : -1);
		if (fds[0].revents)
			return;
		for (size_t i = count; i-- > 0;) {
			if (!serve(relay, &relay->pairs[i], &fds[2 + 2 * i]))
				drop(relay, i);
		}
		if (fds[1].revents)
			take_client(relay);
	}
}

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un file;
};

/* A path, an address of IPv6 or one of IPv4. */
static socklen_t parse(const char *text, union address *ret_address)
{
	memset(ret_address, 0, sizeof(*ret_address));
	if (*text == '/') {
		ret_address->file.sun_family = AF_UNIX;
		snprintf(ret_address->file.sun_path,
			 sizeof(ret_address->file.sun_path), "%s", text);
		return sizeof(ret_address->file);
	}
	if (strchr(text, ':')) {
		ret_address->in6.sin6_family = AF_INET6;
		inet_pton(AF_INET6, text, &ret_address->in6.sin6_addr);
		return sizeof(ret_address->in6);
	}
	ret_address->in.sin_family = AF_INET;
	inet_pton(AF_INET, text, &ret_address->in.sin_addr);
	return sizeof(ret_address->in);
}

static void write_dsn(struct relay *relay, const char *address)
{
	union address bound;
	socklen_t length = sizeof(bound);
	char changes[200];
	char plain[500];

	getsockname(relay->listener, &bound.any, &length);
	if (*address == '/')
		snprintf(changes, sizeof(changes), "host=localhost;socket=%s",
			 address);
	else
		/* The port is in the same place of both. */
		snprintf(changes, sizeof(changes), "host=%s;port=%u", address,
			 ntohs(bound.in.sin_port));
	test_dsn_without(db_dsn(), "port", plain, sizeof(plain));
	test_dsn_with(plain, changes, relay->dsn, sizeof(relay->dsn));
}

struct relay *relay_start(enum relay_mode mode, const char *address)
{
	struct relay *relay = calloc(1, sizeof(*relay));
	union address at;
	socklen_t length;

	assert_non_null(relay);
	if (!address)
		address = "127.0.0.1";
	length = parse(address, &at);
	relay->mode = mode;
	relay->left = SIZE_MAX;
	relay->listener =
	    socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(relay->listener, &at.any, length)) {
		close(relay->listener);
		free(relay);
		return NULL;
	}
	relay->stop = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(listen(relay->listener, 16), 0);
	write_dsn(relay, address);
	assert_int_equal(rlk_thread_start(&relay->thread, "relay", run, relay),
			 0);
	return relay;
}

void relay_end(struct relay *relay)
{
	eventfd_write(relay->stop, 1);
	rlk_thread_join(&relay->thread);
	while (relay->count)
		drop(relay, 0);
	close(relay->listener);
	close(relay->stop);
	free(relay);
}

void relay_set_mode(struct relay *relay, enum relay_mode mode)
{
	relay->mode = mode;
}

void relay_stop_after(struct relay *relay, size_t bytes, bool cut)
{
	relay->cut = cut;
	relay->left = bytes;
}

bool relay_stopped(const struct relay *relay)
{
	return relay->left == 0;
}

void relay_replace(struct relay *relay, const char *from, const char *to,
		   bool reply)
{
	assert_int_equal(strlen(from), strlen(to));
	relay->to[reply] = to;
	relay->from[reply] = from;
}

void relay_flood(struct relay *relay, const char *bytes, size_t size)
{
	relay->said = 0;
	relay->flood_size = size;
	relay->flood = bytes;
}

const char *relay_dsn(const struct relay *relay)
{
	return relay->dsn;
}

size_t relay_heard(const struct relay *relay)
{
	return relay->heard;
}

size_t relay_said(const struct relay *relay)
{
	return relay->said;
}
