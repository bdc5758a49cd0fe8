/* SPDX-License-Identifier: MIT */
/*
 * A server that says whatever it likes until the login is over: a greeting,
 * TLS, switches of plugins, their data. Each call has to come back, tell it no
 * password, and take little memory.
 *
 * An input: one byte for the connection string, then what is said, in turn: its
 * length in two bytes, and the bytes. It ends at the client's first command.
 */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "db/conn.h"
#include "db/connect.h"
#include "fuzz.h"
#include "peer.h"

#define PASSWORD "s3cret-of-mine"
#define DEADLINE_MS 2000

static const char *const more[] = {
	"",
	"ssl_enforce=1;",
	"default-auth=mysql_clear_password;",
	"default-auth=caching_sha2_password;",
	"compress=1;",
	"init-command=SELECT 1;",
};

static unsigned int port;

static void start(void)
{
	port = peer_start();
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
	target.sources.dsn = dsn;
	target.sources.no_files = true;
	if (rlk_conn_open(&target, &profile, until, &conn, &error) == 0) {
		rlk_conn_close(conn);
		fuzz_broken("it was taken for a server");
	}
	fuzz_came_back(rlk_now(target.clock) - until);
	if (strstr(error.message, PASSWORD))
		fuzz_broken("the password is told: %s", error.message);
}

static void run(const unsigned char *bytes, size_t size)
{
	const struct peer_part parts[] = {
		{ bytes + 1, size ? size - 1 : 0, true },
		{ NULL, 0, false },
	};

	if (!size)
		return;
	peer_play(parts);
	connect_to_it(bytes[0]);
	if (peer_heard(PASSWORD))
		fuzz_broken("the password was sent");
	fuzz_watch_memory(fuzz_login.few);
}

const struct fuzz_target fuzz_login = {
	.name = "login",
	.begin = start,
	.run = run,
	.end = peer_stop,
	.few = 500,
};
