/* SPDX-License-Identifier: MIT */
/*
 * The list of those that wait.
 *
 * The server's lines are read first, then the names: a line is found by the
 * name, as a bell does not tell its own. The owner of a bell is the holder, or
 * is first in line and asks by itself (doorbell.c); where the server tells its
 * program, that is compared with the holders' sessions. No holder of permits
 * has their bell.
 *
 * Failure modes: an account that may not see others is told so by the result.
 */
#include <rowlock/admin.h>

#include "api/people.h"
#include "base/error.h"
#include "base/sized.h"
#include "core/call.h"
#include "db/lend.h"
#include "strategy/bell.h"
#include "strategy/waiting.h"

#include <string.h>

/* The lines of leases; then that of rows. */
enum line {
	LINE_LOCK,
	LINE_SIDES,
	LINE_PERMITS,
	LINES,
};

static const char bell_kinds[LINES] = { 'l', 's', 'p' };

static const enum rowlock_kind kinds[LINES] = {
	ROWLOCK_KIND_LOCK,
	ROWLOCK_KIND_RWLOCK,
	ROWLOCK_KIND_PERMIT,
};

struct search {
	struct rowlock_client *client;
	const struct rlk_waiting *waiting;
	const char *schema;
	rowlock_list_fn fn;
	void *arg;
	struct rowlock_errinfo *error;
	int code;
	bool ended;       /* by @fn, or an error */
	int64_t until_ms; /* for the rows of one name */
	bool cut;         /* there were more */

	/* The present name. */
	enum rowlock_strategy strategy;
	char name[100 * 4 + 1];
	uint64_t place;
	bool held[LINES];   /* somebody holds it, */
	bool has_it[LINES]; /* and that is who has the bell */
};

static struct rlk_bell bell_of(const struct search *search, char kind)
{
	return rlk_bell_named(&search->client->bell_key, kind, search->schema,
			      search->name);
}

/* NULL: nobody, or it is not told. */
static const struct rlk_standing *owner_in(const struct search *search,
					   const struct rlk_bell *bell)
{
	const struct rlk_standing *at;
	size_t count = rlk_waiting_find(search->waiting, bell->text, &at);

	for (; count; count--, at++)
		if (at->has_bell)
			return at;
	return NULL;
}

static int connection(const struct search *search, struct rlk_conn **ret_conn)
{
	return rlk_client_conn(search->client, RLK_BAY_CONTROL,
			       rlk_client_call_until(search->client), ret_conn,
			       search->error);
}

static void fail(struct search *search, int code)
{
	search->code = code;
	search->ended = true;
}

/* Ask for the owner of @bell, where the list leaves it out. */
static void ask_owner(struct search *search, const struct rlk_bell *bell,
		      struct rlk_standing *ret_owner)
{
	struct rlk_conn *conn;
	enum rlk_fault fault;
	int code = connection(search, &conn);

	if (!code) {
		fault = rlk_waiting_owner(conn, bell->text, ret_owner,
					  search->error);
		rlk_pool_put(search->client->pool, conn);
		code = rlk_client_code(search->client, fault, search->error);
	}
	if (code)
		fail(search, code);
}

static void tell(struct search *search, enum rowlock_kind kind,
		 const struct rlk_standing *standing, bool since)
{
	const struct rowlock_entry entry = {
		.size = sizeof(entry),
		.strategy = search->strategy,
		.kind = kind,
		.state = ROWLOCK_STATE_WAITING,
		.name = search->name,
		.info = "",
		.host = standing->host,
		.program = standing->program,
		.pid = standing->pid,
		.acquired_at = since ? standing->since : "",
		.held_ms = since ? standing->waited_ms : 0,
		.drawn_at = "",
		.connection = standing->connection,
		.place = ++search->place,
	};

	if (!search->ended)
		search->ended = search->fn(&entry, search->arg) != 0;
}

/* Those that wait in @line; but @first as one that waits since an unknown
 * time: it asks again and again. */
static void tell_line(struct search *search, enum rowlock_kind kind,
		      const char *line, uint64_t first)
{
	const struct rlk_standing *at;
	size_t count = rlk_waiting_find(search->waiting, line, &at);

	for (; count; count--, at++)
		if (!at->has_bell)
			tell(search, kind, at, at->connection != first);
}

/* Has the owner of this bell nothing but the bell? */
static bool is_first(const struct search *search, enum line line,
		     const struct rlk_standing *owner)
{
	if (line == LINE_PERMITS)
		return true;
	return *owner->program && search->held[line] && !search->has_it[line];
}

static void tell_lease(struct search *search)
{
	for (enum line line = 0; line < LINES && !search->ended; line++) {
		struct rlk_bell bell = bell_of(search, bell_kinds[line]);
		const struct rlk_standing *owner = owner_in(search, &bell);
		struct rlk_standing asked = { .connection = 0 };

		search->place = 0;
		if (!owner && line == LINE_PERMITS && search->held[line]) {
			ask_owner(search, &bell, &asked);
			owner = asked.connection ? &asked : NULL;
		}
		if (owner && is_first(search, line, owner))
			tell(search, kinds[line], owner, false);
		tell_line(search, kinds[line], bell.text, 0);
		rlk_standing_fini(&asked);
	}
}

/* The first in line asks for the row; those that came lately do as well. */
static void tell_row(struct search *search)
{
	struct rlk_row_line row = rlk_waiting_row(search->name);
	struct rlk_bell bell = bell_of(search, 'x');
	const struct rlk_standing *owner = owner_in(search, &bell), *at;
	struct rlk_standing asked = { .connection = 0 };

	search->place = 0;
	if (!owner && rlk_waiting_find(search->waiting, row.text, &at) > 0) {
		ask_owner(search, &bell, &asked);
		owner = &asked;
	}
	tell_line(search, ROWLOCK_KIND_LOCK, row.text,
		  owner ? owner->connection : 0);
	tell_line(search, ROWLOCK_KIND_LOCK, bell.text, 0);
	rlk_standing_fini(&asked);
}

static void begin_name(struct search *search, const char *name)
{
	snprintf(search->name, sizeof(search->name), "%s", name);
	memset(search->held, 0, sizeof(search->held));
	memset(search->has_it, 0, sizeof(search->has_it));
}

static void end_name(struct search *search)
{
	if (!*search->name || search->ended)
		return;
	if (search->strategy == ROWLOCK_ROW)
		tell_row(search);
	else
		tell_lease(search);
	*search->name = '\0';
}

/* A candidate that waits holds nothing, and a reader never has the bell. */
static void note_holder(struct search *search,
			const struct rowlock_entry *entry)
{
	enum line line = entry->kind == ROWLOCK_KIND_LOCK     ? LINE_LOCK
			 : entry->kind == ROWLOCK_KIND_PERMIT ? LINE_PERMITS
							      : LINE_SIDES;
	struct rlk_bell bell = bell_of(search, bell_kinds[line]);
	const struct rlk_standing *owner = owner_in(search, &bell);

	if (entry->kind == ROWLOCK_KIND_CANDIDATE)
		return;
	search->held[line] = true;
	if (owner && owner->pid == entry->pid &&
	    !strcmp(owner->host, entry->host) &&
	    !strcmp(owner->program, entry->program))
		search->has_it[line] = true;
}

/* A rowlock_list_fn. Each name's rows come one behind the other. */
static int see_name(const struct rowlock_entry *entry, void *arg)
{
	struct search *search = arg;

	if (strcmp(entry->name, search->name) != 0) {
		end_name(search);
		begin_name(search, entry->name);
	}
	if (search->strategy == ROWLOCK_LEASE)
		note_holder(search, entry);
	search->cut = rlk_now(search->client->clock) >= search->until_ms;
	return search->ended || search->cut;
}

/* A name that is given is looked for even if it has no row. */
static int search_for(struct search *search, enum rowlock_strategy strategy,
		      const struct rowlock_list_options *options)
{
	struct rowlock_list_options names = *options;
	int code = 0;

	names.flags =
	    strategy == ROWLOCK_ROW ? ROWLOCK_LIST_ROWS : ROWLOCK_LIST_LEASES;
	search->strategy = strategy;
	search->until_ms =
	    options->name ? rlk_client_call_until(search->client) : RLK_NEVER;
	begin_name(search, options->name ? options->name : "");
	if (!options->name || strategy == ROWLOCK_LEASE)
		code = rowlock_list(search->client, &names, see_name, search,
				    search->error);
	if (!code)
		end_name(search);
	return code ? code : search->code;
}

static enum rlk_fault read_lines(struct rlk_conn *conn,
				 struct rlk_waiting *ret_waiting,
				 char *ret_account, size_t size,
				 struct rowlock_errinfo *reterr)
{
	static const struct rlk_stmt_def account = {
		"look who waits",
		"SELECT CURRENT_USER()",
		.once = true,
	};
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_waiting_read(conn, ret_waiting, reterr);

	if (!fault && ret_waiting->blind == RLK_WAITING_DENIED) {
		fault = rlk_stmt_run(conn, &account, NULL, &reply, reterr);
		if (!fault)
			snprintf(ret_account, size, "%s",
				 reply.columns[0].text);
	}
	return fault;
}

static void explain(const struct rlk_waiting *waiting,
		    const struct rlk_conn *conn, const char *account,
		    struct rowlock_waiters_result *result)
{
	const char *server = rlk_conn_server(conn)->name;
	const char *privilege = rlk_conn_dialect(conn)->waits_privilege;

	switch (waiting->blind) {
	case RLK_WAITING_SEEN:
		break;
	case RLK_WAITING_DENIED:
		snprintf(result->incomplete, sizeof(result->incomplete),
			 "account %.80s may not see the connections of others "
			 "on %.80s: GRANT %s",
			 account, server, privilege);
		break;
	case RLK_WAITING_OFF:
		snprintf(result->incomplete, sizeof(result->incomplete),
			 "%.80s does not record it: performance_schema, its "
			 "instrument wait/lock/metadata/sql/mdl, or its "
			 "consumer events_statements_current is off",
			 server);
		break;
	case RLK_WAITING_UNNAMED:
		snprintf(result->incomplete, sizeof(result->incomplete),
			 "%.80s does not show the whole name of a row that "
			 "somebody waits for",
			 server);
		break;
	}
}

/* All that is asked for; @search has what the caller wants. */
static int list_waiters(struct search *search,
			const struct rowlock_list_options *options,
			struct rowlock_waiters_result *result)
{
	_cleanup_(rlk_waiting_fini) struct rlk_waiting waiting = { 0 };
	char schema[64 * 4 + 1], account[128] = "";
	struct rlk_conn *conn;
	enum rlk_fault fault;
	int code = connection(search, &conn);

	if (code)
		return code;
	fault =
	    read_lines(conn, &waiting, account, sizeof(account), search->error);
	snprintf(schema, sizeof(schema), "%s", rlk_conn_schema(conn));
	explain(&waiting, conn, account, result);
	rlk_pool_put(search->client->pool, conn);
	search->waiting = &waiting;
	search->schema = schema;
	code = rlk_client_code(search->client, fault, search->error);
	if (!code && options->flags & ROWLOCK_LIST_LEASES)
		code = search_for(search, ROWLOCK_LEASE, options);
	if (search->cut)
		snprintf(result->incomplete, sizeof(result->incomplete),
			 "%.80s told of more rows of the name than could be "
			 "read in time",
			 rowlock_client_server(search->client));
	if (!code && !search->ended && options->flags & ROWLOCK_LIST_ROWS)
		code = search_for(search, ROWLOCK_ROW, options);
	return code;
}

int rowlock_list_waiters(struct rowlock_client *client,
			 const struct rowlock_list_options *given,
			 rowlock_list_fn fn, void *arg,
			 struct rowlock_waiters_result *result,
			 struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_list_options options;
	struct rowlock_waiters_result ours = { .size = sizeof(ours) };
	struct rowlock_errinfo error;
	struct search search = {
		.client = client,
		.fn = fn,
		.arg = arg,
		.error = &error,
	};
	int code = rlk_client_refuses(client, reterr);

	if (!code && !fn)
		code =
		    rlk_fail(reterr, ROWLOCK_EINVAL, "list: give a function");
	if (!code)
		code = rlk_list_options_read(given, &options, reterr);
	if (!code && result)
		code = rlk_result_check("waiters result", result, reterr);
	if (code)
		return code;
	if (client->many_writers)
		snprintf(ours.incomplete, sizeof(ours.incomplete),
			 "where several nodes are written to, waiters stand in "
			 "no line, but ask again and again: none can be seen");
	else
		code = list_waiters(&search, &options, &ours);
	if (code && reterr)
		*reterr = error;
	if (!code && result)
		rlk_result_write(&ours, sizeof(ours), result);
	return code;
}
