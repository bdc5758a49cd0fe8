/* SPDX-License-Identifier: MIT */
/*
 * Checks a client's options, each with a message of its own, and turns them
 * into the settings of connections.
 */
#include "api/options.h"

#include "base/error.h"
#include "base/sized.h"
#include "base/text.h"
#include "config/where.h"
#include "core/call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The most connections for statements that have to wait for a transaction; and
 * the number kept open when none has to. */
#define ASIDE_MOST 16
#define ASIDE_KEPT 2

#define DAY_MS 86400000u
#define CONNECT_MS 5000u
#define CONNECT_MOST_MS 60000u

struct range {
	const char *name;
	uint64_t value;
	uint64_t least;
	uint64_t most;
};

/* 0 means the default. That of connect_timeout_ms is set when the settings are
 * read. */
static void fill(struct rowlock_client_options *options)
{
	if (!options->ttl_ms)
		options->ttl_ms = 30000;
	if (!options->call_timeout_ms)
		options->call_timeout_ms = 5000;
	if (!options->row_idle_ms)
		options->row_idle_ms = 10000;
	if (!options->reap_interval_ms)
		options->reap_interval_ms = 60000;
	if (!options->handover_ms)
		options->handover_ms = 50;
	if (!options->handover_passes)
		options->handover_passes = 10000;
	if (!options->wait_connections)
		options->wait_connections = 16;
	if (!options->batch_size)
		options->batch_size = RLK_GROUP_MOST;
	if (!options->refusal_timeout_ms)
		options->refusal_timeout_ms = 300000;
	if (!options->log_level)
		options->log_level = ROWLOCK_LOG_INFO;
}

static int check_ranges(const struct rowlock_client_options *options,
			struct rowlock_errinfo *reterr)
{
	const struct range ranges[] = {
		{ "ttl_ms", options->ttl_ms, 1000, DAY_MS },
		/* 0 stands for the key connect-timeout */
		{ "connect_timeout_ms",
		  options->connect_timeout_ms ? options->connect_timeout_ms
					      : CONNECT_MS,
		  100, CONNECT_MOST_MS },
		{ "call_timeout_ms", options->call_timeout_ms, 100, 60000 },
		{ "row_idle_ms", options->row_idle_ms, 2000, 3600000 },
		{ "reap_interval_ms", options->reap_interval_ms, 100, DAY_MS },
		{ "handover_ms", options->handover_ms, 1, 60000 },
		{ "handover_passes", options->handover_passes, 1, 1000000 },
		{ "wait_connections", options->wait_connections, 1, 1024 },
		{ "batch_size", options->batch_size, 1, RLK_GROUP_MOST },
		{ "refusal_timeout_ms", options->refusal_timeout_ms, 1000,
		  DAY_MS },
		{ "log_level", options->log_level, ROWLOCK_LOG_ERROR,
		  ROWLOCK_LOG_DEBUG },
	};

	for (size_t i = 0; i < RLK_ARRAY_SIZE(ranges); i++) {
		const struct range *range = &ranges[i];

		if (range->value < range->least || range->value > range->most)
			return rlk_fail(reterr, ROWLOCK_EINVAL,
					"client option %s is %" PRIu64
					"; it must be from %" PRIu64
					" to %" PRIu64,
					range->name, range->value, range->least,
					range->most);
	}
	return 0;
}

static int check(const struct rowlock_client_options *options,
		 struct rowlock_errinfo *reterr)
{
	const unsigned int known =
	    ROWLOCK_SINGLE_WRITER | ROWLOCK_OBSERVE_BEATS |
	    ROWLOCK_TLS_UNVERIFIED | ROWLOCK_NO_DEFAULTS | ROWLOCK_NO_REAPER |
	    ROWLOCK_NO_HANDOVER | ROWLOCK_POLL;
	const char *problem;
	char buffer[128];

	if (options->flags & ~known)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"client options: unknown flags 0x%x",
				options->flags & ~known);
	if (!rlk_is_plugin_list(options->unverified_auth))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"client option unverified_auth: names of "
				"plugins are letters, digits, '_' and '-', "
				"with commas between them");
	problem = options->program
		      ? rlk_text_problem(options->program, ROWLOCK_INFO_MAX,
					 buffer, sizeof(buffer))
		      : NULL;
	if (problem)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"client option program %s", problem);
	return check_ranges(options, reterr);
}

static bool copy(char **to, const char *from)
{
	if (!from)
		return true;
	*to = strdup(from);
	return *to != NULL;
}

/* Odd names of machines and programs are escaped, not refused. */
static void make_printable(char *text)
{
	char buffer[128];

	if (!rlk_text_problem(text, ROWLOCK_INFO_MAX, buffer, sizeof(buffer)))
		return;
	for (char *at = text; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	text[strnlen(text, ROWLOCK_INFO_MAX)] = '\0';
}

static bool copy_texts(struct rowlock_client *client,
		       const struct rowlock_client_options *options)
{
	const char *program = options->program;
	const char *group = options->defaults_group;
	const struct rlk_sources sources = {
		.dsn = options->dsn,
		.no_files = options->flags & ROWLOCK_NO_DEFAULTS,
		.file = options->defaults_file,
		.group = group ? group : "rowlock",
		.suffix = options->defaults_group_suffix,
	};

	if (gethostname(client->host, sizeof(client->host) - 1))
		strcpy(client->host, "unknown");
	make_printable(client->host);
	if (!copy(&client->program,
		  program ? program : program_invocation_short_name))
		return false;
	make_printable(client->program);
	snprintf(client->who, sizeof(client->who), "%s[%d]@%s", client->program,
		 (int) getpid(), client->host);
	return rlk_sources_copy(&sources, &client->target.sources) &&
	       copy(&client->target.unverified_auth, options->unverified_auth);
}

/* The longest time that a statement waits for a row: a backup's lock of all
 * tables waits for it (wait/row_line.c). MySQL looks once a second whether it
 * is over (lock_wait_timeout_thread()), so it may be a second more. MariaDB is
 * exact: there it is the longer one, if calls are given the time. */
#define ROW_SLICE_MS 1000
#define ROW_SLICE_EXACT_MS 2000

static unsigned int seconds(uint64_t ms)
{
	return (unsigned int) ((ms + 999) / 1000);
}

/* The longest time that a waiter which got the bell, and does not ask, keeps
 * others out. */
#define BELL_IDLE_S 4

/* The server closes an idle session after a TTL on a lease connection, after
 * the idle timeout on a row connection, and sooner on one for bells. */
static void set_bays(struct rowlock_client *client,
		     const struct rowlock_client_options *options)
{
	unsigned int ttl_s = seconds(client->ttl_ms);
	unsigned int lease_s = ttl_s > 2 ? ttl_s : 2;
	unsigned int row_s = seconds(client->row_idle_ms);
	unsigned int slice_s = seconds(client->row_slice_ms);
	unsigned int exact_s = client->call_timeout_ms < ROW_SLICE_EXACT_MS
				   ? slice_s
				   : seconds(ROW_SLICE_EXACT_MS);

	client->bays[RLK_BAY_CONTROL] = (struct rlk_pool_bay){
		.profile = { "control", true, RLK_LOCK_WAIT_S,
			     ttl_s > 30 ? ttl_s : 30, true, true },
		.keep = 1,
	};
	client->bays[RLK_BAY_COMMIT] = (struct rlk_pool_bay){
		.profile = { "lease", true, RLK_LOCK_WAIT_S, lease_s, true },
		.limit = 1,
		.keep = 1,
	};
	client->bays[RLK_BAY_BELL] = (struct rlk_pool_bay){
		.profile = { "bell", true, RLK_LOCK_WAIT_S,
			     lease_s < BELL_IDLE_S ? lease_s : BELL_IDLE_S,
			     .peer_s = lease_s },
		.limit = options->wait_connections,
		.keep = 2,
	};
	client->bays[RLK_BAY_ASIDE] = (struct rlk_pool_bay){
		.profile = { "lease", true, RLK_LOCK_WAIT_S, lease_s, false },
		.limit = ASIDE_MOST,
		.keep = ASIDE_KEPT,
	};
	client->bays[RLK_BAY_ROW] = (struct rlk_pool_bay){
		.profile = { "row", false, slice_s, row_s, false,
			     .exact_wait_s = exact_s },
		.keep = 8,
	};
}

/* @said_ms comes from the options; 0: not given. */
static int set_connect_timeout(struct rowlock_client *client, uint64_t said_ms,
			       struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_where_fini) struct rlk_where where = { 0 };
	uint64_t seconds;
	int code;

	client->connect_timeout_ms = said_ms;
	if (said_ms)
		return 0;
	code = rlk_where_read(&client->target.sources, &where, reterr);
	if (code)
		return code;
	seconds = rlk_where_number(&where, RLK_SETTING_CONNECT_TIMEOUT);
	client->connect_timeout_ms = !seconds ? CONNECT_MS
				     : seconds < CONNECT_MOST_MS / 1000
					 ? seconds * 1000
					 : CONNECT_MOST_MS;
	return 0;
}

static void set_handover(struct rowlock_client *client,
			 const struct rowlock_client_options *options)
{
	if (options->flags & ROWLOCK_NO_HANDOVER)
		return;
	client->handover_ms = options->handover_ms;
	client->handover_passes = options->handover_passes;
}

static int apply(struct rowlock_client *client,
		 const struct rowlock_client_options *options,
		 struct rowlock_errinfo *reterr)
{
	client->ttl_ms = options->ttl_ms;
	client->margin_ms = rlk_margin(options->ttl_ms);
	client->call_timeout_ms = options->call_timeout_ms;
	client->row_idle_ms = (uint64_t) seconds(options->row_idle_ms) * 1000;
	client->row_slice_ms = ROW_SLICE_MS;
	if (!(options->flags & ROWLOCK_NO_REAPER))
		client->reap_interval_ms = options->reap_interval_ms;
	client->bells_refused = options->flags & ROWLOCK_POLL;
	client->leases.group.most = options->batch_size;
	client->sweeps.group.most = options->batch_size;
	set_handover(client, options);
	client->flags = options->flags;
	client->on_revoke = options->on_revoke;
	client->revoke_arg = options->revoke_arg;
	client->log = (struct rlk_log){ options->log, options->log_arg,
					options->log_level };
	if (!copy_texts(client, options))
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"client: out of memory");
	client->target.flags = options->flags;
	client->target.program = client->program;
	client->target.who = client->who;
	client->target.clock = client->clock;
	client->target.log = &client->log;
	client->target.refusal_ms = options->refusal_timeout_ms;
	set_bays(client, options);
	return set_connect_timeout(client, options->connect_timeout_ms, reterr);
}

int rlk_options_apply(struct rowlock_client *client,
		      const struct rowlock_client_options *given,
		      struct rowlock_errinfo *reterr)
{
	struct rowlock_client_options options;
	int code = rlk_options_read("client options", given, &options,
				    sizeof(options), reterr);

	if (code)
		return code;
	fill(&options);
	code = check(&options, reterr);
	return code ? code : apply(client, &options, reterr);
}
