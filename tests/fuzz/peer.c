/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener;
static pthread_t thread;
static sem_t begin, done;
static const struct peer_part *script;
static char heard[65536];
static size_t heard_size;

static bool wait_for_bytes(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 5) > 0;
}

static bool is_command(const unsigned char *bytes, ssize_t count)
{
	return count >= 5 && bytes[3] == 0 &&
	       bytes[0] + ((size_t) bytes[1] << 8) + 4 == (size_t) count;
}

/* False: it has ended, or said what the script has no answer to. A packet that
 * it does not answer is followed by the next. */
static bool hear(int fd, bool logs_in)
{
	unsigned char bytes[16384];
	ssize_t count;

	if (!wait_for_bytes(fd))
		return true;
	count = recv(fd, bytes, sizeof(bytes), 0);
	if (count <= 0)
		return false;
	if (heard_size + (size_t) count <= sizeof(heard)) {
		memcpy(heard + heard_size, bytes, (size_t) count);
		heard_size += (size_t) count;
	}
	return !logs_in || !is_command(bytes, count);
}

/* False: it has ended. */
static bool play(int fd, const struct peer_part *part)
{
	size_t at = 0;

	while (at + 2 <= part->size) {
		const unsigned char *bytes = part->bytes + at;
		size_t size = bytes[0] | (size_t) bytes[1] << 8;

		at += 2;
		if (size > part->size - at)
			size = part->size - at;
		if (size &&
		    send(fd, bytes + 2, size, MSG_NOSIGNAL) != (ssize_t) size)
			return false;
		at += size;
		if (!hear(fd, part->logs_in))
			return false;
	}
	return true;
}

static void *run_peer(void *arg)
{
	(void) arg;
	/* A process of root would be told the password. */
	setfsuid(65534);
	for (;;) {
		int fd;

		sem_wait(&begin);
		if (!script)
			return NULL;
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0) {
			for (int i = 0; script[i].bytes; i++)
				if (!play(fd, &script[i]))
					break;
			close(fd);
		}
		sem_post(&done);
	}
}

unsigned int peer_start(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t length = sizeof(at);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *) &at, sizeof(at)) ||
	    listen(listener, 8) ||
	    getsockname(listener, (struct sockaddr *) &at, &length))
		abort();
	sem_init(&begin, 0, 0);
	sem_init(&done, 0, 0);
	if (pthread_create(&thread, NULL, run_peer, NULL))
		abort();
	return ntohs(at.sin_port);
}

void peer_stop(void)
{
	script = NULL;
	sem_post(&begin);
	pthread_join(thread, NULL);
	close(listener);
	sem_destroy(&begin);
	sem_destroy(&done);
}

void peer_play(const struct peer_part *parts)
{
	script = parts;
	heard_size = 0;
	sem_post(&begin);
}

bool peer_heard(const char *text)
{
	sem_wait(&done);
	return memmem(heard, heard_size, text, strlen(text)) != NULL;
}
