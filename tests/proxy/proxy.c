// SPDX-License-Identifier: MIT
/*
 * The proxy's thread, and how others talk to it.
 *
 * One loop: wait for sockets and for what is due, read whole messages, let the
 * rules decide, send. It never blocks on a peer.
 */
#include "private.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { MAX_LINKS = 1000, FDS = 4 + 2 * MAX_LINKS };

/* --------------------------------------------------------------- serving */

static void serve_side(struct proxy *proxy, struct link *link, enum side side)
{
	struct buffer *in = &link->in[side];
	struct message message;
	size_t before = in->size;

	if (!link_read(link, side))
		return;
	if (side == REQUEST)
		proxy->counts.heard += in->size - before;
	/* A rule may have ended it meanwhile. */
	while (link->fd[side] >= 0 && !link_ignores(link, side) &&
	       in->size > 0 &&
	       wire_next(&link->wire, side, in->bytes, in->size, &message)) {
		size_t size = message.size;

		act_on_message(proxy, link, &message);
		wire_message_fini(&message);
		link_consume(link, side, size);
	}
}

static void serve_links(struct proxy *proxy, const struct pollfd *fds)
{
	for (struct link *link = proxy->links; link; link = link->next) {
		for (int side = 0; side < SIDES; side++) {
			const struct pollfd *at = fds++;

			if (link->fd[side] >= 0 && at->fd == link->fd[side] &&
			    at->revents & (POLLIN | POLLHUP | POLLERR))
				serve_side(proxy, link, (enum side) side);
		}
		for (int side = 0; side < SIDES; side++)
			link_write(link, (enum side) side);
	}
}

static void bury(struct proxy *proxy)
{
	struct link **at = &proxy->links;

	while (*at) {
		struct link *link = *at;

		if (!link_over(link)) {
			at = &link->next;
			continue;
		}
		*at = link->next;
		link_free(link);
		proxy->counts.links--;
	}
}

static void accept_all(struct proxy *proxy)
{
	int fd;

	while (proxy->listener >= 0 && proxy->counts.links < MAX_LINKS &&
	       (fd = accept4(proxy->listener, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		act_on_connect(proxy, fd);
}

/* What to wait for; returns how many, and for how long in *@ret_ms. */
static nfds_t prepare(struct proxy *proxy, struct pollfd *fds, int *ret_ms)
{
	int64_t next = LINK_NEVER;
	nfds_t count = 4;

	fds[0] = (struct pollfd){ .fd = proxy->wake, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = proxy->control, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = proxy->talker, .events = POLLIN };
	fds[3] = (struct pollfd){ .fd = proxy->frozen ? -1 : proxy->listener,
				  .events = POLLIN };
	for (struct link *link = proxy->links; link && !proxy->frozen;
	     link = link->next) {
		int64_t due = link_due(link);

		for (int side = 0; side < SIDES; side++) {
			enum side from = side == REQUEST ? REPLY : REQUEST;
			bool full = link_blocked(link, from);

			fds[count++] = (struct pollfd){
				.fd = link->fd[side],
				.events =
				    (short) (full ? POLLIN | POLLOUT : POLLIN),
			};
		}
		/* What is due already waits for its socket. */
		if (due > link_now() && due < next)
			next = due;
	}
	*ret_ms = -1;
	if (next != LINK_NEVER)
		*ret_ms = (int) (next - link_now() > 0 ? next - link_now() : 0);
	return count;
}

static void round_of(struct proxy *proxy, struct pollfd *fds)
{
	bool frozen = proxy->frozen;
	uint64_t ignored;
	int ms;
	nfds_t count = prepare(proxy, fds, &ms);

	pthread_mutex_unlock(&proxy->mutex);
	poll(fds, count, ms);
	pthread_mutex_lock(&proxy->mutex);
	if (fds[0].revents && read(proxy->wake, &ignored, sizeof(ignored)) < 0)
		return;
	if (fds[1].revents)
		control_accept(proxy);
	else if (fds[2].revents && proxy->talker == fds[2].fd)
		control_hear(proxy);
	/* It may have been frozen, or thawed, while we slept. */
	if (frozen || proxy->frozen)
		return;
	serve_links(proxy, fds + 4);
	accept_all(proxy);
	bury(proxy);
}

static void *run(void *arg)
{
	struct proxy *proxy = arg;
	struct pollfd *fds = calloc(FDS, sizeof(*fds));

	if (!fds)
		abort();
	pthread_mutex_lock(&proxy->mutex);
	while (!proxy->stopping)
		round_of(proxy, fds);
	pthread_mutex_unlock(&proxy->mutex);
	free(fds);
	return NULL;
}

/* --------------------------------------------------------- start and end */

static void destroy(struct proxy *proxy)
{
	while (proxy->links) {
		struct link *link = proxy->links;

		proxy->links = link->next;
		link_free(link);
	}
	free(words_do(proxy, "clear", NULL));
	control_close(proxy);
	record_close(proxy);
	if (proxy->listener >= 0)
		close(proxy->listener);
	if (*proxy->address == '/')
		unlink(proxy->address);
	close(proxy->wake);
	pthread_cond_destroy(&proxy->acted);
	pthread_mutex_destroy(&proxy->mutex);
	free(proxy);
}

static struct proxy *make(void)
{
	struct proxy *proxy = calloc(1, sizeof(*proxy));
	pthread_condattr_t by_monotonic;

	if (!proxy)
		abort();
	pthread_condattr_init(&by_monotonic);
	pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&proxy->acted, &by_monotonic);
	pthread_condattr_destroy(&by_monotonic);
	pthread_mutex_init(&proxy->mutex, NULL);
	proxy->listener = proxy->control = proxy->talker = -1;
	proxy->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return proxy;
}

static const char *build(struct proxy *proxy,
			 const struct proxy_options *options)
{
	const char *listen_at =
	    options->listen ? options->listen : "127.0.0.1:0";

	proxy->random = options->seed;
	if (!address_parse(listen_at, &proxy->at))
		return "no address to listen on; host:port, in numbers, or a "
		       "path";
	if (!act_switch(proxy, options->server, true))
		return "no address of a server; host:port, in numbers, or a "
		       "path";
	if (!record_open(proxy, options->history))
		return "the history cannot be opened";
	if (!control_open(proxy, options->control))
		return "the control socket cannot be opened; it needs an "
		       "absolute path";
	proxy->listener = address_listen(&proxy->at);
	if (proxy->listener < 0)
		return "the address cannot be listened on";
	address_of(proxy->listener, proxy->address, sizeof(proxy->address));
	/* To listen there again after "deaf". */
	address_parse(proxy->address, &proxy->at);
	return NULL;
}

struct proxy *proxy_start(const struct proxy_options *options, char *reason,
			  size_t size)
{
	struct proxy *proxy = make();
	const char *problem = build(proxy, options);
	sigset_t all, before;
	int error;

	if (problem) {
		snprintf(reason, size, "%s (%s)", problem, strerror(errno));
		destroy(proxy);
		return NULL;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&proxy->thread, NULL, run, proxy);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!error)
		return proxy;
	snprintf(reason, size, "no thread (%s)", strerror(error));
	destroy(proxy);
	return NULL;
}

static void wake_up(struct proxy *proxy)
{
	eventfd_write(proxy->wake, 1);
}

void proxy_end(struct proxy *proxy)
{
	if (!proxy)
		return;
	pthread_mutex_lock(&proxy->mutex);
	proxy->stopping = true;
	pthread_mutex_unlock(&proxy->mutex);
	wake_up(proxy);
	pthread_join(proxy->thread, NULL);
	destroy(proxy);
}

/* --------------------------------------------------------------- talking */

const char *proxy_address(const struct proxy *proxy)
{
	return proxy->address;
}

static char *tell_line(struct proxy *proxy, const char *line)
{
	char *answer = NULL;
	char *problem = words_do(proxy, line, &answer);

	free(answer);
	return problem;
}

char *proxy_tell(struct proxy *proxy, const char *words)
{
	char *copy = strdup(words);
	char *problem = NULL;
	char *rest = copy;
	char *line;

	if (!copy)
		abort();
	pthread_mutex_lock(&proxy->mutex);
	while (!problem && (line = strsep(&rest, "\n")))
		problem = tell_line(proxy, line);
	pthread_mutex_unlock(&proxy->mutex);
	wake_up(proxy);
	free(copy);
	return problem;
}

struct proxy_counts proxy_counts(struct proxy *proxy)
{
	struct proxy_counts counts;

	pthread_mutex_lock(&proxy->mutex);
	counts = proxy->counts;
	pthread_mutex_unlock(&proxy->mutex);
	return counts;
}

/* Until @count, one of @proxy's, is @least. */
static bool await(struct proxy *proxy, const unsigned long *count,
		  unsigned long least, int ms)
{
	struct timespec until;
	int error = 0;
	bool came;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000l;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&proxy->mutex);
	while (*count < least && !error)
		error = pthread_cond_timedwait(&proxy->acted, &proxy->mutex,
					       &until);
	came = *count >= least;
	pthread_mutex_unlock(&proxy->mutex);
	return came;
}

bool proxy_await_acts(struct proxy *proxy, unsigned long acts, int ms)
{
	return await(proxy, &proxy->counts.acts, acts, ms);
}

bool proxy_await_harms(struct proxy *proxy, unsigned long harms, int ms)
{
	return await(proxy, &proxy->counts.harms, harms, ms);
}

char *proxy_log(struct proxy *proxy)
{
	char *log = NULL;

	pthread_mutex_lock(&proxy->mutex);
	free(words_do(proxy, "log", &log));
	pthread_mutex_unlock(&proxy->mutex);
	return log;
}
