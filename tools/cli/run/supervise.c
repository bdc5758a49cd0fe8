/* SPDX-License-Identifier: MIT */
/*
 * Watch a command and its lock.
 *
 * One loop waits for three things: signals (the child's among them), the lost
 * callback, and a timer for the next look at the hold (deadline.h). Each round
 * looks at the lock first, so that a process that was stopped for too long
 * acts on that before anything else.
 *
 * Failure modes: if the hold is lost or about to be, the command's process
 * group is ended. A process in an uninterruptible wait of the kernel can
 * survive SIGKILL; we report it and leave after a while. One that has become
 * another user's cannot be ended: we report that as soon as we see it.
 */
#include "run/supervise.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/macro.h"
#include "command.h"
#include "common/pace.h"
#include "common/report.h"
#include "run/deadline.h"
#include "run/hold.h"
#include "run/reach.h"
#include "run/timer.h"

/* How long to wait for the end of killed processes. */
#define KILLED_MS 10000

/* When to look first for processes that we may not signal, and then ever more
 * rarely. */
#define REACH_FIRST_MS 100
#define REACH_FACTOR 5

struct run {
	const struct supervision *plan;
	struct child child;
	struct terminal terminal;
	struct deadline deadline;
	uint64_t give_up_at;
	uint64_t reach_ms; /* the next pause between two looks for those */
	uint64_t reach_at; /* DEADLINE_NEVER: no more */
	int lost_fd;
	int timer_fd;
	sigset_t passed; /* the signals that were passed on */
	int heeded;      /* the signal that a request has sent */
	bool asked;      /* a signal that asks for an end was sent */
	bool overtaken;  /* we came later than the guard's time */
};

/* Each event counts once; how often it came does not matter. */
static void drain(int fd)
{
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));

	(void) n;
}

static uint64_t remaining_ms(const struct run *run)
{
	if (!rowlock_held(run->plan->lock))
		return 0;
	return rowlock_remaining_ms(run->plan->lock);
}

/* The leader may be gone, so name a process that is there. */
static void tell_refused(const struct run *run, int signal)
{
	pid_t stranger = reach_stranger(run->child.pid);

	if (!stranger)
		return;
	report(ROWLOCK_LOG_ERROR,
	       "%s: '%s' on %s: rowlock may not send signal %d to process %d, "
	       "which is another user's: send it yourself",
	       run->plan->title, run->plan->name, run->plan->server, signal,
	       (int) stranger);
}

static void end_by_term(const struct run *run, uint64_t remaining)
{
	bool sent = child_signal(&run->child, SIGTERM);

	/* A stopped process would not see it. */
	child_signal(&run->child, SIGCONT);
	if (remaining > 0)
		report_event(
		    JOURNAL_LOST, run->plan->name, ROWLOCK_LOG_ERROR,
		    "%s: the lock '%s' on %s is about to be lost (%s): "
		    "sending SIGTERM",
		    run->plan->title, run->plan->name, run->plan->server,
		    hold_threat(run->plan->lock, &run->deadline));
	else
		report_event(
		    JOURNAL_LOST, run->plan->name, ROWLOCK_LOG_ERROR,
		    "%s: the lock '%s' on %s was lost (%s): sending SIGTERM",
		    run->plan->title, run->plan->name, run->plan->server,
		    hold_loss(run->plan->lock));
	if (!sent)
		tell_refused(run, SIGTERM);
}

static void end_by_kill(struct run *run)
{
	bool sent = child_signal(&run->child, SIGKILL);

	run->give_up_at = pace_now_ms() + (sent ? KILLED_MS : 0);
	report(ROWLOCK_LOG_ERROR,
	       "%s: the lock '%s' on %s is gone: sending SIGKILL",
	       run->plan->title, run->plan->name, run->plan->server);
	if (!sent)
		tell_refused(run, SIGKILL);
}

/* Signal first: no message may come before it. */
static void end_group(struct run *run, enum deadline_phase phase,
		      uint64_t remaining)
{
	if (phase == DEADLINE_TERM)
		end_by_term(run, remaining);
	else
		end_by_kill(run);
}

/* Look at the lock, and act on it. */
static void look(struct run *run)
{
	enum deadline_phase before = run->deadline.phase, phase;
	uint64_t now = pace_now_ms(), remaining = remaining_ms(run), wake;

	run->overtaken |= guard_is_due(run->plan->guard, now);
	phase = deadline_step(&run->deadline, now, remaining, &wake);
	if (phase != before)
		end_group(run, phase, remaining);
	guard_set(run->plan->guard, run->child.pid,
		  deadline_guard_time(&run->deadline));
	if (phase == DEADLINE_KILL)
		wake = run->give_up_at > now ? run->give_up_at - now : 0;
	timer_set(run->timer_fd, 0, wake);
}

/* Stop as the command has stopped, so that the shell sees it; when we are
 * continued, continue the command if the lock is still ours. */
static void stop_too(struct run *run, int signal)
{
	bool given = run->terminal.given;

	terminal_take(&run->terminal, run->child.pid);
	signals_suffer(signal);
	look(run);
	if (run->deadline.phase != DEADLINE_WATCH)
		return;
	if (given && terminal_is_ours(&run->terminal))
		terminal_give(&run->terminal, run->child.pid);
	child_signal(&run->child, SIGCONT);
}

static void child_stopped(struct run *run)
{
	int signal = run->child.stopped;
	bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;

	run->child.stopped = 0;
	/* SIGSTOP is sent on purpose, and so will be SIGCONT. */
	if (run->terminal.fd < 0 || (signal != SIGTSTP && !wants_terminal))
		return;
	if (wants_terminal && terminal_is_ours(&run->terminal)) {
		terminal_give(&run->terminal, run->child.pid);
		child_signal(&run->child, SIGCONT);
		return;
	}
	stop_too(run, signal);
}

/* One that does not ask for an end, as WINCH, is no loss if it cannot be sent.
 */
static void pass_on(struct run *run, int signal)
{
	bool fatal = signals_is_fatal(signal);

	if (fatal && !signals_is_for_good(*run->plan->ret_told))
		*run->plan->ret_told = signal;
	run->asked = run->asked || fatal;
	sigaddset(&run->passed, signal);
	if (!child_signal(&run->child, signal) && fatal)
		tell_refused(run, signal);
}

static void take_signals(struct run *run)
{
	int signal;

	while ((signal = signals_next(run->plan->signals)) != 0) {
		if (signal != SIGCHLD) {
			pass_on(run, signal);
			continue;
		}
		child_reap(&run->child);
		if (run->child.stopped)
			child_stopped(run);
	}
}

/* The command is told once, and we lead until it has ended. */
static void give_way(struct run *run)
{
	struct challenge *challenge = run->plan->challenge;
	bool sent;

	drain(challenge->fd);
	if (run->deadline.phase != DEADLINE_WATCH)
		return;
	run->asked = true;
	sent = child_signal(&run->child, SIGTERM);
	child_signal(&run->child, SIGCONT);
	report(ROWLOCK_LOG_INFO,
	       "%s: '%s' on %s: a candidate of weight %u waits: sending "
	       "SIGTERM",
	       run->plan->title, run->plan->name, run->plan->server,
	       atomic_load(&challenge->weight));
	if (!sent)
		tell_refused(run, SIGTERM);
}

/* The holder has answered by now: the client's thread did. */
static void heed(struct run *run)
{
	const struct supervision *plan = run->plan;
	int signal = plan->revocation->signal;
	bool sent = true;
	char words[REVOCATION_WORDS_SIZE];
	struct rowlock_revocation asked;

	if (!revocation_take(plan->revocation, &asked))
		return;
	if (run->deadline.phase != DEADLINE_WATCH)
		signal = 0;
	if (signal) {
		run->asked = true;
		run->heeded = signal;
		sent = child_signal(&run->child, signal);
		/* A stopped process would not see it. */
		child_signal(&run->child, SIGCONT);
	}
	revocation_words(&asked, words);
	report(ROWLOCK_LOG_INFO, "%s: '%s' on %s is asked for by %s%s",
	       plan->title, asked.name, plan->server, words,
	       signal ? "; the command gets its signal" : "");
	if (!sent)
		tell_refused(run, signal);
}

/* Has the command ended; and if we ended it, has its group? */
static bool is_over(struct run *run)
{
	if (!run->child.ended)
		return run->deadline.phase == DEADLINE_KILL &&
		       pace_now_ms() >= run->give_up_at;
	if (run->deadline.phase == DEADLINE_WATCH ||
	    !child_group_is_alive(&run->child))
		return true;
	if (run->deadline.phase == DEADLINE_TERM) {
		deadline_hasten(&run->deadline, pace_now_ms());
		return false;
	}
	return pace_now_ms() >= run->give_up_at;
}

/* The command may become another user's at any time. */
static void look_for_strangers(struct run *run)
{
	pid_t stranger = reach_stranger(run->child.pid);

	run->reach_ms *= REACH_FACTOR;
	run->reach_at = pace_now_ms() + run->reach_ms;
	if (!stranger)
		return;
	run->reach_at = DEADLINE_NEVER;
	report(ROWLOCK_LOG_WARNING,
	       "%s: process %d is another user's, so rowlock cannot end it if "
	       "'%s' on %s is lost: run rowlock as that user%s",
	       run->plan->title, (int) stranger, run->plan->name,
	       run->plan->server, run->plan->or_else);
}

/* Wait for an event, and look for strangers meanwhile. */
static void await(struct run *run, struct pollfd *fds, size_t count)
{
	int n;

	do {
		uint64_t now = pace_now_ms(), ms = 0;

		if (run->reach_at > now)
			ms = run->reach_at - now;
		n = pace_poll(fds, count, ms > INT_MAX ? -1 : (int) ms);
		if (n == 0)
			look_for_strangers(run);
	} while (n == 0);
	if (n < 0 && errno != EINTR)
		abort();
}

static void watch(struct run *run)
{
	struct pollfd fds[] = {
		{ .fd = run->plan->signals->fd, .events = POLLIN },
		{ .fd = run->lost_fd, .events = POLLIN },
		{ .fd = run->timer_fd, .events = POLLIN },
		/* poll() passes over -1. */
		{ .fd = run->plan->challenge->fd, .events = POLLIN },
		{ .fd = revocation_fd(run->plan->revocation),
		  .events = POLLIN },
	};

	for (;;) {
		if (is_over(run))
			return;
		look(run);
		await(run, fds, RLK_ARRAY_SIZE(fds));
		if (fds[1].revents)
			drain(run->lost_fd);
		if (fds[2].revents)
			drain(run->timer_fd);
		if (fds[3].revents)
			give_way(run);
		if (fds[4].revents)
			heed(run);
		if (fds[0].revents) {
			look(run);
			take_signals(run);
		}
	}
}

/* The terminal's signal for a key goes to its group, which the command leads:
 * we learn of it by the command's exit status, killed by it or not. */
static void note_key(struct run *run)
{
	int signal = run->child.code - EXIT_SIGNAL;

	if (run->terminal.given && run->child.ended &&
	    (signal == SIGINT || signal == SIGQUIT)) {
		*run->plan->ret_told = signal;
		sigaddset(&run->passed, signal);
	}
}

/* Did a signal that was not passed on end the command? */
static bool died(const struct run *run)
{
	return run->child.killed &&
	       !sigismember(&run->passed, run->child.killed);
}

/* End as the command ended: by its signal, if that was passed on. */
static int status(const struct run *run)
{
	return run->child.killed && !died(run) ? EXIT_KILLED + run->child.killed
					       : run->child.code;
}

/* It ended as it was asked to: whoever asked is to have the lock. */
static bool gave_back(const struct run *run)
{
	return run->heeded && run->child.killed == run->heeded;
}

/* Why must the lock not be released, if it is held still? Returns NULL if it
 * may be. */
static const char *stays(const struct run *run, bool lost, bool runs_on)
{
	if (!rowlock_held(run->plan->lock))
		return NULL;
	if (lost && runs_on)
		return "processes of its command run on";
	if (!run->plan->delays)
		return NULL;
	if (lost && !deadline_is_maximum(&run->deadline))
		return "it was about to be lost";
	return !lost && died(run) && !gave_back(run) ? "its command was killed"
						     : NULL;
}

/* Has the guard killed the command, as we were stopped until its time? */
static bool was_overtaken(const struct run *run)
{
	if (!run->overtaken || run->child.killed != SIGKILL ||
	    run->deadline.phase != DEADLINE_WATCH)
		return false;
	report_event(JOURNAL_LOST, run->plan->name, ROWLOCK_LOG_ERROR,
		     "%s: rowlock was stopped until the lock '%s' on %s was "
		     "about to be lost: its guard has killed the command",
		     run->plan->title, run->plan->name, run->plan->server);
	return true;
}

static int verdict(const struct run *run)
{
	bool lost = was_overtaken(run) || run->deadline.phase != DEADLINE_WATCH;
	bool runs_on = !run->child.ended || child_group_is_alive(&run->child);
	/* A signal may have ended a part of the group only. */
	pid_t stranger =
	    lost || run->asked ? reach_stranger(run->child.pid) : 0;

	if (stranger)
		report(ROWLOCK_LOG_ERROR,
		       "%s: process %d runs on without the lock '%s' on %s, as "
		       "it is another user's: end it yourself",
		       run->plan->title, (int) stranger, run->plan->name,
		       run->plan->server);
	else if (!run->child.ended)
		report(ROWLOCK_LOG_ERROR,
		       "%s: process %d does not end though it was killed; it "
		       "has the lock '%s' no more: look at it with ps(1)",
		       run->plan->title, (int) run->child.pid, run->plan->name);
	else if (lost && runs_on)
		report(ROWLOCK_LOG_ERROR,
		       "%s: processes of group %d do not end though they "
		       "were killed; they have the lock '%s' no more: look at "
		       "them with ps(1)",
		       run->plan->title, (int) run->child.pid, run->plan->name);
	else if (run->plan->verbose && runs_on)
		report(ROWLOCK_LOG_WARNING,
		       "%s: the command has left processes behind (group "
		       "%d); they run on without the lock '%s'",
		       run->plan->title, (int) run->child.pid, run->plan->name);
	*run->plan->ret_lost = lost;
	*run->plan->ret_runs_on = lost && (stranger || runs_on);
	*run->plan->ret_stays = stays(run, lost, stranger || runs_on);
	return lost ? EXIT_LOST : status(run);
}

static int start(struct run *run)
{
	if (deadline_is_near(&run->deadline, remaining_ms(run))) {
		report_event(JOURNAL_LOST, run->plan->name, ROWLOCK_LOG_ERROR,
			     "%s: the lock '%s' on %s was lost (%s) before the "
			     "command was started: run it again",
			     run->plan->title, run->plan->name,
			     run->plan->server, hold_loss(run->plan->lock));
		*run->plan->ret_lost = true;
		return EXIT_LOST;
	}
	if (!child_start(&run->child, run->plan->command, run->plan->signals,
			 &run->terminal))
		return EXIT_FAILED;
	/* The guard knows of it before there is anything to guard. */
	look(run);
	if (run->plan->guard->gone) {
		report(ROWLOCK_LOG_ERROR,
		       "%s: the process that guards the command was killed: "
		       "'%s' is not started; run it again",
		       run->plan->title, run->plan->command->argv[0]);
		return EXIT_FAILED;
	}
	run->reach_ms = REACH_FIRST_MS;
	run->reach_at = pace_now_ms() + REACH_FIRST_MS;
	/* If the lock is near its end by now, do not start the command. */
	if (run->deadline.phase == DEADLINE_WATCH) {
		child_go(&run->child);
		if (run->plan->ret_started)
			*run->plan->ret_started = true;
	} else {
		child_fini(&run->child);
	}
	return 0;
}

static void run_fini(struct run *run)
{
	/* After this the callback does not run any more. */
	rowlock_on_lost(run->plan->lock, NULL, NULL);
	if (run->lost_fd >= 0)
		close(run->lost_fd);
	if (run->timer_fd >= 0)
		close(run->timer_fd);
	if (run->terminal.fd >= 0)
		close(run->terminal.fd);
	child_fini(&run->child);
}

int supervise(const struct supervision *supervision)
{
	_cleanup_(run_fini) struct run run = {
		.plan = supervision,
		.terminal = { .fd = -1 },
		.child = { .pid = -1, .go = -1 },
		.lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.timer_fd =
		    timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK),
	};
	int r;

	if (run.lost_fd < 0 || run.timer_fd < 0) {
		report(ROWLOCK_LOG_ERROR,
		       "%s: cannot watch '%s': %s; the command is not started",
		       supervision->title, supervision->name, strerror(errno));
		return EXIT_FAILED;
	}
	sigemptyset(&run.passed);
	terminal_init(&run.terminal);
	deadline_init(&run.deadline, supervision->ttl_ms);
	deadline_limit(&run.deadline, pace_now_ms(), supervision->max_ms,
		       supervision->ttl_ms);
	rowlock_on_lost(supervision->lock, hold_lost, &run.lost_fd);
	r = start(&run);
	if (r != 0)
		return r;
	watch(&run);
	note_key(&run);
	/* The guard must not end processes that the command has left behind. */
	guard_stop(supervision->guard);
	terminal_take(&run.terminal, run.child.pid);
	return verdict(&run);
}
