/* SPDX-License-Identifier: MIT */
/*
 * The time in which 'rowlock hold' has its lock: see holding.h.
 *
 * Normally the input ends, or asks, and the lock is released; or it is
 * exported, kept alive until it is adopted, and never released. Failure modes:
 * a lost lock, also while nobody reads what is written; an output that cannot
 * be written; no descriptors.
 */
#include "run/holding.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/pace.h"
#include "common/report.h"
#include "common/text.h"
#include "run/timer.h"

/* More is not kept of answers that nobody reads. */
#define ANSWERS_SIZE 65536

/* The ends of a hold. */
enum end {
	END_NONE,
	END_ASKED,   /* by the program */
	END_INPUT,   /* by the end of the input */
	END_SIGNAL,  /* by a signal */
	END_LOST,    /* the lock is lost */
	END_NEAR,    /* it is about to be lost: not renewed, or its maximum */
	END_OUTPUT,  /* standard output cannot be written: errno */
	END_ADOPTED, /* it was exported, and another has it now */
};

/* ---------------------------------------------------------------- output */

/* Returns false without memory. */
static bool add(struct output *output, char *line)
{
	bool added = line && output_add(output, line);

	free(line);
	return added;
}

/* The line that tells the end, which is told once. Nobody waits for its reader:
 * the end of the output tells the same. */
static void add_last(struct holding *holding, char *line)
{
	if (!holding->told && add(&holding->output, line))
		output_put(&holding->output);
	else if (holding->told)
		free(line);
	holding->told = true;
}

/* ------------------------------------------------------------- while held */

/* Its lost callback has run? Then it is adopted, or it was lost before that. */
static enum end look_exported(const struct holding *holding)
{
	const char *adopted = rowlock_loss_text(ROWLOCK_LOSS_ADOPTED);
	const char *reason;
	eventfd_t count;

	if (eventfd_read(holding->lost_fd, &count) < 0)
		return END_NONE;
	reason = rowlock_lost_reason(holding->acquisition->hold.lock);
	return reason && strncmp(reason, adopted, strlen(adopted)) == 0
		   ? END_ADOPTED
		   : END_LOST;
}

/* Is there an end in sight? Without --json a loss is one when it is there. */
static enum end look(struct holding *holding)
{
	const struct rowlock *lock = holding->acquisition->hold.lock;
	uint64_t left = rowlock_held(lock) ? rowlock_remaining_ms(lock) : 0;
	uint64_t wake;
	enum deadline_phase phase;

	if (holding->exported)
		return look_exported(holding);
	if (left == 0)
		return END_LOST;
	if (!holding->task->json)
		return END_NONE;
	phase = deadline_step(&holding->deadline, pace_now_ms(), left, &wake);
	if (phase == DEADLINE_KILL)
		return END_NEAR;
	guard_set(holding->guard, 0, deadline_guard_time(&holding->deadline));
	timer_set(holding->timer_fd, 0, wake);
	return END_NONE;
}

static enum end take_signals(struct signals *signals)
{
	enum end end = END_NONE;
	int signal;

	while ((signal = signals_next(signals)) != 0) {
		if (signal == SIGTSTP)
			signals_suffer(signal);
		else if (signals_is_fatal(signal))
			end = END_SIGNAL;
	}
	return end;
}

/* From here on it is not held, so that there is no loss to tell in time. */
static enum end give_up(struct holding *holding)
{
	const struct task *task = holding->task;
	struct rowlock *lock = holding->acquisition->hold.lock;
	uint64_t left = rowlock_remaining_ms(lock);
	struct rowlock_errinfo error;
	char string[ROWLOCK_EXPORT_SIZE];
	int code = rowlock_export(lock, string, sizeof(string), &error);
	char *line;

	if (code == 0) {
		holding->exported = true;
		guard_stop(holding->guard);
		timer_set(holding->timer_fd, 0, UINT64_MAX);
		line = protocol_exported(task, string, left);
	} else {
		line = protocol_not_exported(task, code, error.message,
					     rowlock_held(lock));
	}
	errno = ENOMEM;
	return add(&holding->output, line) ? END_NONE : END_OUTPUT;
}

/* @told: lines that are sent together have one answer. */
static void tell_unknown(struct holding *holding, bool *told)
{
	if (!*told && holding->output.size < ANSWERS_SIZE)
		add(&holding->output,
		    protocol_unknown(&holding->input, holding->task,
				     !holding->exported));
	*told = true;
}

static enum end take_lines(struct holding *holding, const char *text,
			   size_t size)
{
	enum end end = END_NONE;
	enum protocol_word word;
	bool told = false;

	while (!end && size > 0) {
		size_t taken =
		    protocol_take(&holding->input, text, size, &word);

		text += taken;
		size -= taken;
		if (word == PROTOCOL_RELEASE)
			end = END_ASKED;
		else if (word == PROTOCOL_EXPORT)
			end = give_up(holding);
		else if (word == PROTOCOL_UNKNOWN)
			tell_unknown(holding, &told);
	}
	return end;
}

/* Without --json the text is ignored. */
static enum end take_input(struct holding *holding, struct pollfd *input)
{
	char text[4096];
	ssize_t n = read(input->fd, text, sizeof(text));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return END_NONE;
	/* In the background, where the terminal is another's. */
	if (n < 0 && errno == EIO) {
		input->fd = -1;
		return END_NONE;
	}
	/* A socket that was reset is at its end as well. */
	if (n <= 0)
		return END_INPUT;
	if (!holding->task->json)
		return END_NONE;
	return take_lines(holding, text, (size_t) n);
}

/* Nothing is given back: a program that is told, or a person, does that. */
static void tell_request(struct holding *holding)
{
	const struct task *task = holding->task;
	char words[REVOCATION_WORDS_SIZE];
	struct rowlock_revocation asked;

	if (!revocation_take(task->revocation, &asked))
		return;
	revocation_words(&asked, words);
	report(ROWLOCK_LOG_INFO, "hold: '%s' on %s is asked for by %s",
	       asked.name, holding->acquisition->hold.server, words);
	if (task->json && holding->output.size < ANSWERS_SIZE)
		add(&holding->output,
		    protocol_asked(task, &asked, task->revocation->answer));
}

static enum end watch(struct holding *holding)
{
	struct pollfd fds[] = {
		{ .fd = holding->signals->fd, .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = STDOUT_FILENO, .events = POLLOUT },
		{ .fd = holding->lost_fd, .events = POLLIN },
		{ .fd = holding->timer_fd, .events = POLLIN },
		{ .fd = revocation_fd(holding->task->revocation),
		  .events = POLLIN },
	};
	enum end end = END_NONE;

	while (!end && !(end = look(holding))) {
		if (!output_put(&holding->output))
			return END_OUTPUT;
		fds[2].fd = holding->output.size ? STDOUT_FILENO : -1;
		if (poll(fds, RLK_ARRAY_SIZE(fds), -1) < 0) {
			if (errno != EINTR)
				abort();
			continue;
		}
		if (fds[5].revents)
			tell_request(holding);
		if (fds[0].revents)
			end = take_signals(holding->signals);
		if (!end && fds[1].revents)
			end = take_input(holding, &fds[1]);
	}
	return end;
}

static char *lines_of(const struct task *task, const uint64_t *tokens)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < task->name_count; i++)
		fprintf(out, "%" PRIu64 " %s\n", tokens[i], task->names[i]);
	if (!(ferror(out) | fclose(out)))
		return text;
	free(text);
	return NULL;
}

/* The guard is told its time before the program is told that it holds: a stop
 * in between is no reason to believe in the lock later. */
static enum end hold_on(struct holding *holding, const uint64_t *tokens,
			const char *guard_sql)
{
	const struct task *task = holding->task;
	const struct acquisition *acquisition = holding->acquisition;
	enum end end = look(holding);
	const struct protocol_held held = {
		.task = task,
		.server = acquisition->hold.server,
		.tokens = tokens,
		.attempt = rowlock_attempt(acquisition->hold.lock),
		.ttl_ms = task_ttl_ms(task, acquisition),
		.deadline_ms = rowlock_remaining_ms(acquisition->hold.lock),
		.guard = task->guarded ? guard_sql : NULL,
	};

	if (end)
		return end;
	errno = ENOMEM;
	if (!add(&holding->output,
		 task->json ? protocol_held(&held) : lines_of(task, tokens)))
		return END_OUTPUT;
	return watch(holding);
}

/* ---------------------------------------------------------------- the end */

static void tell_loss(struct holding *holding, const char *reason,
		      const char *words)
{
	_cleanup_(text_freep) char *message = NULL;

	if (!holding->task->json ||
	    asprintf(&message, "the lock '%s' on %s %s", holding->task->name,
		     holding->acquisition->hold.server, words) < 0)
		return;
	add_last(holding, protocol_lost(holding->task, reason, message));
}

/* It ended in an instant. */
static void tell_ended(struct holding *holding, const char *why)
{
	const char *perhaps =
	    holding->exported
		? "; it was exported, and may have been adopted before"
		: "";
	_cleanup_(text_freep) char *words = NULL;

	if (asprintf(&words,
		     "was lost (%s%s): look at what was done under it since",
		     why, perhaps) >= 0)
		tell_loss(holding, "ended", words);
	report_event(
	    JOURNAL_LOST, holding->task->name, ROWLOCK_LOG_ERROR,
	    "hold: the lock '%s' on %s was lost (%s%s): look at what was done "
	    "under it since",
	    holding->task->name, holding->acquisition->hold.server, why,
	    perhaps);
}

static void tell_near(struct holding *holding)
{
	const struct deadline *deadline = &holding->deadline;
	_cleanup_(text_freep) char *words = NULL;

	if (asprintf(&words, "is about to be lost (%s)",
		     hold_threat(holding->acquisition->hold.lock, deadline)) >=
	    0)
		tell_loss(holding,
			  deadline_is_maximum(deadline) ? "ended" : "silence",
			  words);
}

/* It is given to whoever adopts it. Returns the exit code. */
static int leave_exported(struct holding *holding)
{
	static const char why[] = "it is exported, and not adopted yet";
	_cleanup_(text_freep) char *message = NULL;

	if (asprintf(&message, "the lock '%s' on %s is not released: %s",
		     holding->task->name, holding->acquisition->hold.server,
		     why) >= 0)
		add_last(holding,
			 protocol_handed(holding->task, "left", message));
	holding->acquisition->stays = why;
	return EXIT_DONE;
}

static void tell_adopted(struct holding *holding)
{
	const struct task *task = holding->task;
	const char *server = holding->acquisition->hold.server;
	const char *why = rowlock_lost_reason(holding->acquisition->hold.lock);
	_cleanup_(text_freep) char *message = NULL;

	if (asprintf(&message, "the lock '%s' on %s is not ours any more: %s",
		     task->name, server, why) >= 0)
		add_last(holding, protocol_handed(task, "adopted", message));
	report(ROWLOCK_LOG_INFO,
	       "hold: the lock '%s' on %s is not ours any more: %s", task->name,
	       server, why);
}

/* Returns the exit code. The program is told before anything else is done. */
static int end_by(struct holding *holding, enum end end)
{
	struct task *task = holding->task;
	const char *server = holding->acquisition->hold.server;

	if (holding->exported && (end == END_INPUT || end == END_SIGNAL))
		return leave_exported(holding);
	switch (end) {
	case END_ADOPTED:
		tell_adopted(holding);
		/* Nothing is left to release. */
		task->lost = true;
		return EXIT_DONE;
	case END_OUTPUT:
		report(ROWLOCK_LOG_ERROR,
		       "hold: cannot write the token of '%s' to stdout: %s; it "
		       "is released",
		       task->name, strerror(errno));
		return EXIT_FAILED;
	case END_LOST:
		tell_ended(holding, hold_loss(holding->acquisition->hold.lock));
		task->lost = true;
		return EXIT_LOST;
	case END_NEAR:
		tell_near(holding);
		report_event(
		    JOURNAL_LOST, task->name, ROWLOCK_LOG_ERROR,
		    "hold: the lock '%s' on %s is about to be lost (%s): it "
		    "is given up",
		    task->name, server,
		    hold_threat(holding->acquisition->hold.lock,
				&holding->deadline));
		/* The program has the time until the deadline. */
		holding->acquisition->stays = "it was about to be lost";
		task->lost = true;
		return EXIT_LOST;
	case END_SIGNAL:
		tell_loss(holding, "signal",
			  "is released: a signal asks for that");
		return EXIT_DONE;
	case END_INPUT:
		/* With --json a program says 'release', unless it died. */
		if (task->json && task->lock.delay_after_loss_ms)
			holding->acquisition->stays =
			    "its program ended without 'release'";
		break;
	case END_ASKED:
	case END_NONE:
		break;
	}
	return EXIT_DONE;
}

/* The release may have found a loss. */
static void tell_release(struct holding *holding)
{
	const struct acquisition *acquisition = holding->acquisition;
	const struct task *task = holding->task;
	const char *message = acquisition->error.message;

	if (!task->json || holding->told || acquisition->stays)
		return;
	if (acquisition->result == ROWLOCK_ELOST)
		add_last(holding, protocol_lost(task, "ended", message));
	else
		add_last(holding,
			 protocol_released(
			     task, acquisition->result < 0 ? message : NULL));
}

void holding_fail(struct holding *holding)
{
	const struct rowlock_errinfo *error = &holding->acquisition->error;

	if (holding->task->json)
		add_last(holding, protocol_failed(holding->task, error->code,
						  error->message));
}

/* Returns -1, or the exit code. */
static int begin(struct holding *holding, uint64_t *tokens, char *guard_sql)
{
	struct task *task = holding->task;
	struct acquisition *acquisition = holding->acquisition;
	int code = task_tokens(task, acquisition, tokens);

	if (code < 0 && task->guarded)
		code = task_guard(task, acquisition, guard_sql);
	if (code >= 0)
		return code;
	deadline_init(&holding->deadline, task_ttl_ms(task, acquisition));
	deadline_limit(&holding->deadline, pace_now_ms(),
		       task->lock.max_hold_ms, task_ttl_ms(task, acquisition));
	holding->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (task->json)
		holding->timer_fd =
		    timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (holding->lost_fd >= 0 && (!task->json || holding->timer_fd >= 0))
		return -1;
	acquisition->error.code = ROWLOCK_ESYSTEM;
	snprintf(acquisition->error.message, sizeof(acquisition->error.message),
		 "cannot watch '%.150s': %s; it is released", task->name,
		 strerror(errno));
	report(ROWLOCK_LOG_ERROR, "hold: %s", acquisition->error.message);
	return EXIT_FAILED;
}

int holding_run(struct holding *holding)
{
	struct acquisition *acquisition = holding->acquisition;
	struct task *task = holding->task;
	struct rowlock *lock = acquisition->hold.lock;
	uint64_t tokens[ROWLOCK_MULTILOCK_MAX];
	char guard_sql[ROWLOCK_GUARD_SQL_SIZE];
	int code = begin(holding, tokens, guard_sql);

	if (code < 0) {
		enum end end;

		rowlock_on_lost(lock, hold_lost, &holding->lost_fd);
		task_tell(task, acquisition, tokens[0]);
		end = hold_on(holding, tokens, guard_sql);
		if (end != END_NEAR && !holding->exported &&
		    !rowlock_held(lock))
			end = END_LOST;
		code = end_by(holding, end);
	} else {
		holding_fail(holding);
	}
	/* After this the callback does not run any more. */
	rowlock_on_lost(lock, NULL, NULL);
	if (holding->lost_fd >= 0)
		close(holding->lost_fd);
	/* The program knows, or has asked: a release that takes long is no
	 * loss. */
	guard_stop(holding->guard);
	code = task_release(task, acquisition, code);
	tell_release(holding);
	return code;
}
