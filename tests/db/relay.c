/* SPDX-License-Identifier: MIT */
/*
 * A peer between client and server that passes bytes on, drips them, or says
 * nothing: three ways of the fault proxy (tests/proxy).
 */
#include "db_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "proxy.h"

struct relay {
	struct proxy *proxy;
	char dsn[512];
};

void relay_set_mode(struct relay *relay, enum relay_mode mode)
{
	static const char *const words[] = {
		[RELAY_STRAIGHT] = "clear\nthaw",
		[RELAY_SILENT] = "clear\nfreeze",
		[RELAY_DRIP] = "clear\nthaw\nreply always do dribble ms=50",
	};

	assert_null(proxy_tell(relay->proxy, words[mode]));
}

struct relay *relay_start(enum relay_mode mode, const char *address)
{
	struct relay *relay = calloc(1, sizeof(*relay));
	char listen_at[96];
	char server[160];
	char reason[256] = "";
	const struct proxy_options options = {
		.listen = listen_at,
		.server = server,
	};

	assert_non_null(relay);
	snprintf(listen_at, sizeof(listen_at), "%s:0",
		 address ? address : "127.0.0.1");
	proxy_server_of(db_dsn(), server, sizeof(server));
	relay->proxy = proxy_start(&options, reason, sizeof(reason));
	assert_string_equal(reason, "");
	proxy_dsn(relay->proxy, db_dsn(), relay->dsn, sizeof(relay->dsn));
	relay_set_mode(relay, mode);
	return relay;
}

void relay_end(struct relay *relay)
{
	proxy_end(relay->proxy);
	free(relay);
}

const char *relay_dsn(const struct relay *relay)
{
	return relay->dsn;
}

size_t relay_heard(const struct relay *relay)
{
	return proxy_counts(relay->proxy).heard;
}
