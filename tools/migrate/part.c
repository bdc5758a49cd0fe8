/* SPDX-License-Identifier: MIT */
/*
 * Parts that rowlock's programs do not need, made only if an option asks for
 * them.
 * --fence-only: the table and the procedure for a database whose data are
 * protected by tokens of locks elsewhere. --guard-procedure: the guard of a
 * transaction for accounts that may not change rowlock's tables.
 *
 * A procedure is tried: its definer may be gone, or may have lost its rights.
 * Its comment tells whether it is of an older version.
 */
#include "migrate/migrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "common/text.h"

#define NO_SUCH_ROUTINE 1305

const struct part fence = {
	.name = "fence",
	.files = { &sql_fence, &sql_fence_procedure },
	.call = "CALL rowlock_fence(NULL, NULL)",
	.answer = ERROR_NOT_NULL,
};

const struct part guard = {
	.name = "guard",
	.files = { &sql_guard_procedure },
	.call = "CALL rowlock_guard('', 0)",
	.answer = ERROR_SIGNAL,
	.with_own_rights = true,
};

enum state { THERE, MISSING, BROKEN };
static const char *const words[] = { "there", "missing",
				     "has to be made again: " };

static enum state look_at_fence(struct run *run)
{
	struct rowlock_errinfo error;
	unsigned int number =
	    ask(run,
		"SELECT resource, token, passes, passed_at FROM lock_fence "
		"LIMIT 0",
		&error);

	if (number == ERROR_NO_SUCH_TABLE)
		return MISSING;
	if (number)
		die(EXIT_REFUSED,
		    "database '%s' on %s has a table 'lock_fence' that is not "
		    "rowlock's, or not for this account: %s. Nothing was "
		    "changed. Rename it, or use another database",
		    run->database, run->where, error.message);
	return THERE;
}

static void check_lease(struct run *run)
{
	struct rowlock_errinfo error;

	if (ask(run, "SELECT slot, attempt, guards FROM business_lease LIMIT 0",
		&error))
		die(EXIT_REFUSED,
		    "database '%s' on %s has no table business_lease of "
		    "rowlock's: %s. Nothing was changed. Run rowlock-migrate "
		    "without --guard-procedure first",
		    run->database, run->where, error.message);
}

/* Does this account see the procedure of @part, with a comment that is so? */
static bool is_seen(struct run *run, const struct part *part,
		    const char *comment)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT COUNT(*) FROM information_schema.routines WHERE "
		 "routine_schema = DATABASE() AND routine_name = 'rowlock_%s' "
		 "AND routine_comment %s",
		 part->name, comment);
	return query_number(run, sql) > 0;
}

/* An account that has no right on it gets @number for its call, whether it is
 * there or not. */
static bool is_hidden(struct run *run, const struct part *part,
		      unsigned int number)
{
	return number == ERROR_ROUTINE_DENIED &&
	       !is_seen(run, part, "IS NOT NULL");
}

bool part_is_hidden(struct run *run, const struct part *part)
{
	struct rowlock_errinfo error;

	return is_hidden(run, part, ask(run, part->call, &error));
}

bool part_is_old(struct run *run, const struct part *part)
{
	static const char word[] = "COMMENT '", name[] = "rowlock ";
	size_t last = 0;
	const char *comment;
	char other[256];

	while (part->files[last + 1])
		last++;
	comment = strstr(part->files[last]->statements[0], word);
	comment += strlen(word);
	/* That of a newer program stays: its comment has a larger number. */
	snprintf(other, sizeof(other),
		 "<> '%.*s' AND CAST(SUBSTRING(routine_comment, %zu) AS "
		 "UNSIGNED) <= %lu",
		 (int) strcspn(comment, "'"), comment, strlen(name) + 1,
		 strtoul(comment + strlen(name), NULL, 10));
	return is_seen(run, part, other);
}

/* An account that may not call it, or that lacks the rights for its statements,
 * cannot try it. An account without any right on it does not even see it. */
static enum state look_at_procedure(struct run *run,
				    struct rowlock_errinfo *ret_error)
{
	unsigned int number = ask(run, run->part->call, ret_error);

	if (is_hidden(run, run->part, number))
		die(EXIT_SERVER,
		    "this account has no right on procedure rowlock_%s in "
		    "database '%s' on %s, and does not see whether it is "
		    "there%s",
		    run->part->name, run->database, run->where, rights(number));
	if (part_is_old(run, run->part)) {
		rlk_fail(ret_error, 0,
			 "it is of another version than this "
			 "program");
		return BROKEN;
	}
	if (number == run->part->answer || number == ERROR_ROUTINE_DENIED)
		return THERE;
	if (number == NO_SUCH_ROUTINE)
		return MISSING;
	return *rights(number) && !run->part->with_own_rights ? THERE : BROKEN;
}

static void make(struct run *run, const char *sql)
{
	struct rowlock_errinfo error;
	unsigned int number = apply(run, sql, &error);

	/* Another run makes it at the same time. */
	if (number && number != ERROR_ROUTINE_EXISTS)
		die(EXIT_SERVER,
		    "making the %s in database '%s' on %s stopped: %s%s. What "
		    "was done stays; run it again when the reason is gone",
		    run->part->name, run->database, run->where, error.message,
		    rights(number));
}

/* Make it in the place of the old one: who may call that may go on, and it
 * stays if the new one cannot be made. Only MariaDB can. */
static bool replace(struct run *run, const char *sql)
{
	static const char create[] = "CREATE ";
	_cleanup_(text_freep) char *both = NULL;

	if (rlk_conn_server(run->conn)->flavour != RLK_MARIADB ||
	    asprintf(&both, "CREATE OR REPLACE %s", sql + strlen(create)) < 0)
		return false;
	make(run, both);
	return true;
}

/* Dropping a procedure also drops the rights on it. */
static void make_again(struct run *run, const char *sql,
		       const struct rowlock_errinfo *error)
{
	bool rights_stay = replace(run, sql);
	char drop[64];

	if (!rights_stay) {
		snprintf(drop, sizeof(drop),
			 "DROP PROCEDURE IF EXISTS rowlock_%s",
			 run->part->name);
		make(run, drop);
		make(run, sql);
	}
	if (run->mode != MODE_APPLY)
		return;
	if (rights_stay)
		say("procedure rowlock_%s in database '%s' on %s was made "
		    "again: %s. The accounts that might call it still may",
		    run->part->name, run->database, run->where, error->message);
	else
		say("procedure rowlock_%s in database '%s' on %s was made "
		    "again: %s. Grant EXECUTE on it again",
		    run->part->name, run->database, run->where, error->message);
}

void migrate_part(struct run *run)
{
	bool complete = true;

	if (run->part == &guard)
		check_lease(run);
	if (run->mode == MODE_STATUS)
		put("database '%s' on %s", run->database, run->where);
	else
		set_session(run);
	for (size_t i = 0; run->part->files[i]; i++) {
		const struct sql_file *file = run->part->files[i];
		struct rowlock_errinfo error;
		enum state state = file == &sql_fence
				       ? look_at_fence(run)
				       : look_at_procedure(run, &error);

		complete = complete && state == THERE;
		if (run->mode == MODE_STATUS) {
			put("%-16s %s%s", file->name, words[state],
			    state == BROKEN ? error.message : "");
			continue;
		}
		if (state == BROKEN)
			make_again(run, file->statements[0], &error);
		else if (state == MISSING)
			make(run, file->statements[0]);
	}
	if (run->mode == MODE_STATUS)
		exit(complete ? 0 : EXIT_MISSING);
	if (run->mode == MODE_APPLY && complete)
		say("database '%s' on %s has its %s", run->database, run->where,
		    run->part->name);
	else if (run->mode == MODE_APPLY)
		say("made the %s in database '%s' on %s", run->part->name,
		    run->database, run->where);
}
