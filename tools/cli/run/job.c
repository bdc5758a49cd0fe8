/* SPDX-License-Identifier: MIT */
/*
 * See job.h. The window is chosen before the wait for the lock: so hosts that
 * wait while one of them runs find its success, even past the window's end.
 *
 * Failure modes: wrong use (125), found before anything is asked; those of
 * rowlock/once.h.
 */
#include "run/job.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "common/pace.h"
#include "common/report.h"
#include "common/text.h"

#define HOUR_MS 3600000ull
#define DAY_MS (24 * HOUR_MS)
#define RETRIES_MOST 1000000
#define PAUSE_MS 250
#define KEEP_MOST 1000

void job_option(struct job *job, int option, const char *argument)
{
	const char **const texts[] = {
		&job->per,
		&job->zone,
		&job->offset,
		&job->retries,
		&job->keep,
		&job->success_codes,
		&job->done_code_text,
	};

	*texts[option - JOB_OPTION_FIRST] = argument;
}

/* ---------------------------------------------------------- command line */

static int read_per(struct job *job, const char *title)
{
	struct window *window = &job->window;

	window->kind = WINDOW_LENGTH;
	if (strcmp(job->per, "day") == 0) {
		window->kind = WINDOW_DAY;
		window->length_ms = DAY_MS;
	} else if (strcmp(job->per, "week") == 0) {
		window->kind = WINDOW_WEEK;
		window->length_ms = 7 * DAY_MS;
	} else if (strcmp(job->per, "hour") == 0) {
		window->length_ms = HOUR_MS;
	} else if (!text_duration(job->per, &window->length_ms) ||
		   window->length_ms < 1000 ||
		   window->length_ms > 366 * DAY_MS) {
		return command_misused(title,
				       "--once-per: '%s' is not 'hour', 'day', "
				       "'week', or a time from 1s to 366d",
				       job->per);
	}
	return -1;
}

static int read_zone(struct job *job, const char *title)
{
	if (!job->zone)
		return -1;
	if (job->window.kind == WINDOW_LENGTH)
		return command_misused(title,
				       "--zone: only with --once-per day or "
				       "week; other windows are UTC's, and "
				       "--offset moves them");
	if (!zone_read(&job->window.zone, job->zone))
		return command_misused(title,
				       "--zone: there is no zone '%s'; write "
				       "one as Europe/Berlin, as in "
				       "/usr/share/zoneinfo, which is the "
				       "package tzdata's",
				       job->zone);
	return -1;
}

static int read_offset(struct job *job, const char *title)
{
	struct window *window = &job->window;
	int code;

	if (!job->offset)
		return -1;
	code = command_time(title, "--offset", job->offset, &window->offset_ms);
	if (code >= 0)
		return code;
	if (window->offset_ms >= window->length_ms)
		return command_misused(title,
				       "--offset: '%s' is not less than the "
				       "window",
				       job->offset);
	if (window->offset_ms % 1000)
		return command_misused(title,
				       "--offset: '%s' is not in whole seconds",
				       job->offset);
	return -1;
}

static int read_numbers(struct job *job, const char *title)
{
	unsigned int retries, keep;

	if (job->retries) {
		if (!text_number(job->retries, 0, RETRIES_MOST, &retries))
			return command_misused(title,
					       "--retries: '%s' is not a "
					       "number from 0 to %d",
					       job->retries, RETRIES_MOST);
		job->most = (uint64_t) retries + 1;
	}
	if (job->keep) {
		if (!text_number(job->keep, 1, KEEP_MOST, &keep))
			return command_misused(title,
					       "--keep: '%s' is not a number "
					       "from 1 to %d",
					       job->keep, KEEP_MOST);
		job->kept = keep;
	}
	if (job->done_code_text &&
	    !text_number(job->done_code_text, 0, 255, &job->done_code))
		return command_misused(title,
				       "--done-exit-code: '%s' is not a number "
				       "from 0 to 255",
				       job->done_code_text);
	return -1;
}

/* "3" or "3-5". */
static bool read_range(struct job *job, char *range)
{
	char *dash = strchr(range, '-');
	unsigned int first, last;

	if (dash)
		*dash = '\0';
	if (!text_number(range, 0, JOB_CODE_MOST, &first))
		return false;
	last = first;
	if (dash && !text_number(dash + 1, first, JOB_CODE_MOST, &last))
		return false;
	for (unsigned int code = first; code <= last; code++)
		job->succeeds[code] = true;
	return true;
}

static int read_codes(struct job *job, const char *title)
{
	_cleanup_(text_freep) char *list = NULL;
	char *rest, *range;
	bool good = true;

	job->succeeds[0] = !job->success_codes;
	if (!job->success_codes)
		return -1;
	list = rest = strdup(job->success_codes);
	while (good && (range = strsep(&rest, ",")))
		good = read_range(job, range);
	if (list && good)
		return -1;
	return command_misused(title,
			       "--success-codes: '%s' is not a list of exit "
			       "codes from 0 to %d, such as 0,3,10-12",
			       job->success_codes, JOB_CODE_MOST);
}

int job_read(struct job *job, const char *title)
{
	int code;

	if (!job->per)
		return job->zone || job->offset || job->retries || job->keep ||
			       job->success_codes || job->done_code_text
			   ? command_misused(
				 title,
				 "--zone, --offset, --retries, --keep, "
				 "--success-codes and --done-exit-code need "
				 "--once-per")
			   : -1;
	code = read_per(job, title);
	if (code < 0)
		code = read_zone(job, title);
	if (code < 0)
		code = read_offset(job, title);
	if (code < 0)
		code = read_numbers(job, title);
	return code < 0 ? read_codes(job, title) : code;
}

/* -------------------------------------------------------------------- run */

int job_choose(struct job *job, struct rowlock_client *client,
	       struct rowlock_errinfo *reterr)
{
	int64_t now = 0;
	int r;

	if (job->chosen)
		return 0;
	r = rowlock_server_time(client, &now, reterr);
	if (r < 0)
		return r;
	job->run = (struct rowlock_run){
		.size = sizeof(job->run),
		.most = job->most,
		.keep = job->kept,
	};
	window_at(&job->window, now, &job->run.from_us, &job->run.until_us);
	job->chosen = true;
	return 0;
}

int job_begin(struct job *job, struct rowlock *lock,
	      struct rowlock_errinfo *reterr)
{
	int r = rowlock_once_begin(lock, &job->run, reterr);

	job->begun = r == 0;
	return r;
}

int job_guard_sql(const struct job *job, struct rowlock *lock, char *ret_text,
		  struct rowlock_errinfo *reterr)
{
	return rowlock_once_sql(lock, &job->run, ret_text,
				ROWLOCK_GUARD_SQL_SIZE, reterr);
}

/* May a later try note it, or find out? */
static bool passes(const struct rowlock *lock, int r,
		   enum rowlock_once_outcome how)
{
	if (r == ROWLOCK_EUNKNOWN)
		return how == ROWLOCK_ONCE_SUCCEEDED;
	return command_is_away(r) && rowlock_held(lock);
}

bool job_succeeded(const struct job *job, int code)
{
	return code >= 0 && code <= JOB_CODE_MOST && job->succeeds[code];
}

static bool is_told_to_end(struct signals *signals)
{
	int signal;

	while ((signal = signals_next(signals)) != 0)
		if (signals_is_fatal(signal))
			return true;
	return false;
}

int job_end(struct job *job, struct rowlock *lock, int code,
	    uint64_t patience_ms, struct rowlock_errinfo *error)
{
	uint64_t began = pace_now_ms();
	enum rowlock_once_outcome how =
	    !job->started ? ROWLOCK_ONCE_NOT_STARTED
	    : job_succeeded(job, code) && !job->guarded ? ROWLOCK_ONCE_SUCCEEDED
							: ROWLOCK_ONCE_FAILED;
	bool told = false;
	int r;

	if (code >= EXIT_KILLED)
		code += EXIT_SIGNAL - EXIT_KILLED;
	for (;;) {
		r = rowlock_once_end(lock, &job->run, code, how, error);
		if (!passes(lock, r, how) || is_told_to_end(job->signals) ||
		    pace_now_ms() - began > patience_ms)
			break;
		if (!told)
			report(ROWLOCK_LOG_WARNING, "run: %s; asks again",
			       error->message);
		told = true;
		pace_rest(PAUSE_MS);
	}
	job->begun = false;
	return r;
}
