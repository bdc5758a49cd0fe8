/* SPDX-License-Identifier: MIT */
/*
 * One metric behind the other. A line that an alert is made of is there with 0,
 * too: a state "dead" that appeared only with its first dead lease would have
 * no value before. Failure modes: those of the stream.
 */
#include "metrics/exposition.h"

#include <inttypes.h>

#include "common/terms.h"

void exposition_head(FILE *out, const char *name, const char *type,
		     const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_number(FILE *out, const char *name, const char *help,
		       uint64_t number)
{
	exposition_head(out, name, "gauge", help);
	fprintf(out, "%s %" PRIu64 "\n", name, number);
}

/* printf() would write a fraction as the locale has it, and round it. */
static void put_us(FILE *out, int64_t us)
{
	uint64_t size = us < 0 ? -(uint64_t) us : (uint64_t) us;

	fprintf(out, "%s%" PRIu64 ".%06" PRIu64 "\n", us < 0 ? "-" : "",
		size / 1000000, size % 1000000);
}

void exposition_seconds(FILE *out, const char *name, const char *help,
			int64_t us)
{
	exposition_head(out, name, "gauge", help);
	fprintf(out, "%s ", name);
	put_us(out, us);
}

/* Locks that are held, or dead, have a line in each class; others where there
 * are any. */
static bool is_shown(const struct tally *tally, size_t kind, size_t state)
{
	return tally->count > 0 ||
	       (kind == ROWLOCK_KIND_LOCK &&
		(state == ROWLOCK_STATE_HELD || state == ROWLOCK_STATE_DEAD));
}

static void put_leases(FILE *out, const char *name, const struct look *look,
		       const struct classes *classes, bool ages)
{
	for (size_t c = 0; c < classes_count(classes); c++)
		for (size_t k = 0; k < LOOK_KINDS; k++)
			for (size_t s = 0; s < LOOK_STATES; s++) {
				const struct tally *tally =
				    &look->leases[c][k][s];

				if (!is_shown(tally, k, s))
					continue;
				fprintf(out,
					"%s{strategy=\"lease\",kind=\"%s\","
					"state=\"%s\",class=\"%s\"} ",
					name, kind_word((enum rowlock_kind) k),
					state_word((enum rowlock_state) s),
					classes_name(classes, c));
				if (ages)
					put_us(out, tally->age_us);
				else
					fprintf(out, "%" PRIu64 "\n",
						tally->count);
			}
}

static void put_waiters(FILE *out, const struct look *look)
{
	put_number(out, "rowlock_waiters_visible",
		   "1 if this account sees the server's lines of waiters.",
		   look->sees_waiters);
	if (!look->sees_waiters)
		return;
	exposition_head(out, "rowlock_waiters", "gauge",
			"Connections that wait in the server's lines, lease: "
			"of all its databases.");
	for (int s = ROWLOCK_LEASE; s <= ROWLOCK_ROW; s++)
		fprintf(out, "rowlock_waiters{strategy=\"%s\"} %" PRIu64 "\n",
			strategy_word((enum rowlock_strategy) s),
			look->waiters[s].count);
	exposition_head(out, "rowlock_oldest_wait_seconds", "gauge",
			"How long the statement waits that waits the longest.");
	for (int s = ROWLOCK_LEASE; s <= ROWLOCK_ROW; s++) {
		fprintf(out, "rowlock_oldest_wait_seconds{strategy=\"%s\"} ",
			strategy_word((enum rowlock_strategy) s));
		put_us(out, look->waiters[s].age_us);
	}
}

static void put_holds(FILE *out, const struct look *look,
		      const struct classes *classes)
{
	exposition_head(out, "rowlock_holds", "gauge",
			"Leases: held, kept or dead, and candidates of "
			"elections, which wait.");
	put_leases(out, "rowlock_holds", look, classes, false);
	exposition_head(out, "rowlock_oldest_hold_seconds", "gauge",
			"How long ago the oldest of these leases was "
			"acquired, 0 if there is none.");
	put_leases(out, "rowlock_oldest_hold_seconds", look, classes, true);
	exposition_head(out, "rowlock_names", "gauge",
			"Names that the row strategy knows; which are held "
			"no table tells.");
	fprintf(out, "rowlock_names{strategy=\"row\"} %" PRIu64 "\n",
		look->names);
	exposition_head(out, "rowlock_sessions", "gauge",
			"Clients that have leases, or had. The time of the "
			"dead is up, and nobody has evicted them yet.");
	fprintf(out,
		"rowlock_sessions{state=\"live\"} %" PRIu64
		"\nrowlock_sessions{state=\"dead\"} %" PRIu64 "\n",
		look->sessions_live, look->sessions_dead);
}

void exposition_put(FILE *out, const struct look *look,
		    const struct classes *classes)
{
	put_number(out, "rowlock_up", "1 if the server answered all questions.",
		   look->error.code == 0);
	exposition_seconds(out, "rowlock_scrape_duration_seconds",
			   "How long the questions took.",
			   (int64_t) look->took_ms * 1000);
	if (look->error.code)
		return;
	put_number(out, "rowlock_scrape_truncated",
		   "1 if there are more leases, sessions or names than are "
		   "counted.",
		   look->truncated);
	put_holds(out, look, classes);
	put_waiters(out, look);
	exposition_seconds(out, "rowlock_clock_offset_seconds",
			   "The server's clock minus this host's.",
			   look->offset_us);
	put_number(out, "rowlock_token_floor",
		   "The largest token that was collected: the next of a new "
		   "name is larger. The bound is 2^53.",
		   look->floor);
	if (look->turn_us)
		exposition_seconds(out, "rowlock_reaper_turn_timestamp_seconds",
				   "When a client last took its turn to reap, "
				   "by the server's clock.",
				   look->turn_us);
}
