/* SPDX-License-Identifier: MIT */
/*
 * Adopts tables that exist already, or refuses them.
 *
 * A business_lock table may come from programs that use the same scheme by
 * hand. Changes that alter no meaning (a longer column, a default) are made in
 * one ALTER, which InnoDB does whole or not at all. Changes of the engine, or
 * of which names are equal, are explained with the rows concerned and wait for
 * --convert-names. Rows that would not survive stop everything.
 *
 * The questions are in adopt.sql.
 */
#include "migrate/migrate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/report.h"

/* The statements of adopt.sql. */
enum {
	FOREIGN,
	SHAPE,
	SPELLED,
	BLANK,
	NOT_UTF8,
	LONG,
	LONG_INFO,
	SAME,
	TOKENS
};

static void see_foreign(const struct rlk_value *columns, void *arg)
{
	const struct run *run = arg;

	/* A recorded migration does not make its table again. */
	if (!*run->applied[columns[1].u64])
		die(EXIT_REFUSED,
		    "database '%s' on %s has a table '%s' that is not "
		    "rowlock's. Nothing was changed. Rename it, or give "
		    "rowlock a database of its own",
		    run->database, run->where, columns[0].text);
}

void refuse_foreign_tables(struct run *run)
{
	query(run, sql_adopt.statements[FOREIGN], see_foreign, run);
}

static void tell_row(const struct rlk_value *columns, void *arg)
{
	bool *any = arg;

	if (!*any)
		report(ROWLOCK_LOG_WARNING, "%s", columns[0].text);
	report(ROWLOCK_LOG_WARNING, "    %s", columns[1].text);
	*any = true;
}

static bool tell_rows(struct run *run, int statement)
{
	bool any = false;

	query(run, sql_adopt.statements[statement], tell_row, &any);
	return any;
}

void refuse_tokens(struct run *run)
{
	if (!run->there[LOCK_TOKEN] || *run->applied[2] ||
	    !tell_rows(run, TOKENS))
		return;
	die(EXIT_REFUSED,
	    "lock_token in database '%s' on %s has tokens of 2^53 or more. "
	    "Nothing was changed. No server's clock draws such a token before "
	    "the year 2255: somebody has written it. Have every program that "
	    "compares tokens forget it, type "
	    "DELETE FROM lock_token WHERE token >= 9007199254740992; "
	    "and run this again. These names then draw tokens from the "
	    "server's clock again",
	    run->database, run->where);
}

struct plan {
	const struct run *run;
	char changes[900]; /* of the ALTER */
	char reasons[900]; /* why the user has to agree */
};

static void see_shape(const struct rlk_value *columns, void *arg)
{
	struct plan *plan = arg;
	bool change = strcmp(columns[0].text, "change") == 0;
	char *list = change ? plan->changes : plan->reasons;
	size_t length = strlen(list);

	if (strcmp(columns[0].text, "unusable") == 0)
		die(EXIT_REFUSED,
		    "business_lock in database '%s' on %s is not usable as it "
		    "is: %s. Nothing was changed. %s",
		    plan->run->database, plan->run->where, columns[1].text,
		    columns[2].text);
	snprintf(list + length, sizeof(plan->changes) - length, "%s%s",
		 length ? (change ? ", " : "; ") : "", columns[1].text);
}

static void explain(struct run *run, const char *reasons)
{
	uint64_t rows = query_number(run, "SELECT COUNT(*) FROM business_lock");
	bool bad = false;

	report(ROWLOCK_LOG_WARNING,
	       "business_lock in database '%s' on %s has to be converted: %s. "
	       "It has %" PRIu64 " rows; none is removed",
	       run->database, run->where, reasons, rows);
	tell_rows(run, SPELLED);
	tell_rows(run, BLANK);
	for (int i = NOT_UTF8; i <= SAME; i++)
		bad |= tell_rows(run, i);
	if (bad)
		die(EXIT_REFUSED,
		    "Rows above cannot be converted. Nothing was changed. "
		    "Change or delete them, then run this again");
	if (!run->convert)
		die(EXIT_REFUSED,
		    "Nothing was changed. To convert it, run this again with "
		    "--convert-names");
}

/* Writes the ALTER that business_lock needs, or nothing. */
void plan_adoption(struct run *run)
{
	struct plan plan = { .run = run };

	*run->adopt = '\0';
	if (!run->there[BUSINESS_LOCK])
		return;
	query(run, sql_adopt.statements[SHAPE], see_shape, &plan);
	if (*plan.changes)
		snprintf(run->adopt, sizeof(run->adopt),
			 "ALTER TABLE business_lock %s", plan.changes);
	if (*plan.reasons)
		explain(run, plan.reasons);
}
