// SPDX-License-Identifier: MIT
/*
 * bench-delay DELAY_US PORT: pass bytes on between clients and 127.0.0.1:PORT,
 * each DELAY_US after it came, in either direction: a network of that length.
 *
 * Prints the port where it listens, and goes on until it is ended. One thread:
 * the delay is the same for all, so what is under way is one queue in the order
 * of arrival, and a timer for its first. The end of a stream waits in the queue
 * like its bytes. A reader that does not read holds all others up: locks send
 * no more than a packet at a time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define CHUNK 65536

struct side {
	struct link *link;
	struct side *other;
	int fd;
};

/* A connection from a client, and ours to the server. */
struct link {
	struct side sides[2];
	unsigned int ends; /* streams whose end was passed on */
};

/* Bytes under way; none of them: the end. */
struct chunk {
	struct chunk *next;
	struct side *to;
	uint64_t due_ns;
	size_t size;
	char bytes[];
};

static int epoll;
static int timer;
static uint64_t delay_ns;
static uint16_t target;
static struct chunk *first;
static struct chunk **last = &first;

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "bench-delay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

static struct sockaddr_in local(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };

	address.sin_port = htons(port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static void watch(int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN };

	event.data.ptr = what;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

static void arm(void)
{
	struct itimerspec when = { 0 };

	if (first) {
		when.it_value.tv_sec = (time_t) (first->due_ns / 1000000000);
		when.it_value.tv_nsec = (long) (first->due_ns % 1000000000);
	}
	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL))
		die("timerfd_settime");
}

static void enqueue(struct side *to, const char *bytes, size_t size)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + size);

	if (!chunk)
		die("malloc");
	chunk->next = NULL;
	chunk->to = to;
	chunk->due_ns = now_ns() + delay_ns;
	chunk->size = size;
	if (size)
		memcpy(chunk->bytes, bytes, size);
	*last = chunk;
	last = &chunk->next;
	if (first == chunk)
		arm();
}

/* A side that is gone takes no more; its own end is on the way to us. */
static void send_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd full = { .fd = fd, .events = POLLOUT };

			poll(&full, 1, -1);
			continue;
		}
		if (n < 0)
			return;
		bytes += n;
		size -= (size_t) n;
	}
}

static void deliver(struct chunk *chunk)
{
	struct link *link = chunk->to->link;

	if (chunk->size) {
		send_all(chunk->to->fd, chunk->bytes, chunk->size);
		return;
	}
	shutdown(chunk->to->fd, SHUT_WR);
	if (++link->ends < 2)
		return;
	close(link->sides[0].fd);
	close(link->sides[1].fd);
	free(link);
}

static void on_timer(void)
{
	uint64_t count;
	uint64_t now = now_ns();

	if (read(timer, &count, sizeof(count)) < 0 && errno != EAGAIN)
		die("read the timer");
	while (first && first->due_ns <= now) {
		struct chunk *chunk = first;

		first = chunk->next;
		if (!first)
			last = &first;
		deliver(chunk);
		free(chunk);
	}
	arm();
}

static void on_bytes(struct side *from)
{
	static char bytes[CHUNK];
	ssize_t n = recv(from->fd, bytes, sizeof(bytes), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		epoll_ctl(epoll, EPOLL_CTL_DEL, from->fd, NULL);
		n = 0;
	}
	enqueue(from->other, bytes, (size_t) n);
}

static int open_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	return fd;
}

static void on_client(int listener)
{
	struct sockaddr_in address = local(target);
	struct link *link = calloc(1, sizeof(*link));
	int on = 1;

	if (!link)
		die("calloc");
	link->sides[0].fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (link->sides[0].fd < 0)
		die("accept");
	link->sides[1].fd = open_socket();
	/* The target is on this machine and listens: this takes no time. */
	if (connect(link->sides[1].fd, (struct sockaddr *) &address,
		    sizeof(address)))
		die("connect");
	for (int i = 0; i < 2; i++) {
		struct side *side = &link->sides[i];

		side->link = link;
		side->other = &link->sides[!i];
		setsockopt(side->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		fcntl(side->fd, F_SETFL, O_NONBLOCK);
		watch(side->fd, side);
	}
}

static int start_listening(void)
{
	struct sockaddr_in address = local(0);
	socklen_t size = sizeof(address);
	int listener = open_socket();

	if (bind(listener, (struct sockaddr *) &address, sizeof(address)) ||
	    listen(listener, 1024) ||
	    getsockname(listener, (struct sockaddr *) &address, &size))
		die("listen");
	printf("%u\n", ntohs(address.sin_port));
	fflush(stdout);
	return listener;
}

static void serve(int listener)
{
	struct epoll_event events[64];
	bool due;
	int n;

	for (;;) {
		n = epoll_wait(epoll, events, 64, -1);
		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		due = false;
		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr == &timer)
				due = true;
			else if (events[i].data.ptr == &target)
				on_client(listener);
			else
				on_bytes(events[i].data.ptr);
		}
		/* Last: it frees links that are among the events. */
		if (due)
			on_timer();
	}
}

int main(int argc, char **argv)
{
	struct rlimit files;
	int listener;

	if (argc != 3) {
		fputs("Usage: bench-delay DELAY_US PORT\n", stderr);
		return 2;
	}
	delay_ns = strtoull(argv[1], NULL, 10) * 1000;
	target = (uint16_t) strtoul(argv[2], NULL, 10);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	epoll = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (epoll < 0 || timer < 0)
		die("epoll, timerfd");
	listener = start_listening();
	watch(timer, &timer);
	watch(listener, &target);
	serve(listener);
}
