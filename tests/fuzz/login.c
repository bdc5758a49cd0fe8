/* SPDX-License-Identifier: MIT */
/*
 * A server that says whatever it likes until the login is over: a greeting,
 * TLS, switches of plugins, their data. Each call has to come back, tell it no
 * password, and take little memory.
 *
 * An input: one byte for the connection string, then what is said, in turn: its
 * length in two bytes, and the bytes. It ends at the client's first command.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"
#include "db/conn.h"
#include "fuzz.h"

#define PASSWORD "s3cret-of-mine"
#define DEADLINE_MS 2000
/* Of a machine that is busy with other things, too. */
#define LATE_MS 8000
#define GROWTH_KB (8 * 1024)

/* AddressSanitizer keeps what is freed. */
#ifdef __SANITIZE_ADDRESS__
#define COUNTS_MEMORY false
#else
#define COUNTS_MEMORY true
#endif

static const char *const more[] = {
	"",
	"ssl_enforce=1;",
	"default-auth=mysql_clear_password;",
	"default-auth=caching_sha2_password;",
	"compress=1;",
	"init-command=SELECT 1;",
};

static int listener;
static unsigned int port;
static pthread_t thread;
static sem_t begin, done;
static const unsigned char *script;
static size_t script_size;
static char heard[65536];
static size_t heard_size;

static bool wait_for_bytes(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 5) > 0;
}

/* False: it has ended, or is past its login. A packet that it does not answer
 * is followed by the next. */
static bool hear(int fd)
{
	unsigned char bytes[4096];
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
	return count < 5 || bytes[3] != 0 ||
	       bytes[0] + ((size_t) bytes[1] << 8) + 4 != (size_t) count;
}

static void serve(int fd)
{
	size_t at = 1;

	while (at + 2 <= script_size) {
		size_t size = script[at] | (size_t) script[at + 1] << 8;

		at += 2;
		if (size > script_size - at)
			size = script_size - at;
		if (size &&
		    send(fd, script + at, size, MSG_NOSIGNAL) != (ssize_t) size)
			return;
		at += size;
		if (!hear(fd))
			return;
	}
}

static void *run_server(void *arg)
{
	(void) arg;
	for (;;) {
		int fd;

		sem_wait(&begin);
		if (!script)
			return NULL;
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0) {
			serve(fd);
			close(fd);
		}
		sem_post(&done);
	}
}

static void start(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t length = sizeof(at);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *) &at, sizeof(at)) ||
	    listen(listener, 8) ||
	    getsockname(listener, (struct sockaddr *) &at, &length))
		abort();
	port = ntohs(at.sin_port);
	sem_init(&begin, 0, 0);
	sem_init(&done, 0, 0);
	if (pthread_create(&thread, NULL, run_server, NULL))
		abort();
}

static void stop(void)
{
	script = NULL;
	sem_post(&begin);
	pthread_join(thread, NULL);
	close(listener);
	sem_destroy(&begin);
	sem_destroy(&done);
}

static long peak_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void connect_to_it(unsigned int variant)
{
	static const struct rlk_conn_profile profile = { "lease", true, 1,
							 30,      true, false };
	struct rlk_conn_target target = { .clock = rlk_clock_real() };
	struct rowlock_errinfo error = { 0 };
	struct rlk_conn *conn = NULL;
	int64_t until = rlk_now(target.clock) + DEADLINE_MS;
	char dsn[300];

	snprintf(dsn, sizeof(dsn),
		 "host=127.0.0.1;port=%u;user=u;password=" PASSWORD
		 ";%sdatabase=d",
		 port, more[variant % RLK_ARRAY_SIZE(more)]);
	target.dsn = dsn;
	if (rlk_conn_open(&target, &profile, until, &conn, &error) == 0) {
		rlk_conn_close(conn);
		fuzz_broken("it was taken for a server");
	}
	if (rlk_now(target.clock) > until + LATE_MS)
		fuzz_broken("%lld ms after its deadline",
			    (long long) (rlk_now(target.clock) - until));
	if (strstr(error.message, PASSWORD))
		fuzz_broken("the password is told: %s", error.message);
}

static void run(const unsigned char *bytes, size_t size)
{
	static unsigned int runs;
	static long before;

	if (!size)
		return;
	script = bytes;
	script_size = size;
	heard_size = 0;
	sem_post(&begin);
	connect_to_it(bytes[0]);
	sem_wait(&done);
	if (memmem(heard, heard_size, PASSWORD, strlen(PASSWORD)))
		fuzz_broken("the password was sent");
	/* Plugins and OpenSSL are loaded by then. */
	if (++runs == 500)
		before = peak_kb();
	if (COUNTS_MEMORY && runs > 500 && peak_kb() > before + GROWTH_KB)
		fuzz_broken("%ld KiB more than before", peak_kb() - before);
}

const struct fuzz_target fuzz_login = {
	.name = "login", .begin = start, .run = run, .end = stop, .few = 500
};
