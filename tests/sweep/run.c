// SPDX-License-Identifier: MIT
/*
 * One run; and the run without a fault that shows what a call says.
 *
 * A fault is put where the first run saw a round trip: the n-th time that this
 * statement is sent. So what the background threads say in between does not
 * move it, and a run does the same each time.
 */
#include "sweep.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "test.h"

static const struct kind no_fault = { "none", "", "", EFFECT_NONE };
static const struct target nowhere;

/* A busy machine gets more patience each time. And a fault may have no place,
 * in one run or the other. */
enum { TRIES = 4, MISSES = 12 };

/* The @i-th try's times, in those of a machine with nothing else to do. Most
 * need no second one: the first does not take the load into account. */
static unsigned int times_slower(int i)
{
	double load = i ? test_load() : 1;

	return (unsigned int) ((test_slowness() << i) * load);
}

/* A pattern for this statement: its beginning, what changes left open. */
static void make_pattern(const char *sql, char *pattern, size_t size)
{
	size_t at = 0;

	for (; *sql && at + 3 < size; sql++) {
		if (isdigit((unsigned char) *sql)) {
			if (at == 0 || pattern[at - 1] != '*')
				pattern[at++] = '*';
		} else {
			pattern[at++] =
			    (char) (strchr("*?[\\\"", *sql) ? '?' : *sql);
		}
	}
	if (*sql)
		pattern[at++] = '*';
	pattern[at] = '\0';
}

static bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* What the background threads say when they please. */
static bool is_background(const struct scenario *scenario, const char *command,
			  const char *sql)
{
	if (strcmp(scenario->name, "beat") == 0)
		return !has(sql, "lease_session SET expires_at");
	if (strcmp(scenario->name, "ping") == 0)
		return strcmp(command, "ping") != 0;
	/* A pinned hold is asked by a ping. */
	if (strcmp(command, "ping") == 0)
		return !strstr("verify token acquire-with-token",
			       scenario->name);
	return has(sql, "lease_session SET expires_at") ||
	       strcmp(sql, "ROLLBACK") == 0 ||
	       strncmp(sql, "SELECT TIMESTAMPDIFF(", 21) == 0;
}

static void describe(const char *command, const char *sql,
		     struct target *target)
{
	*target = (struct target){
		.turn = 1,
		.connects = strcmp(command, "login") == 0,
		.ours_to_garble =
		    !has(sql, "IS_USED_LOCK") && !has(sql, "PROCESSLIST") &&
		    !has(sql, "INNODB_") && !has(sql, "innodb_trx"),
	};
	/* "auth" is what MySQL asks of whom it does not remember. */
	target->sets_up = target->connects || strcmp(command, "auth") == 0 ||
			  has(sql, "@@SESSION") ||
			  strncmp(sql, "SET NAMES", 9) == 0;
	snprintf(target->command, sizeof(target->command), "%s", command);
	make_pattern(sql, target->pattern, sizeof(target->pattern));
}

static bool has_reply(const char *command)
{
	return strcmp(command, "close") != 0 && strcmp(command, "quit") != 0;
}

/* The lines of the proxy's log: connection, command, SQL. */
static size_t read_log(const struct scenario *scenario, char *log,
		       struct target *targets)
{
	size_t count = 0;
	char *line;

	while ((line = strsep(&log, "\n")) && count < MAX_TARGETS) {
		struct target *target = &targets[count];
		char *command;

		strsep(&line, " ");
		command = strsep(&line, " ");
		if (!line || !has_reply(command) ||
		    is_background(scenario, command, line))
			continue;
		describe(command, line, target);
		for (size_t i = 0; i < count; i++)
			target->turn +=
			    strcmp(targets[i].command, command) == 0 &&
			    strcmp(targets[i].pattern, target->pattern) == 0;
		count++;
	}
	return count;
}

static void begin(struct stage *stage, const struct scenario *scenario,
		  enum rowlock_strategy strategy)
{
	static unsigned int serial;
	char name[64];

	/* What takes so long hangs; SIGALRM ends the worker. */
	alarm((unsigned int) (4 * GUARD_MS / 1000 * stage->slow * test_load()));
	snprintf(name, sizeof(name), "test-sweep-%d.%u", (int) getpid(),
		 ++serial);
	/* Who changes sides is excluded by a writer before and after. */
	stage->rival_writes = scenario->only || stage->tried == TRIED_READER;
	stage_begin(stage, strategy, name);
	if (!*stage->problem)
		scenario->prepare(stage);
	stage_tell(stage, "reset");
}

static void call(struct stage *stage, const struct scenario *scenario)
{
	stage->called = test_now_ns();
	stage->code = scenario->call(stage);
	stage->took_ms = test_ms(stage->called, test_now_ns());
}

static size_t look_once(struct stage *stage, const struct scenario *scenario,
			enum rowlock_strategy strategy, struct target *targets)
{
	struct measure measure = { 0 };
	size_t count = 0;
	char *log;

	begin(stage, scenario, strategy);
	if (!*stage->problem) {
		call(stage, scenario);
		log = proxy_log(stage->proxy);
		count = read_log(scenario, log, targets);
		free(log);
		judge(stage, scenario, &nowhere, &no_fault, &measure);
	}
	stage_end(stage);
	return count;
}

static size_t look(struct stage *stage, const struct scenario *scenario,
		   enum rowlock_strategy strategy, struct target *targets)
{
	size_t count = 0;

	for (int i = 0; i < TRIES; i++) {
		stage->slow = times_slower(i);
		count = look_once(stage, scenario, strategy, targets);
		if (!*stage->problem || !stage->slow_only)
			break;
	}
	return count;
}

static bool was_seen(const struct target *targets, size_t count,
		     const struct target *target)
{
	for (size_t i = 0; i < count; i++)
		if (targets[i].turn == target->turn &&
		    strcmp(targets[i].command, target->command) == 0 &&
		    strcmp(targets[i].pattern, target->pattern) == 0)
			return true;
	return false;
}

/* What is said once only is no place for a fault: the KILL after a time-out on
 * a busy machine, the second half of a login that MySQL remembers afterwards,
 * one more poll. */
size_t run_without_fault(struct stage *stage, const struct scenario *scenario,
			 enum rowlock_strategy strategy, struct target *targets)
{
	struct target before[MAX_TARGETS];
	size_t seen = look(stage, scenario, strategy, before);
	size_t count = 0;
	size_t kept = 0;

	if (!*stage->problem)
		count = look(stage, scenario, strategy, targets);
	for (size_t i = 0; i < count; i++)
		if (was_seen(before, seen, &targets[i]))
			targets[kept++] = targets[i];
	return kept;
}

bool run_is_meant(const struct scenario *scenario, const struct target *target,
		  const struct kind *kind, bool full)
{
	if ((kind->full ||
	     ((scenario->alone || scenario->few) && !kind->main)) &&
	    !full)
		return false;
	if (!full && target->sets_up && !scenario->deep)
		return false;
	/* The third poll is like the second. */
	if ((!full || scenario->few) && target->turn > 2)
		return false;
	if (kind->effect == EFFECT_LIED && !target->ours_to_garble)
		return false;
	/* A server that cannot be asked for its greeting twice. */
	if (kind->effect == EFFECT_TWICE && target->connects)
		return false;
	/* Nor can a stream deliver a copy after the rival's release. */
	if (kind->effect == EFFECT_TWICE &&
	    strcmp(scenario->name, "wait-released") == 0)
		return false;
	if (strcmp(kind->place, "connect") == 0)
		return target->connects;
	return true;
}

static void set_fault(struct stage *stage, const struct target *target,
		      const struct kind *kind)
{
	char act[128];

	/* Some acts say how late. */
	if (has(kind->act, "%u"))
		snprintf(act, sizeof(act), "%.*s%u",
			 (int) (strchr(kind->act, '%') - kind->act), kind->act,
			 (CALL_MS + 200) * stage->slow);
	else
		snprintf(act, sizeof(act), "%s", kind->act);
	if (strcmp(kind->place, "connect") == 0)
		stage_tell(stage, "connect match=%u do %s", target->turn, act);
	else
		stage_tell(stage, "%s command=%s sql=\"%s\" match=%u do %s",
			   kind->place, target->command, target->pattern,
			   target->turn, act);
}

/* The fault came to pass; what chores do it to may be a moment later. One that
 * did not is taken back: it is not meant for what is said afterwards. */
static bool was_met(struct stage *stage)
{
	if (proxy_await_harms(stage->proxy, 1, 1000 * (int) stage->slow))
		return true;
	stage_tell(stage, "clear");
	return proxy_counts(stage->proxy).harms > 0;
}

static bool once(struct stage *stage, const struct scenario *scenario,
		 enum rowlock_strategy strategy, const struct target *target,
		 const struct kind *kind, struct measure *measure)
{
	bool met = true;

	begin(stage, scenario, strategy);
	if (!*stage->problem) {
		stage_tell(stage, "seed %u", stage->seed);
		set_fault(stage, target, kind);
		call(stage, scenario);
		met = was_met(stage);
		judge(stage, scenario, target, met ? kind : &no_fault, measure);
	}
	stage_end(stage);
	return met;
}

/* Who waits for the others does not hang. */
static void take_turn(struct stage *stage)
{
	alarm(0);
	while (flock(stage->turnstile, LOCK_EX) && errno == EINTR)
		;
}

static bool in_turn(struct stage *stage, const struct scenario *scenario,
		    enum rowlock_strategy strategy, const struct target *target,
		    const struct kind *kind, struct measure *measure)
{
	bool met;

	if (scenario->alone)
		take_turn(stage);
	met = once(stage, scenario, strategy, target, kind, measure);
	if (scenario->alone)
		flock(stage->turnstile, LOCK_UN);
	return met;
}

/* Whether something is said may depend on when: the second poll of one that was
 * told in time, the statement that is prepared where it was not yet, the KILL
 * after a time-out and the answer to what it killed, what the chores do in the
 * background. A busy machine says other things than it said twice before. Is
 * the place reached now, if no harm is done there? */
static bool is_reached(struct stage *stage, const struct scenario *scenario,
		       enum rowlock_strategy strategy,
		       const struct target *target, const struct kind *kind)
{
	const struct kind mark = { "mark", kind->place, "delay ms=0",
				   EFFECT_NONE };
	struct measure measure = { 0 };
	bool reached =
	    in_turn(stage, scenario, strategy, target, &mark, &measure);

	/* That was too slow, and shows nothing. */
	return reached || (*stage->problem && stage->slow_only);
}

/* What the background threads say comes when they please, and a busy machine is
 * slow; a fault of the library repeats itself. */
bool run_with_fault(struct stage *stage, const struct scenario *scenario,
		    enum rowlock_strategy strategy, const struct target *target,
		    const struct kind *kind, struct measure *measure)
{
	int slow = 0;

	for (int missed = 0; missed < MISSES; stage->repeated++) {
		bool met;

		stage->slow = times_slower(slow);
		met = in_turn(stage, scenario, strategy, target, kind, measure);
		if (*stage->problem) {
			if (!stage->slow_only || ++slow == TRIES)
				return false;
			continue;
		}
		if (met)
			return true;
		missed++;
		if (!is_reached(stage, scenario, strategy, target, kind)) {
			stage->missed = true;
			return !*stage->problem;
		}
	}
	stage_slow(stage,
		   "the fault did not come to pass in %d runs, but its place "
		   "was reached each time that nothing was done there",
		   MISSES);
	return false;
}
