// SPDX-License-Identifier: MIT
#include "one_relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int dial(unsigned int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_port = htons((uint16_t) port);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *) &at, sizeof(at)))
		abort();
	return fd;
}

static void send_all(int fd, const char *bytes, ssize_t count)
{
	while (count > 0) {
		ssize_t sent = send(fd, bytes, (size_t) count, MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		bytes += sent;
		count -= sent;
	}
}

/* All that comes from @fd until there is nothing more. */
static void drain(int fd)
{
	char bytes[4096];

	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
}

/* False: it is over. */
static bool pass_question(struct one_relay *relay, int client, int server)
{
	char bytes[16384];
	ssize_t count = recv(client, bytes, sizeof(bytes), 0);

	if (count <= 0)
		return false;
	if (relay->fate == QUESTION_IS_LATE) {
		shutdown(client, SHUT_RDWR);
		sem_wait(&relay->deliver);
		send_all(server, bytes, count);
		shutdown(server, SHUT_WR);
		drain(server);
		sem_post(&relay->delivered);
		return false;
	}
	if (relay->fate == SECOND_IS_LOST && relay->asked++)
		return false;
	send_all(server, bytes, count);
	return true;
}

static bool pass_answer(struct one_relay *relay, int client, int server)
{
	char bytes[16384];
	ssize_t count = recv(server, bytes, sizeof(bytes), 0);

	if (count <= 0 || relay->fate == ANSWER_IS_LOST)
		return false;
	if (relay->fate == PASSES || relay->fate == SECOND_IS_LOST)
		send_all(client, bytes, count);
	return true;
}

static void *run(void *arg)
{
	struct one_relay *relay = arg;
	int client = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
	struct pollfd fds[] = {
		{ .fd = client, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
	};
	bool on = true;
	int server;

	if (client < 0)
		return NULL;
	server = dial(relay->server_port);
	fds[1].fd = server;
	while (on && poll(fds, 2, -1) > 0) {
		if (fds[0].revents)
			on = pass_question(relay, client, server);
		if (on && fds[1].revents)
			on = pass_answer(relay, client, server);
	}
	close(client);
	close(server);
	return NULL;
}

unsigned int one_relay_start(struct one_relay *relay, unsigned int server_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t length = sizeof(at);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	relay->server_port = server_port;
	relay->fate = PASSES;
	relay->asked = 0;
	relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(relay->listener, (struct sockaddr *) &at, sizeof(at)) ||
	    listen(relay->listener, 1) ||
	    getsockname(relay->listener, (struct sockaddr *) &at, &length))
		abort();
	sem_init(&relay->deliver, 0, 0);
	sem_init(&relay->delivered, 0, 0);
	if (pthread_create(&relay->thread, NULL, run, relay))
		abort();
	return ntohs(at.sin_port);
}

void one_relay_end(struct one_relay *relay)
{
	/* One that never came is not waited for. */
	shutdown(relay->listener, SHUT_RDWR);
	sem_post(&relay->deliver);
	pthread_join(relay->thread, NULL);
	close(relay->listener);
	sem_destroy(&relay->deliver);
	sem_destroy(&relay->delivered);
}
