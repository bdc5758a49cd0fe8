/* SPDX-License-Identifier: MIT */
/*
 * The server's lists of connections that wait.
 *
 * They are read in two statements: a connection may be in both, or in none,
 * that goes from one line to the other meanwhile.
 *
 * Failure modes: what an account may not see is left out, and the list says so
 * (blind); without memory there is an error. A connection may lie about its
 * program, as it may in lease_session.
 */
#include "strategy/waiting.h"

#include <stdlib.h>
#include <string.h>

#include "db/server.h"
#include "db/sql.h"
#include "strategy/row_holders.h"
#include "strategy/strategy.h"

void rlk_standing_fini(struct rlk_standing *standing)
{
	free(standing->line);
	free(standing->program);
	free(standing->host);
	free(standing->since);
}

void rlk_waiting_fini(struct rlk_waiting *waiting)
{
	for (size_t i = 0; i < waiting->count; i++)
		rlk_standing_fini(&waiting->list[i]);
	free(waiting->list);
	*waiting = (struct rlk_waiting){ .list = NULL };
}

/* ----------------------------------------------------------- what it tells */

/* The text in the last comment of ours; @text itself if it has none, as an
 * attribute has no comment around it. */
static char *who_of(const char *text)
{
	static const char begin[] = "/* " RLK_SQL_WHO " ";
	const char *next;
	char *who;

	while ((next = strstr(text, begin)))
		text = next + strlen(begin);
	who = strdup(text);
	if (who && strlen(who) > 3 && !strcmp(who + strlen(who) - 3, " */"))
		who[strlen(who) - 3] = '\0';
	return who;
}

/* Take "program[pid]@host" apart. False: it is something else. */
static bool take_apart(char *who, const char **ret_host, unsigned int *ret_pid)
{
	char *at = strrchr(who, '@');
	char *open, *end;
	unsigned long pid;

	if (!at || at == who || at[-1] != ']')
		return false;
	*at = '\0';
	open = strrchr(who, '[');
	if (!open || open[1] < '0' || open[1] > '9')
		return false;
	pid = strtoul(open + 1, &end, 10);
	if (end != at - 1 || pid > UINT32_MAX)
		return false;
	*open = '\0';
	*ret_host = at + 1;
	*ret_pid = (unsigned int) pid;
	return true;
}

/* False: no memory. */
static bool read_who(const struct rlk_value *shown, struct rlk_standing *ret)
{
	char *who = who_of(shown->text);
	const char *host;

	if (!who)
		return false;
	if (take_apart(who, &host, &ret->pid)) {
		free(ret->host);
		ret->host = strdup(host);
		ret->program = who;
	} else {
		free(who);
		ret->program = strdup("");
	}
	return ret->program && ret->host;
}

/* --------------------------------------------------------------- the list */

static bool grow(struct rlk_waiting *waiting)
{
	size_t size = waiting->size ? waiting->size * 2 : 16;
	struct rlk_standing *list;

	if (waiting->count < waiting->size)
		return true;
	list = reallocarray(waiting->list, size, sizeof(*list));
	if (!list)
		return false;
	waiting->list = list;
	waiting->size = size;
	return true;
}

/* Takes @line, NULL: no memory. */
static void add(struct rlk_waiting *waiting, char *line,
		const struct rlk_value *columns)
{
	struct rlk_standing standing = {
		.line = line,
		.order = waiting->count,
		.connection = columns[1].u64,
		.host = rlk_shown_host(&columns[2]),
		.has_bell = columns[6].u64 == 1,
	};

	/* The last statement of a bell's owner is not its wait. */
	standing.since = strdup(standing.has_bell ? "" : columns[3].text);
	if (!standing.has_bell && columns[4].i64 > 0)
		standing.waited_ms = (uint64_t) columns[4].i64 / 1000;
	if (line && standing.host && standing.since &&
	    read_who(&columns[5], &standing) && grow(waiting)) {
		waiting->list[waiting->count++] = standing;
		return;
	}
	waiting->no_memory = true;
	rlk_standing_fini(&standing);
}

static void add_in_line(const struct rlk_value *columns, void *arg)
{
	add(arg, strdup(columns[0].text), columns);
}

static void add_for_row(const struct rlk_value *columns, void *arg)
{
	struct rlk_waiting *waiting = arg;
	char *name = rlk_row_shown_name(&columns[0]);

	if (name)
		add(waiting, strdup(rlk_waiting_row(name).text), columns);
	else
		waiting->blind = RLK_WAITING_UNNAMED;
	free(name);
}

static int compare(const void *a, const void *b)
{
	const struct rlk_standing *one = a, *other = b;
	int by_line = strcmp(one->line, other->line);

	if (by_line)
		return by_line;
	return one->order < other->order ? -1 : one->order > other->order;
}

/* One that is refused leaves the list incomplete. */
static enum rlk_fault ask(struct rlk_conn *conn, const struct rlk_stmt_def *def,
			  rlk_row_fn fn, struct rlk_waiting *waiting,
			  struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault =
	    rlk_stmt_each(conn, def, NULL, fn, waiting, reterr);

	if (fault != RLK_REFUSED || reterr->code != ROWLOCK_EAUTH)
		return fault;
	waiting->blind = RLK_WAITING_DENIED;
	return RLK_DONE;
}

static void note_off(const struct rlk_value *columns, void *arg)
{
	struct rlk_waiting *waiting = arg;

	if (columns[0].i64 == 0)
		waiting->blind = RLK_WAITING_OFF;
}

enum rlk_fault rlk_waiting_read(struct rlk_conn *conn,
				struct rlk_waiting *ret_waiting,
				struct rowlock_errinfo *reterr)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(conn);
	enum rlk_fault fault = RLK_DONE;

	if (dialect->line_recorded)
		fault = ask(conn, dialect->line_recorded, note_off, ret_waiting,
			    reterr);
	if (!fault)
		fault = ask(conn, dialect->waits_for_rows, add_for_row,
			    ret_waiting, reterr);
	if (!fault)
		fault = ask(conn, dialect->waits_in_line, add_in_line,
			    ret_waiting, reterr);
	if (!fault && ret_waiting->no_memory)
		return rlk_fail_memory(reterr);
	if (ret_waiting->count > 1)
		qsort(ret_waiting->list, ret_waiting->count,
		      sizeof(*ret_waiting->list), compare);
	return fault;
}

size_t rlk_waiting_find(const struct rlk_waiting *waiting, const char *line,
			const struct rlk_standing **ret_first)
{
	size_t low = 0, high = waiting->count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(waiting->list[middle].line, line) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < waiting->count; end++)
		if (strcmp(waiting->list[end].line, line) != 0)
			break;
	*ret_first = waiting->list + low;
	return end - low;
}

enum rlk_fault rlk_waiting_owner(struct rlk_conn *conn, const char *bell,
				 struct rlk_standing *ret_owner,
				 struct rowlock_errinfo *reterr)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(conn);
	const struct rlk_value params[] = { rlk_text(bell) };
	struct rlk_standing owner = { .has_bell = true };
	struct rlk_reply reply;
	enum rlk_fault fault = RLK_DONE;

	if (dialect->line_owner)
		fault = rlk_stmt_run(conn, dialect->line_owner, params, &reply,
				     reterr);
	if (fault)
		return fault;
	if (dialect->line_owner && reply.has_row) {
		owner.connection = reply.columns[0].u64;
		owner.host = rlk_shown_host(&reply.columns[1]);
		owner.program = strdup("");
		owner.since = strdup("");
		if (!owner.host || !owner.program || !owner.since) {
			rlk_standing_fini(&owner);
			return rlk_fail_memory(reterr);
		}
	}
	*ret_owner = owner;
	return RLK_DONE;
}
