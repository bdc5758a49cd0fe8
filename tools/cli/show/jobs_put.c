/* SPDX-License-Identifier: MIT */
/*
 * Shows the rows of jobs.h, as a table and as JSON. Failure modes: those of
 * grid.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "common/text.h"
#include "show/jobs.h"
#include "show/json.h"

/* "2026-11-29 03:00:05", without a fraction. */
#define SECONDS_LENGTH 19

enum job_column {
	JOB_NAME,
	JOB_STATE,
	JOB_RUNS,
	JOB_SUCCESS,
	JOB_TOOK,
	JOB_HOST,
	JOB_FAILURE,
	JOB_CODE,
	JOB_NEXT,
	JOB_COUNT,
};

enum run_column {
	RUN_NAME,
	RUN_STATE,
	RUN_BEGAN,
	RUN_TOOK,
	RUN_CODE,
	RUN_NTH,
	RUN_HOST,
	RUN_WINDOW,
	RUN_COUNT,
};

/* The widest: "succeeded", "12h34m ago", "in 12h34m". */
static const struct grid_column of_jobs[JOB_COUNT] = {
	[JOB_NAME] = { "NAME", 0, false },
	[JOB_STATE] = { "STATE", 9, false },
	[JOB_RUNS] = { "RUNS", 4, false },
	[JOB_SUCCESS] = { "SUCCESS", 10, false },
	[JOB_TOOK] = { "TOOK", 6, false },
	[JOB_HOST] = { "HOST", 0, false },
	[JOB_FAILURE] = { "FAILURE", 10, false },
	[JOB_CODE] = { "CODE", 4, false },
	[JOB_NEXT] = { "NEXT", 10, false },
};

static const struct grid_column of_runs[RUN_COUNT] = {
	[RUN_NAME] = { "NAME", 0, false },
	[RUN_STATE] = { "STATE", 9, false },
	[RUN_BEGAN] = { "BEGAN", SECONDS_LENGTH, false },
	[RUN_TOOK] = { "TOOK", 6, false },
	[RUN_CODE] = { "CODE", 4, false },
	[RUN_NTH] = { "RUN", 3, false },
	[RUN_HOST] = { "HOST", 0, false },
	[RUN_WINDOW] = { "WINDOW", SECONDS_LENGTH, false },
};

static const struct grid_step job_steps[] = {
	{ JOB_HOST, 10 },   { JOB_RUNS, 0 }, { JOB_TOOK, 0 },
	{ JOB_NAME, 16 },   { JOB_CODE, 0 }, { JOB_NEXT, 0 },
	{ JOB_FAILURE, 0 }, { JOB_HOST, 6 }, { JOB_SUCCESS, 0 },
	{ JOB_NAME, 6 },
};

static const struct grid_step run_steps[] = {
	{ RUN_WINDOW, 0 }, { RUN_HOST, 12 }, { RUN_NAME, 16 },
	{ RUN_NTH, 0 },    { RUN_HOST, 6 },  { RUN_TOOK, 0 },
	{ RUN_CODE, 0 },   { RUN_NAME, 6 },  { RUN_HOST, 0 },
};

void jobs_grid(const struct jobs *jobs, struct grid *grid, bool wide)
{
	grid_init(grid, "jobs", wide);
	if (jobs->history) {
		memcpy(grid->columns, of_runs, sizeof(of_runs));
		grid->count = RUN_COUNT;
		grid->steps = run_steps;
		grid->step_count = RLK_ARRAY_SIZE(run_steps);
		grid->elastic = RUN_NAME;
		grid->painted = RUN_STATE;
		return;
	}
	memcpy(grid->columns, of_jobs, sizeof(of_jobs));
	grid->count = JOB_COUNT;
	grid->steps = job_steps;
	grid->step_count = RLK_ARRAY_SIZE(job_steps);
	grid->elastic = JOB_NAME;
	grid->painted = JOB_STATE;
}

static const char *run_word(enum rowlock_run_state state)
{
	static const char *const words[] = {
		[ROWLOCK_RUN_SUCCEEDED] = "succeeded",
		[ROWLOCK_RUN_FAILED] = "failed",
		[ROWLOCK_RUN_RUNNING] = "running",
		[ROWLOCK_RUN_DIED] = "died",
	};

	return (size_t) state < RLK_ARRAY_SIZE(words) ? words[state]
						      : "unknown";
}

static const char *colour(enum rowlock_run_state state)
{
	switch (state) {
	case ROWLOCK_RUN_RUNNING:
		return COLOUR_GOOD;
	case ROWLOCK_RUN_SUCCEEDED:
		return COLOUR_DIM;
	default:
		return COLOUR_BAD;
	}
}

static bool has_ended(const struct rowlock_run_entry *run)
{
	return *run->ended_at != '\0';
}

static bool has_time(const struct rowlock_run_entry *run)
{
	return has_ended(run) || run->state == ROWLOCK_RUN_RUNNING;
}

static char *cell_took(const struct rowlock_run_entry *run)
{
	return run->name && has_time(run) ? cell_span("", run->took_ms, "")
					  : strdup("-");
}

/* Since its end, or its begin if nobody knows that. */
static char *cell_ago(const struct rowlock_run_entry *run)
{
	uint64_t ms = run->began_ms;

	if (!run->name)
		return strdup("-");
	if (has_ended(run))
		ms -= run->took_ms < ms ? run->took_ms : ms;
	return cell_span("", ms, " ago");
}

static char *cell_code(const struct rowlock_run_entry *run)
{
	char *text = NULL;

	if (!run->name || !has_ended(run))
		return strdup("-");
	return asprintf(&text, "%d", run->code) < 0 ? NULL : text;
}

static char *cell_next(const struct rowlock_run_entry *run)
{
	return run->left_ms >= 0
		   ? cell_span("in ", (uint64_t) run->left_ms, "")
		   : cell_span("", -(uint64_t) run->left_ms, " ago");
}

static char *cell_seconds(const char *time)
{
	char text[SECONDS_LENGTH + 1];

	snprintf(text, sizeof(text), "%s", time);
	return cell_text(text);
}

static void fill_job(struct grid_line *line, const struct job_row *row)
{
	const struct rowlock_run_entry *success = &row->success;
	char **cell = line->cell;

	cell[JOB_NAME] = cell_text(row->last.name);
	cell[JOB_STATE] = strdup(run_word(row->last.state));
	cell[JOB_RUNS] = cell_number(row->last.nth);
	cell[JOB_SUCCESS] = cell_ago(success);
	cell[JOB_TOOK] = cell_took(success);
	cell[JOB_HOST] = cell_text(success->name ? success->host : "");
	cell[JOB_FAILURE] = cell_ago(&row->failure);
	cell[JOB_CODE] = row->failure.state == ROWLOCK_RUN_DIED
			     ? strdup(run_word(ROWLOCK_RUN_DIED))
			     : cell_code(&row->failure);
	cell[JOB_NEXT] = cell_next(&row->last);
}

static void fill_run(struct grid_line *line,
		     const struct rowlock_run_entry *run)
{
	char **cell = line->cell;

	cell[RUN_NAME] = cell_text(run->name);
	cell[RUN_STATE] = strdup(run_word(run->state));
	cell[RUN_BEGAN] = cell_seconds(run->began_at);
	cell[RUN_TOOK] = cell_took(run);
	cell[RUN_CODE] = cell_code(run);
	cell[RUN_NTH] = cell_number(run->nth);
	cell[RUN_HOST] = cell_text(run->host);
	cell[RUN_WINDOW] = cell_seconds(run->from_at);
}

void jobs_put(const struct jobs *jobs, struct grid *grid, bool more)
{
	struct grid_line *lines = grid_lines(grid, jobs->count);

	for (size_t i = 0; i < jobs->count; i++) {
		lines[i].colour = colour(jobs->list[i].last.state);
		if (jobs->history)
			fill_run(&lines[i], &jobs->list[i].last);
		else
			fill_job(&lines[i], &jobs->list[i]);
	}
	grid_put(grid, lines, jobs->count, more);
}

static void put_run(const struct rowlock_run_entry *run)
{
	fputs("{\"name\":", stdout);
	text_json(stdout, run->name);
	json_text("state", run_word(run->state));
	json_time("began_at", run->began_at);
	json_time("ended_at", run->ended_at);
	json_number("took_ms", has_time(run), run->took_ms);
	json_signed("code", has_ended(run), run->code);
	json_number("run", run->nth > 0, run->nth);
	json_time("window_from", run->from_at);
	json_time("window_until", run->until_at);
	json_known("host", run->host);
	json_number("pid", run->pid > 0, run->pid);
	json_known("program", run->program);
	putchar('}');
}

static void put_member(const char *key, const struct rowlock_run_entry *run)
{
	printf(",\"%s\":", key);
	if (run->name)
		put_run(run);
	else
		fputs("null", stdout);
}

void job_put_json(const struct jobs *jobs, const struct job_row *row)
{
	if (jobs->history) {
		put_run(&row->last);
		return;
	}
	fputs("{\"name\":", stdout);
	text_json(stdout, row->last.name);
	json_text("state", run_word(row->last.state));
	json_number("runs", row->last.nth > 0, row->last.nth);
	json_time("next_at", row->last.until_at);
	json_signed("next_ms", true, row->last.left_ms);
	put_member("last", &row->last);
	put_member("last_success", &row->success);
	put_member("last_failure", &row->failure);
	putchar('}');
}
