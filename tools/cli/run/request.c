/* SPDX-License-Identifier: MIT */
/*
 * Reads a lock request on the command line. Failure modes: wrong use (125).
 */
#include "run/request.h"

#include <string.h>

#include "common/report.h"
#include "common/text.h"

#define HOLD_MOST_MS (30 * 86400000ull)

static int take_mode(struct task *task, enum hold_mode mode)
{
	if (task->manner.mode && task->manner.mode != mode)
		return command_misused(task->title,
				       "--read, --write: give one of "
				       "them; who writes may read");
	task->manner.mode = mode;
	return -1;
}

static int take_number(const struct task *task, const char *option,
		       unsigned int *ret_number)
{
	if (text_number(optarg, 1, ROWLOCK_SEMAPHORE_MAX, ret_number))
		return -1;
	return command_misused(task->title,
			       "%s: '%s' is not a number from 1 to %d", option,
			       optarg, ROWLOCK_SEMAPHORE_MAX);
}

/* The library has the same bounds, and would be asked too late. */
static int take_time(const struct task *task, const char *option,
		     const char *least, uint64_t *ret_ms)
{
	uint64_t least_ms = 0;
	int code = command_time(task->title, option, optarg, ret_ms);

	if (code < 0 && text_duration(least, &least_ms) &&
	    (*ret_ms < least_ms || *ret_ms > HOLD_MOST_MS))
		return command_misused(task->title,
				       "%s: '%s' is not a time from %s to 30d",
				       option, optarg, least);
	return code;
}

int request_option(struct task *task, int option)
{
	struct request *request = container_of(task, struct request, task);

	switch (option) {
	case OPTION_ALSO:
		return task_also(task, optarg);
	case OPTION_READ:
		return take_mode(task, HOLD_READ);
	case OPTION_WRITE:
		return take_mode(task, HOLD_WRITE);
	case OPTION_PERMITS:
		if (strcmp(optarg, "stored") == 0) {
			task->manner.permits = ROWLOCK_PERMITS_STORED;
			return -1;
		}
		return take_number(task, "--permits", &task->manner.permits);
	case OPTION_TAKE:
		return take_number(task, "--take", &task->manner.count);
	case OPTION_AT_LEAST:
		return take_time(task, "--at-least", "1ms",
				 &task->lock.at_least_ms);
	case OPTION_DELAY:
		return take_time(task, "--delay-after-loss", "1ms",
				 &task->lock.delay_after_loss_ms);
	case OPTION_MAX:
		return take_time(task, "--max", "1s", &task->lock.max_hold_ms);
	case OPTION_ON_REVOKE:
		if (revocation_read(task->revocation, optarg,
				    !task->no_command))
			return task_listen(task) ? -1 : EXIT_FAILED;
		return command_misused(
		    task->title, "--on-revoke: '%s' is not 'later' or 'no'%s",
		    optarg, task->no_command ? "" : ", and no signal");
	case OPTION_RETRY:
		return command_time(task->title, "--retry-connect", optarg,
				    &task->retry_ms);
	case OPTION_RELEASE:
		task->tells_release = true;
		if (text_number(optarg, 0, 255, &task->release_code))
			return -1;
		return command_misused(task->title,
				       "--release-exit-code: '%s' is not a "
				       "number from 0 to 255",
				       optarg);
	case OPTION_GUARDED:
		if (optarg && strcmp(optarg, "call") != 0)
			return command_misused(task->title,
					       "--guarded: '%s' is not 'call'",
					       optarg);
		task->guarded = true;
		task->guarded_by_call = optarg != NULL;
		return -1;
	case 'n':
		task->wait_ms = 0;
		return -1;
	case 'w':
		return command_time(task->title, "--wait", optarg,
				    &task->wait_ms);
	case 'E':
		if (text_number(optarg, 0, 255, &request->conflict_code))
			return -1;
		return command_misused(task->title,
				       "--conflict-exit-code: '%s' is not a "
				       "number from 0 to 255",
				       optarg);
	default:
		return task_option(task, option);
	}
}

int request_not_acquired(const struct request *request,
			 struct acquisition *acquisition)
{
	char seen[SIGHT_SIZE] = "";
	bool done = acquisition->result == ROWLOCK_EDONE;
	bool held = acquisition->result == ROWLOCK_EBUSY ||
		    acquisition->result == ROWLOCK_ETIMEDOUT;
	bool over = acquisition->result == ROWLOCK_EOVER;
	/* The lease that was to be adopted. */
	bool gone =
	    request->task.adopts && acquisition->result == ROWLOCK_ELOST;
	bool conflict = done || held || over || gone;

	if (acquisition->result == ROWLOCK_ECANCELED)
		return (int) request->conflict_code;
	if (held && request->task.common->verbose)
		acquisition_sight(acquisition, seen);
	/* A window without a success is told, or nobody would look. */
	if (!conflict || over || gone || request->task.common->verbose)
		report(over || gone ? ROWLOCK_LOG_WARNING
		       : conflict   ? ROWLOCK_LOG_INFO
				    : ROWLOCK_LOG_ERROR,
		       "%s: %s%s%s", request->task.title,
		       acquisition->error.message, *seen ? "; now " : "", seen);
	if (done)
		return (int) request->task.job->done_code;
	return conflict ? (int) request->conflict_code : EXIT_FAILED;
}

int request_acquire(struct request *request, struct acquisition *acquisition,
		    struct signals *signals)
{
	int signal = acquisition_run(acquisition, signals);

	if (acquisition->result < 0) {
		/* Nothing is held: let a second signal end us at once. */
		signals_restore(signals);
		return signal ? EXIT_KILLED + signal
			      : request_not_acquired(request, acquisition);
	}
	return signal ? task_release(&request->task, acquisition,
				     EXIT_KILLED + signal)
		      : -1;
}

/* -1 or the exit code. */
static int check_permits(struct task *task)
{
	struct hold_manner *manner = &task->manner;

	if (manner->count && !manner->permits)
		return command_misused(
		    task->title,
		    "--take needs --permits, which says how many there are");
	if (!manner->permits)
		return -1;
	if (manner->mode || task->name_count > 1 ||
	    task->lock.strategy != ROWLOCK_LEASE)
		return command_misused(task->title,
				       "--permits: only leases, of one "
				       "name, without --read, --write "
				       "and --also");
	if (!manner->count)
		manner->count = 1;
	if (manner->count > manner->permits)
		return command_misused(task->title,
				       "--take: there are %u permits, and not "
				       "%u",
				       manner->permits, manner->count);
	return -1;
}

/* -1 or the exit code. */
static int check_job(const struct task *task)
{
	int code = task->job ? job_read(task->job, task->title) : -1;

	if (code >= 0 || !task->job || !task->job->per)
		return code;
	if (task->lock.strategy != ROWLOCK_LEASE || task->name_count > 1 ||
	    task->manner.mode || task->manner.permits)
		return command_misused(task->title,
				       "--once-per: only a lease, of one "
				       "name, without --read, --write, "
				       "--permits and --also");
	if (task->lock.at_least_ms)
		return command_misused(task->title,
				       "--once-per: without --at-least, which "
				       "it makes needless");
	if (task->lock.delay_after_loss_ms)
		return command_misused(task->title,
				       "--once-per: not with "
				       "--delay-after-loss, which its end does "
				       "not know");
	if (task->guarded_by_call)
		return command_misused(task->title,
				       "--once-per: with --guarded, but not "
				       "with --guarded=call, which cannot note "
				       "a success");
	if (task->in_place)
		return command_misused(task->title,
				       "--once-per: not with --no-supervise, "
				       "as the exit status of the command "
				       "decides");
	task->job->guarded = task->guarded;
	return -1;
}

/* -1 or the exit code. */
static int check_revocation(const struct task *task)
{
	if (!task->revocation->started)
		return -1;
	if (!task_can_be_asked(task))
		return command_misused(task->title,
				       "--on-revoke: only a lease, without "
				       "--read, --write and --permits");
	if (task->in_place)
		return command_misused(task->title,
				       "--on-revoke: not with --no-supervise");
	return -1;
}

/* Refuse options that exclude each other. Returns -1 or the exit code. */
int request_check(struct task *task)
{
	int code;

	if (task->name_count > 1 && task->lock.strategy != ROWLOCK_LEASE)
		return command_misused(task->title,
				       "--also: only leases can be held "
				       "together");
	if (task->manner.mode && task->lock.strategy != ROWLOCK_LEASE)
		return command_misused(task->title,
				       "--read, --write: only leases "
				       "can be shared");
	if (task->manner.mode && task->name_count > 1)
		return command_misused(task->title,
				       "--read, --write: one name at a "
				       "time, so without --also");
	if ((task->lock.at_least_ms || task->lock.delay_after_loss_ms) &&
	    (task->lock.strategy != ROWLOCK_LEASE || task->name_count > 1 ||
	     task->manner.mode || task->manner.permits))
		return command_misused(task->title,
				       "--at-least, --delay-after-loss: only a "
				       "lease, of one name, without --read, "
				       "--write, --permits and --also");
	if (task->lock.at_least_ms && task->lock.delay_after_loss_ms)
		return command_misused(task->title,
				       "--at-least and --delay-after-loss "
				       "exclude each other");
	if (task->lock.max_hold_ms && task->manner.mode)
		return command_misused(task->title,
				       "--max: not with --read and --write");
	if (task->lock.max_hold_ms &&
	    task->lock.max_hold_ms < task->lock.at_least_ms)
		return command_misused(task->title,
				       "--max: it is below --at-least");
	if (task->guarded &&
	    (task->lock.strategy != ROWLOCK_LEASE || task->name_count > 1 ||
	     task->manner.mode || task->manner.permits))
		return command_misused(task->title,
				       "--guarded: only a lease, of one "
				       "name, without --read, --write, "
				       "--permits and --also");
	if (task->in_place && task->tells_release)
		return command_misused(task->title,
				       "--no-supervise: the exit status is the "
				       "command's, so without "
				       "--release-exit-code");
	code = check_revocation(task);
	if (code < 0)
		code = check_job(task);
	return code < 0 ? check_permits(task) : code;
}
