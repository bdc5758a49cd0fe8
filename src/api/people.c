/* SPDX-License-Identifier: MIT */
/*
 * The calls for operators: list, break, reap.
 */
#include <rowlock/admin.h>

#include "api/people.h"
#include "background/reaper.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/text.h"
#include "core/call.h"
#include "db/lend.h"
#include "hold/hold.h"
#include "strategy/listing.h"
#include "strategy/row_break.h"
#include "strategy/row_holders.h"
#include "wait/unblock.h"

#include <stdlib.h>
#include <string.h>

static int code_of(enum rlk_fault fault, const struct rowlock_client *client,
		   const char *what, struct rowlock_errinfo *reterr)
{
	int code = rlk_client_code(client, fault, reterr);

	if (code)
		rlk_prefix(reterr, "%s: ", what);
	return code;
}

static int connection(struct rowlock_client *client, struct rlk_conn **ret_conn,
		      struct rowlock_errinfo *reterr)
{
	return rlk_client_conn(client, RLK_BAY_CONTROL,
			       rlk_client_call_until(client), ret_conn, reterr);
}

/* ----------------------------------------------------------------- list */

/* Turn a shell pattern, or a literal name, into one for LIKE. */
static char *like_of(const char *pattern, bool wild)
{
	char *like = malloc(strlen(pattern) * 2 + 1);
	char *to = like;

	if (!like)
		return NULL;
	for (; *pattern; pattern++) {
		if (wild && (*pattern == '*' || *pattern == '?')) {
			*to++ = *pattern == '*' ? '%' : '_';
			continue;
		}
		if (strchr("%_!", *pattern))
			*to++ = '!';
		*to++ = *pattern;
	}
	*to = '\0';
	return like;
}

/* A page of rows of business_lock, kept while they are probed: the connection
 * cannot be used during a callback. */
struct row_entry {
	char *name;
	char *info;
	uint64_t token;
	bool free;
};

struct row_entries {
	struct row_entry *entries;
	size_t count;
	size_t size;
	bool no_memory;
};

static void row_entries_clear(struct row_entries *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->entries[i].name);
		free(rows->entries[i].info);
	}
	rows->count = 0;
}

static void row_entries_fini(struct row_entries *rows)
{
	row_entries_clear(rows);
	free(rows->entries);
}

static bool grow(struct row_entries *rows)
{
	size_t size = rows->size ? rows->size * 2 : 64;
	struct row_entry *entries;

	if (rows->count < rows->size)
		return true;
	entries = realloc(rows->entries, size * sizeof(*entries));
	if (!entries)
		return false;
	rows->entries = entries;
	rows->size = size;
	return true;
}

/* A rowlock_list_fn. */
static int add_row(const struct rowlock_entry *entry, void *arg)
{
	struct row_entries *rows = arg;
	struct row_entry row = {
		.name = strdup(entry->name),
		.info = strdup(entry->info),
		.token = entry->token,
	};

	if (row.name && row.info && grow(rows)) {
		rows->entries[rows->count++] = row;
		return 0;
	}
	rows->no_memory = true;
	free(row.name);
	free(row.info);
	return 1;
}

/* Search by name, not by order: names written by hand, with control characters,
 * are not in the order of bytes. */
static void mark_free(const char *name, void *arg)
{
	struct row_entries *rows = arg;

	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->entries[i].name, name) == 0)
			rows->entries[i].free = true;
}

static void tell_rows(const struct row_entries *rows,
		      struct rlk_listing *listing)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct row_entry *row = &rows->entries[i];
		const struct rlk_row_holder *holder =
		    row->free
			? NULL
			: rlk_row_holders_find(listing->holders, row->name);
		const struct rowlock_entry entry = {
			.size = sizeof(entry),
			.strategy = ROWLOCK_ROW,
			.state =
			    row->free ? ROWLOCK_STATE_FREE : ROWLOCK_STATE_HELD,
			.name = row->name,
			.info = row->info,
			.host = holder ? holder->host : "",
			.program = "",
			.acquired_at = holder ? holder->since : "",
			.held_ms = holder ? holder->held_ms : 0,
			.drawn_at = "",
			.token = row->token,
			.last_token = row->token,
			.connection = holder ? holder->connection : 0,
		};

		rlk_listing_tell(listing, &entry);
	}
}

/* Run each @page on a connection of its own: the callback may take longer than
 * the server keeps an idle one, which has the time of one call. */
static int each_page(struct rowlock_client *client, struct rlk_listing *listing,
		     enum rlk_fault (*page)(struct rlk_conn *,
					    struct rlk_listing *,
					    struct rowlock_errinfo *),
		     struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = RLK_DONE;
	struct rlk_conn *conn;

	while (!fault && rlk_listing_more(listing)) {
		int code = connection(client, &conn, reterr);

		if (code)
			return code;
		fault = page(conn, listing, reterr);
		rlk_pool_put(client->pool, conn);
	}
	return code_of(fault, client, "list", reterr);
}

/* The next page of names, and which of them are free. */
static enum rlk_fault probe_page(struct rlk_conn *conn,
				 struct rlk_listing *names,
				 struct row_entries *rows,
				 struct rowlock_errinfo *reterr)
{
	const struct rlk_page begin = names->page;
	enum rlk_fault fault = rlk_list_rows(conn, names, reterr);

	if (!fault && rows->count)
		fault = rlk_list_free_rows(conn, names->like, &begin,
					   names->page.name, mark_free, rows,
					   reterr);
	if (fault || !rows->no_memory)
		return fault;
	rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	return RLK_FAILED;
}

/* List the names, then find the free ones: a name that is made in between is
 * left out, instead of being reported as held. */
static int list_probed(struct rowlock_client *client,
		       struct rlk_listing *listing, struct row_entries *rows,
		       struct rowlock_errinfo *reterr)
{
	struct rlk_listing names =
	    rlk_listing_begin(listing->like, add_row, rows);
	enum rlk_fault fault = RLK_DONE;
	struct rlk_conn *conn;

	while (!fault && !listing->ended && rlk_listing_more(&names)) {
		int code = connection(client, &conn, reterr);

		if (code)
			return code;
		fault = probe_page(conn, &names, rows, reterr);
		rlk_pool_put(client->pool, conn);
		if (!fault)
			tell_rows(rows, listing);
		row_entries_clear(rows);
	}
	return code_of(fault, client, "list", reterr);
}

static int list_rows(struct rowlock_client *client, struct rlk_listing *listing,
		     bool probe, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_row_holders_fini) struct rlk_row_holders holders = { 0 };
	_cleanup_(row_entries_fini) struct row_entries rows = { 0 };
	enum rlk_fault fault;
	struct rlk_conn *conn;
	int code = connection(client, &conn, reterr);

	if (code)
		return code;
	fault = rlk_row_holders_read(conn, &holders, reterr);
	rlk_pool_put(client->pool, conn);
	if (fault)
		return code_of(fault, client, "list", reterr);
	listing->holders = &holders;
	code = probe ? list_probed(client, listing, &rows, reterr)
		     : each_page(client, listing, rlk_list_rows, reterr);
	listing->holders = NULL;
	return code;
}

static int list(struct rowlock_client *client,
		const struct rowlock_list_options *options,
		const struct rlk_listing *listing,
		struct rowlock_errinfo *reterr)
{
	struct rlk_listing leases = *listing, rows = *listing;
	int code = 0;

	if (options->flags & ROWLOCK_LIST_LEASES)
		code = each_page(client, &leases, rlk_list_leases, reterr);
	if (!code && options->flags & ROWLOCK_LIST_ROWS && !leases.ended)
		code = list_rows(client, &rows,
				 options->flags & ROWLOCK_LIST_PROBE, reterr);
	return code;
}

/* A name that no lock can have may be in the tables, by hand. */
static bool is_utf8(const char *text)
{
	const unsigned char *at = (const unsigned char *) text;
	size_t length = 1;

	for (; *at && length; at += length)
		rlk_text_decode(at, &length);
	return length > 0;
}

int rlk_list_options_read(const struct rowlock_list_options *given,
			  struct rowlock_list_options *ret_options,
			  struct rowlock_errinfo *reterr)
{
	const unsigned int both = ROWLOCK_LIST_LEASES | ROWLOCK_LIST_ROWS;
	const char *text;
	int code = rlk_options_read("list options", given, ret_options,
				    sizeof(*ret_options), reterr);

	if (code)
		return code;
	if (ret_options->pattern && ret_options->name)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"list: give a pattern or a name, not both");
	text = ret_options->pattern ? ret_options->pattern : ret_options->name;
	if (text && !is_utf8(text))
		return rlk_fail(
		    reterr, ROWLOCK_EINVAL,
		    "list: no name is like '%s', which is not UTF-8",
		    rlk_text_shown(text).text);
	if (ret_options->flags & ~(both | ROWLOCK_LIST_PROBE))
		return rlk_fail(
		    reterr, ROWLOCK_EINVAL, "list: unknown flags 0x%x",
		    ret_options->flags & ~(both | ROWLOCK_LIST_PROBE));
	if (!(ret_options->flags & both))
		ret_options->flags |= both;
	return 0;
}

char *rlk_list_like(const struct rowlock_list_options *options)
{
	if (options->name)
		return like_of(options->name, false);
	return like_of(options->pattern ? options->pattern : "*", true);
}

int rowlock_list(struct rowlock_client *client,
		 const struct rowlock_list_options *given, rowlock_list_fn fn,
		 void *arg, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_list_options options;
	struct rlk_listing listing;
	struct rowlock_errinfo error;
	char *like;
	int code = rlk_client_refuses(client, reterr);

	if (code)
		return code;
	if (!fn)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"list: give a function");
	code = rlk_list_options_read(given, &options, reterr);
	if (code)
		return code;
	like = rlk_list_like(&options);
	if (!like)
		return rlk_fail(reterr, ROWLOCK_ENOMEM, "list: out of memory");
	listing = rlk_listing_begin(like, fn, arg);
	code = list(client, &options, &listing, &error);
	free(like);
	if (code && reterr)
		*reterr = error;
	return code;
}

/* ---------------------------------------------------------------- break */

/* Lose a row hold of this client: no look for the holder is needed. It is lost
 * from here on, and its connection ends. Returns false if it is not ours. */
static bool lose_own(struct rowlock_client *client,
		     const struct rlk_strategy *strategy, const char *name,
		     struct rlk_mark *ret_mark)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	const struct rlk_name *known =
	    rlk_names_find(&client->names, strategy, name);
	struct rlk_hold *hold = known ? known->hold : NULL;

	/* One that is being released is almost over. */
	if (!strategy->pins_connection || !hold || hold->state != RLK_HOLD_HELD)
		return false;
	rlk_conn_mark(rlk_hold_conn(hold), ret_mark);
	rlk_hold_lose_locked(hold, RLK_WAS_BROKEN);
	return true;
}

/* The chores close the connection as soon as it is not in use; end its session
 * here, and wait for the server. */
static int end_own(struct rowlock_client *client, const struct rlk_mark *mark,
		   const char *name, struct rowlock_errinfo *reterr)
{
	if (rlk_client_fence(client, mark, rlk_client_call_until(client), true,
			     NULL))
		return rlk_fail(reterr, ROWLOCK_ECONNECT,
				"break '%s' (row): not held any more by this "
				"client, but %s did not say in time that its "
				"connection has ended",
				name, client->server);
	rlk_log(&client->log, ROWLOCK_LOG_INFO,
		"broke this client's own hold of '%s' (row)", name);
	return 0;
}

static enum rlk_fault break_row(struct rowlock_client *client,
				struct rlk_conn *conn, const char *name,
				bool *ret_found, struct rowlock_errinfo *reterr)
{
	struct rlk_conn *bait;
	enum rlk_fault fault;

	if (connection(client, &bait, reterr))
		return RLK_FAILED;
	fault = rlk_row_break(conn, bait, name, ret_found, reterr);
	rlk_pool_discard(client->pool, bait);
	return fault;
}

/* Break a hold of another client, or delete its row. */
static int break_theirs(struct rowlock_client *client,
			const struct rlk_strategy *strategy, const char *name,
			bool *ret_found, struct rowlock_errinfo *reterr)
{
	struct rlk_conn *conn;
	enum rlk_fault fault;
	int code = connection(client, &conn, reterr);

	if (!code) {
		fault = strategy->end
			    ? strategy->end(conn, name, ret_found, reterr)
			    : break_row(client, conn, name, ret_found, reterr);
		if (!fault && *ret_found && !strategy->pins_connection)
			rlk_unblock(client, conn, name);
		rlk_pool_put(client->pool, conn);
		code = rlk_client_code(client, fault, reterr);
	}
	if (code)
		rlk_prefix(reterr, "break '%s' (%s): ", name, strategy->name);
	return code;
}

static int break_it(struct rowlock_client *client,
		    const struct rlk_strategy *strategy, const char *name,
		    struct rowlock_errinfo *reterr)
{
	struct rlk_mark mark;
	bool found = false;
	int code;

	if (lose_own(client, strategy, name, &mark))
		return end_own(client, &mark, name, reterr);
	code = break_theirs(client, strategy, name, &found, reterr);
	if (code)
		return code;
	if (!found)
		return rlk_fail(reterr, ROWLOCK_ENOTHELD,
				"break '%s' (%s): nobody holds it on %s", name,
				strategy->name, client->server);
	rlk_log(&client->log, ROWLOCK_LOG_INFO, "broke the hold of '%s' (%s)",
		name, strategy->name);
	return 0;
}

int rowlock_break(struct rowlock_client *client, enum rowlock_strategy which,
		  const char *name, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	const struct rlk_strategy *strategy = rlk_strategy(which);
	struct rowlock_errinfo error;
	int code = rlk_client_refuses(client, reterr);

	if (code)
		return code;
	if (!strategy)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"break: there is no strategy %d", (int) which);
	code = rlk_name_check("break: the name", name,
			      rowlock_client_server(client), reterr);
	if (code)
		return code;
	code = break_it(client, strategy, name, &error);
	if (code && reterr)
		*reterr = error;
	return code;
}

/* ----------------------------------------------------------------- reap */

static int read_reap_options(const struct rowlock_reap_options *given,
			     struct rowlock_reap_options *ret_options,
			     struct rowlock_errinfo *reterr)
{
	int code = rlk_options_read("reap options", given, ret_options,
				    sizeof(*ret_options), reterr);

	if (code)
		return code;
	if (!ret_options->batch)
		ret_options->batch = 256;
	if (!ret_options->time_limit_ms)
		ret_options->time_limit_ms = 60000;
	if (ret_options->batch > 500)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"reap: the batch is %u; it must be from 1 to "
				"500",
				ret_options->batch);
	return 0;
}

int rowlock_reap(struct rowlock_client *client,
		 const struct rowlock_reap_options *given,
		 struct rowlock_reap_result *result,
		 struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_reap_options options;
	struct rowlock_reap_result ours = { .size = sizeof(ours) };
	struct rowlock_errinfo error;
	int code = rlk_client_refuses(client, reterr);

	if (code)
		return code;
	code = read_reap_options(given, &options, reterr);
	if (!code && result)
		code = rlk_result_check("reap result", result, reterr);
	if (code)
		return code;
	code = rlk_reap_pass(client, &options, &ours, &error);
	if (result)
		rlk_result_write(&ours, sizeof(ours), result);
	if (code && reterr)
		*reterr = error;
	return code;
}
