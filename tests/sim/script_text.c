/* SPDX-License-Identifier: MIT */
/*
 * From a text that is said on the application's connection to what it means. A
 * condition that is left out is one that does not hold, and what is not known
 * ends the run, as in sql.c.
 */
#include <stdlib.h>
#include <string.h>

#include "script.h"
#include "server.h"
#include "sim.h"
#include "tables.h"

static _Noreturn void unknown(const char *sql)
{
	sim_violation("the simulated server does not know this statement; "
		      "teach it in tests/sim/script_text.c: %s",
		      sql);
}

static bool skip(const char **at, const char *words)
{
	size_t length = strlen(words);

	if (strncmp(*at, words, length))
		return false;
	*at += length;
	return true;
}

static void expect(const char **at, const char *words)
{
	if (!skip(at, words))
		unknown(*at);
}

static uint64_t read_number(const char **at)
{
	char *end;
	uint64_t number = strtoull(*at, &end, 10);

	if (end == *at)
		unknown(*at);
	*at = end;
	return number;
}

/* A literal: hexadecimal digits, or a plain one of the application's. */
static void read_text(const char **at, char *to, size_t size)
{
	bool hex = skip(at, "_utf8mb4 X'");
	size_t n = 0;

	if (!hex)
		expect(at, "'");
	while (**at && **at != '\'' && n + 1 < size) {
		char digits[3] = { (*at)[0], hex ? (*at)[1] : '\0', '\0' };

		to[n++] = hex ? (char) strtol(digits, NULL, 16) : **at;
		*at += hex ? 2 : 1;
	}
	to[n] = '\0';
	expect(at, "'");
}

static unsigned int name_of(const char *text)
{
	for (unsigned int i = 0; i < SIM_NAMES; i++)
		if (strcmp(text, sim_names[i]) == 0)
			return i;
	sim_violation("'%s' is no name of this world", text);
}

static unsigned int read_name(const char **at)
{
	char text[128];

	read_text(at, text, sizeof(text));
	return name_of(text);
}

/* Is it the server that is meant? False: @at is about something else. */
static bool read_place(struct sim_said *said, const char **at)
{
	char text[128];

	if (skip(at, "1 = 1"))
		return true;
	if (!skip(at, sim_world.mysql ? "@@server_uuid = "
				      : "CONCAT(@@server_uid, '#', "
					"@@GLOBAL.server_id, '#', "
					"CRC32(@@hostname)) = "))
		return false;
	read_text(at, text, sizeof(text));
	said->elsewhere = strcmp(text, "server0") != 0;
	return true;
}

static void read_where(struct sim_said *said, const char **at)
{
	do {
		if (skip(at, "name = ")) {
			said->by |= SIM_BY_NAME;
			said->name = read_name(at);
		} else if (skip(at, "slot = ")) {
			said->by |= SIM_BY_SLOT;
			said->slot = read_number(at);
		} else if (skip(at, "attempt = ")) {
			said->by |= SIM_BY_ATTEMPT;
			said->attempt = read_number(at);
		} else if (skip(at, "guards = ")) {
			said->by |= SIM_BY_GUARDS;
			said->guards = read_number(at);
		} else if (!read_place(said, at)) {
			unknown(*at);
		}
	} while (skip(at, " AND "));
}

/* The number that a commit counts to. One that gives the lock back leaves a
 * receipt. */
static void read_count_of_guard(struct sim_said *said, const char **at)
{
	char receipt[128];

	said->value = read_number(at);
	said->releases = skip(at, ", name = ");
	if (said->releases) {
		read_text(at, receipt, sizeof(receipt));
		expect(at, ", slot = 0, expires_at = NULL");
	}
	expect(at, " WHERE ");
	read_where(said, at);
	if (said->releases && sim_receipt_of(receipt) != said->attempt)
		unknown(receipt);
}

static void read_where_of_text(struct sim_said *said, const char **at)
{
	said->texts = true;
	read_where(said, at);
}

/* Whatever sql_select_limit is. */
static void read_where_once(struct sim_said *said, const char **at)
{
	read_where(said, at);
	expect(at, " LIMIT 1");
}

/* Never a TEMPORARY copy of the application's. */
#define OWN "FORCE INDEX (PRIMARY) "
#define LEASES "`simulation`.business_lease " OWN

/* ------------------------------------------------------------ statements */

static void read_isolation(struct sim_said *said, const char **at)
{
	said->value = skip(at, "REPEATABLE READ");
	if (!said->value)
		expect(at, "READ COMMITTED");
	expect(at, ", READ WRITE");
}

static void read_snapshot(struct sim_said *said, const char **at)
{
	said->value = skip(at, " WITH CONSISTENT SNAPSHOT");
}

static void read_autocommit(struct sim_said *said, const char **at)
{
	said->if_one = skip(at, "IF(ROW_COUNT() = 1, ");
	said->value = read_number(at);
	if (!said->if_one)
		return;
	expect(at, ", ");
	said->otherwise = read_number(at);
	expect(at, ")");
}

static void read_row(struct sim_said *said, const char **at)
{
	if (!read_place(said, at))
		unknown(*at);
	expect(at, ", guards + 1");
	said->numbers = skip(at, " + IF(CONNECTION_ID() = ");
	if (said->numbers) {
		said->value = read_number(at);
		expect(at, ", 8589934592, 0)");
	}
	expect(at, ", 0) FROM " LEASES "WHERE ");
	read_where_once(said, at);
	said->shares = skip(at, " LOCK IN SHARE MODE");
}

static bool may_be_behind(void)
{
	return sim_world.nodes && !sim_world.mysql;
}

static void read_look(struct sim_said *said, const char **at)
{
	if (may_be_behind())
		sim_violation("a begin does not wait for its node, which may "
			      "be behind");
	read_row(said, at);
}

static void read_late_look(struct sim_said *said, const char **at)
{
	if (!may_be_behind())
		unknown(*at);
	read_row(said, at);
}

static void read_savepoint(struct sim_said *said, const char **at)
{
	size_t length = strlen(*at);

	if (length >= sizeof(said->savepoint))
		unknown(*at);
	memcpy(said->savepoint, *at, length + 1);
	*at += length;
}

static void read_is_here(struct sim_said *said, const char **at)
{
	said->numbers = skip(at, "CONNECTION_ID() = ");
	if (said->numbers) {
		said->value = read_number(at);
		expect(at, " AND ");
	}
	if (!read_place(said, at))
		unknown(*at);
	expect(at, " LIMIT 1");
}

static void read_call(struct sim_said *said, const char **at)
{
	said->texts = true;
	said->by = SIM_BY_NAME | SIM_BY_SLOT | SIM_BY_ATTEMPT;
	said->name = read_name(at);
	expect(at, ", ");
	said->attempt = read_number(at);
	expect(at, ")");
}

/* The guard as text: what fails where the row is not there, as the call does.
 */
static void read_guard(struct sim_said *said, const char **at)
{
	said->texts = true;
	said->by = SIM_BY_NAME | SIM_BY_SLOT | SIM_BY_ATTEMPT;
	expect(at, "lease.name = ");
	said->name = read_name(at);
	expect(at, " AND lease.slot = ");
	said->slot = read_number(at);
	expect(at, " AND lease.attempt = ");
	said->attempt = read_number(at);
	expect(
	    at,
	    " SET lease.guards = (lease.guards + 268435456) & 4294967295 WHERE "
	    "IF(lease.name IS NULL, (SELECT 1 UNION SELECT 2), 1) = 1");
}

static void read_value(struct sim_said *said, const char **at)
{
	said->value = read_number(at);
}

const char *sim_book_table(enum sim_book book)
{
	static const char *const tables[SIM_BOOKS] = {
		[SIM_BOOK_GUARDED] = "counts",
		[SIM_BOOK_INSIDE] = "counts_inside",
		[SIM_BOOK_FENCED_LEASE] = "counts_fenced",
		[SIM_BOOK_FENCED_ROW] = "counts_fenced_row",
	};

	return tables[book];
}

static void read_book(struct sim_said *said, const char **at, const char *words)
{
	for (int book = 0; book < SIM_BOOKS; book++) {
		const char *behind = *at;

		said->book = (enum sim_book) book;
		if (skip(&behind, sim_book_table(said->book)) &&
		    skip(&behind, words)) {
			*at = behind;
			return;
		}
	}
	unknown(*at);
}

static void read_counter(struct sim_said *said, const char **at)
{
	read_book(said, at, " WHERE name = ");
	said->name = read_name(at);
}

static void read_count(struct sim_said *said, const char **at)
{
	read_book(said, at, " (name, number, work) VALUES (");
	said->name = read_name(at);
	expect(at, ", ");
	said->value = read_number(at);
	expect(at, ", ");
	said->work = read_number(at);
	expect(at, ")");
}

static void read_nothing(struct sim_said *said, const char **at)
{
	(void) said;
	(void) at;
}

/* ----------------------------------------- row locks, tokens, resources */

static const struct sim_op inside_try = {
	.verb = SIM_INSIDE_TRY,
	.label = "inside-try",
	.nowait = true,
};

#define TAG "rowlock-"

uint64_t sim_tag_of(const char *text)
{
	const char *at = strstr(text, TAG);

	return at ? strtoull(at + strlen(TAG), NULL, 16) : 0;
}

static void read_inside_lock(struct sim_said *said, const char **at)
{
	char *end;

	said->tag = strtoull(*at, &end, 16);
	*at = end;
	expect(at, " */ IF(");
	if (!read_place(said, at))
		unknown(*at);
	expect(at,
	       ", 1, 2) FROM `simulation`.business_lock " OWN "WHERE name = ");
	said->name = read_name(at);
	expect(at, " LIMIT 1");
	said->locks = skip(at, " FOR UPDATE");
	if (skip(at, " NOWAIT") || !said->locks)
		said->op = &inside_try;
}

#define FLOOR                                                                  \
	"GREATEST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', "                   \
	"UTC_TIMESTAMP(6)), (SELECT f.token + 1 FROM "                         \
	"`simulation`.lock_token_floor f WHERE f.id = 1 LOCK IN SHARE MODE))"

static void read_draw(struct sim_said *said, const char **at)
{
	said->name = read_name(at);
	expect(at, ", LAST_INSERT_ID(");
	said->floor = strstr(*at, FLOOR) != NULL;
	said->greatest =
	    strstr(*at, "token = LAST_INSERT_ID(GREATEST(token + 1, ") != NULL;
	*at += strlen(*at);
}

#define OF_ROW "row "

/* Its name is the lock's; or that of another strategy's, with a word more. */
static void read_resource(struct sim_said *said, const char **at)
{
	char text[128];

	read_text(at, text, sizeof(text));
	said->book = SIM_BOOK_FENCED_LEASE;
	if (strncmp(text, OF_ROW, strlen(OF_ROW)) == 0) {
		said->book = SIM_BOOK_FENCED_ROW;
		memmove(text, text + strlen(OF_ROW),
			strlen(text + strlen(OF_ROW)) + 1);
	}
	said->name = name_of(text);
}

static void read_pass(struct sim_said *said, const char **at)
{
	read_resource(said, at);
	expect(at, ", ");
	said->value = read_number(at);
	expect(at, ", 1, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE passes = "
		   "IF(token <= VALUES(token), passes + 1, ");
	said->compares = skip(at, "(SELECT 1 UNION SELECT 2)");
	if (!said->compares)
		expect(at, "passes + 1");
	expect(at, "), token = VALUES(token), passed_at = VALUES(passed_at)");
}

static void read_passed(struct sim_said *said, const char **at)
{
	read_resource(said, at);
	expect(at, " LIMIT 1 FOR UPDATE");
}

#define NO_CHAIN " AND NO CHAIN NO RELEASE"

static const struct {
	struct sim_op op;
	const char *begins;
	void (*read)(struct sim_said *said, const char **at);
} words[] = {
	{ { .verb = SIM_SET_TRANSACTION, .label = "set-transaction" },
	  "SET TRANSACTION ISOLATION LEVEL ",
	  read_isolation },
	{ { .verb = SIM_SET_AUTOCOMMIT, .label = "set-autocommit" },
	  "SET SESSION autocommit = ",
	  read_autocommit },
	{ { .verb = SIM_INSIDE_BEGIN, .label = "inside-begin", .writes = true },
	  "START TRANSACTION READ WRITE",
	  read_nothing },
	{ { .verb = SIM_GUARD_START, .label = "guard-start" },
	  "START TRANSACTION",
	  read_snapshot },
	{ { .verb = SIM_INSIDE_WAIT, .label = "inside-wait" },
	  "SELECT /* " TAG,
	  read_inside_lock },
	{ { .verb = SIM_INSIDE_DRAW, .label = "inside-draw", .writes = true },
	  "INSERT INTO `simulation`.lock_token (strategy, name, token, "
	  "drawn_at) VALUES ('row', ",
	  read_draw },
	{ { .verb = SIM_FENCE_PASS, .label = "fence-pass", .writes = true },
	  "INSERT INTO lock_fence (resource, token, passes, passed_at) VALUES "
	  "(",
	  read_pass },
	{ { .verb = SIM_FENCE_LOOK, .label = "fence-look" },
	  "SELECT token FROM lock_fence WHERE resource = ",
	  read_passed },
	{ { .verb = SIM_DO, .label = "do" }, "DO 0", read_nothing },
	{ { .verb = SIM_BE_CONSISTENT, .label = "be-consistent" },
	  SIM_BE_CONSISTENT_TEXT,
	  read_nothing },
	{ { .verb = SIM_BE_AS_BEFORE, .label = "be-as-before" },
	  SIM_BE_AS_BEFORE_TEXT,
	  read_nothing },
	{ { .verb = SIM_CATCH_UP, .label = "catch-up" },
	  "SELECT COUNT(*) FROM " LEASES "WHERE ",
	  read_where },
	{ { .verb = SIM_GUARD_FIRST, .label = "guard-first" },
	  "SELECT IF(COUNT(*) = 1, 1, (SELECT 1 UNION SELECT 2)) FROM " LEASES
	  "WHERE ",
	  read_where_once },
	{ { .verb = SIM_GUARD_LOOK, .label = "guard-look" },
	  "SELECT IF(",
	  read_look },
	{ { .verb = SIM_GUARD_LOOK, .label = "guard-look" },
	  "SET STATEMENT wsrep_sync_wait = 1 FOR SELECT IF(",
	  read_late_look },
	{ { .verb = SIM_SAVEPOINT, .label = "savepoint" },
	  "SAVEPOINT ",
	  read_savepoint },
	{ { .verb = SIM_RELEASE_SAVEPOINT, .label = "release-savepoint" },
	  "RELEASE SAVEPOINT ",
	  read_savepoint },
	{ { .verb = SIM_GUARD_COUNT, .label = "guard-text", .writes = true },
	  "UPDATE " LEASES "SET guards = (guards + 268435456) & 4294967295 "
	  "WHERE ",
	  read_where_of_text },
	{ { .verb = SIM_GUARD_COUNT, .label = "guard-count", .writes = true },
	  "UPDATE " LEASES "SET guards = ",
	  read_count_of_guard },
	{ { .verb = SIM_GUARD_CALL, .label = "guard-call", .writes = true },
	  "CALL `simulation`.rowlock_guard(",
	  read_call },
	{ { .verb = SIM_GUARD_CALL, .label = "guard-text", .writes = true },
	  "UPDATE (SELECT 1) AS hold LEFT JOIN `simulation`.business_lease AS "
	  "lease " OWN "ON ",
	  read_guard },
	{ { .verb = SIM_GUARD_JUDGE, .label = "guard-judge" },
	  "SET @rowlock_guard = IF(ROW_COUNT() = 1, 'DO 0', 'KILL "
	  "CONNECTION_ID()')",
	  read_nothing },
	/* The judge has failed in place of what these would do. */
	{ { .verb = SIM_DO, .label = "do" },
	  "PREPARE rowlock_guard FROM @rowlock_guard",
	  read_nothing },
	{ { .verb = SIM_DO, .label = "do" },
	  "EXECUTE rowlock_guard",
	  read_nothing },
	{ { .verb = SIM_COMMIT, .label = "commit" },
	  "COMMIT" NO_CHAIN,
	  read_nothing },
	{ { .verb = SIM_COMMIT, .label = "commit" }, "COMMIT", read_nothing },
	{ { .verb = SIM_COMMIT, .label = "ddl" },
	  "CREATE TABLE IF NOT EXISTS scratch (id INT)",
	  read_nothing },
	{ { .verb = SIM_ROLLBACK, .label = "rollback" },
	  "ROLLBACK" NO_CHAIN,
	  read_nothing },
	{ { .verb = SIM_ROLLBACK, .label = "rollback" },
	  "ROLLBACK",
	  read_nothing },
	/* No SQL: a command of the protocol's. */
	{ { .verb = SIM_ALLOW_SEVERAL, .label = "allow-several" },
	  "several statements: ",
	  read_value },
	{ { .verb = SIM_COUNTER_READ, .label = "counter-read" },
	  "SELECT MAX(number) FROM ",
	  read_counter },
	{ { .verb = SIM_COUNTER_WRITE,
	    .label = "counter-write",
	    .writes = true },
	  "INSERT INTO ",
	  read_count },
	{ { .verb = SIM_GUARD_PLACE, .label = "guard-place" },
	  "SELECT ",
	  read_is_here },
};

const char *sim_said_label(enum sim_verb verb)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(words); i++)
		if (words[i].op.verb == verb)
			return words[i].op.label;
	return verb == inside_try.verb ? inside_try.label : NULL;
}

static void read_one(struct sim_said *said, const char *sql)
{
	const char *at = sql;
	size_t i = 0;

	while (i < RLK_ARRAY_SIZE(words) && !skip(&at, words[i].begins))
		i++;
	if (i == RLK_ARRAY_SIZE(words))
		unknown(sql);
	*said = (struct sim_said){ .op = &words[i].op };
	words[i].read(said, &at);
	if (*at)
		unknown(sql);
}

void sim_script_read(struct sim_script *script, const char *text)
{
	char sql[2048];
	char *at = sql;

	if (strlen(text) >= sizeof(sql))
		unknown(text);
	memcpy(sql, text, strlen(text) + 1);
	*script = (struct sim_script){ .count = 0 };
	while (at) {
		char *end = strstr(at, "; ");

		if (end)
			*end = '\0';
		if (script->count == SIM_SAID)
			unknown(text);
		read_one(&script->said[script->count++], at);
		at = end ? end + 2 : NULL;
	}
}
