// SPDX-License-Identifier: MIT
/*
 * Gathering: each line of a history changes one hold, one client or one fault.
 * The lines of a thread come in their order, files in any.
 *
 * What contradicts itself (a return without its call, two calls of one thread
 * at once) is counted as broken, and believed as far as it can be.
 */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rowlock.h>

#include "names.h"
#include "vector.h"

#define MOST_PROCESSES (1u << 20)
#define NOBODY UINT32_MAX

static void broken(struct run *run, const struct history_line *line,
		   const char *why)
{
	struct check_excerpt excerpt = { .n = 0 };

	excerpt_add_line(&excerpt, line);
	run_report(run, CHECK_BROKEN, &excerpt, "%s", why);
}

/* ---------------------------------------------------------------- holds */

static size_t slot_of(const struct run *run, uint32_t process, uint32_t thread,
		      uint64_t serial)
{
	uint64_t value =
	    (serial * 0x9E3779B97F4A7C15u) ^
	    (((uint64_t) process << 32 | thread) * 0xC2B2AE3D27D4EB4Fu);
	size_t mask = run->index_room - 1;
	size_t slot = (size_t) (value ^ value >> 29) & mask;

	for (; run->index[slot] != NOBODY; slot = (slot + 1) & mask) {
		const struct hold *hold = &run->holds[run->index[slot]];

		if (hold->process == process && hold->thread == thread &&
		    hold->serial == serial)
			break;
	}
	return slot;
}

static void widen_index(struct run *run)
{
	size_t i;

	free(run->index);
	run->index_room = run->index_room ? run->index_room * 2 : 1024;
	run->index = malloc(run->index_room * sizeof(*run->index));
	if (!run->index)
		abort();
	memset(run->index, 0xff, run->index_room * sizeof(*run->index));
	for (i = 0; i < run->n; i++) {
		const struct hold *hold = &run->holds[i];

		run->index[slot_of(run, hold->process, hold->thread,
				   hold->serial)] = (uint32_t) i;
	}
}

static struct hold *find_hold(struct run *run, const struct history_line *line)
{
	uint32_t number = NOBODY;

	if (run->index_room)
		number = run->index[slot_of(run, line->process, line->thread,
					    line->serial)];
	if (number != NOBODY)
		return &run->holds[number];
	broken(run, line, "nobody asked for this hold");
	return NULL;
}

static void begin_call(struct run *run, struct hold *hold,
		       const struct history_line *line)
{
	if (hold->call)
		broken(run, line, "a call while another is under way");
	hold->call = line->time;
	hold->calling = (uint8_t) line->event;
}

static void take_acquire(struct run *run, const struct history_line *line)
{
	struct hold *hold;
	size_t slot;

	if (run->index_room <= run->n * 2)
		widen_index(run);
	slot = slot_of(run, line->process, line->thread, line->serial);
	if (run->index[slot] != NOBODY) {
		broken(run, line, "a serial number used twice");
		return;
	}
	run->holds =
	    vector_grow(run->holds, run->n, &run->room, sizeof(*run->holds));
	run->index[slot] = (uint32_t) run->n;
	hold = &run->holds[run->n++];
	*hold = (struct hold){ .text = line->text,
			       .process = line->process,
			       .thread = line->thread,
			       .serial = line->serial,
			       .name = names_number(run->names, line->name),
			       .wait_ms = line->wait_ms,
			       .silent = !line->callback,
			       .reads = history_is(line->mode, "read"),
			       .among = line->of > 1,
			       .permits = (uint16_t) line->permits,
			       .takes = (uint16_t) line->takes,
			       .acquire_call = line->time };
	run->first = first_of(run->first, line->time);
	begin_call(run, hold, line);
}

static void note(struct notes *notes, const struct run *run,
		 const struct hold *hold, const struct history_line *line)
{
	notes->all = vector_grow(notes->all, notes->n, &notes->room,
				 sizeof(*notes->all));
	notes->all[notes->n++] =
	    (struct note){ .hold = (uint32_t) (hold - run->holds),
			   .event = (uint8_t) line->event,
			   .code = (int8_t) line->code,
			   .mysql = (uint16_t) line->mysql,
			   .call = hold->call,
			   .returned = line->time };
}

/* Late ones are looked at again when all is known; most are not late. */
static void note_time(struct run *run, const struct hold *hold,
		      const struct history_line *line)
{
	uint64_t limit = run->rules->call_slack_ms;

	if (hold->calling == HISTORY_ACQUIRE) {
		if (hold->wait_ms < 0)
			return;
		if (hold->wait_ms)
			limit = (uint64_t) hold->wait_ms;
	}
	if (line->time - hold->call > limit * RUN_MS)
		note(&run->late, run, hold, line);
}

static void note_code(struct run *run, struct hold *hold,
		      const struct history_line *line)
{
	if (line->code > 0 || line->code <= -CHECK_CODES) {
		broken(run, line, "not a code");
		return;
	}
	run->result->codes[-line->code]++;
	if (line->code == ROWLOCK_ELOST && line->event != HISTORY_ACQUIRED)
		hold->denied = first_of(hold->denied, line->time);
	else if (line->code && (line->code != ROWLOCK_EBUSY || hold->wait_ms))
		note(&run->errors, run, hold, line);
}

/* The end of a call: true if it was the one that is under way. */
static bool end_call(struct run *run, struct hold *hold,
		     const struct history_line *line, enum history_event call)
{
	if (!hold->call || hold->calling != call || hold->call > line->time) {
		broken(run, line, "a return without its call");
		return false;
	}
	note_time(run, hold, line);
	note_code(run, hold, line);
	return true;
}

static void take_acquired(struct run *run, struct hold *hold,
			  const struct history_line *line)
{
	if (!end_call(run, hold, line, HISTORY_ACQUIRE))
		return;
	hold->acquired = line->time;
	hold->acquire_code = (int32_t) line->code;
	hold->call = 0;
	if (line->code || !line->token)
		return;
	hold->token = line->token;
	hold->token_call = hold->acquire_call;
	hold->drew = line->time;
}

/* Only the first draw asks the server; later ones repeat it. */
static void take_drew(struct run *run, struct hold *hold,
		      const struct history_line *line)
{
	uint64_t call = hold->call;

	if (!end_call(run, hold, line, HISTORY_TOKEN))
		return;
	hold->call = 0;
	if (line->code)
		return;
	if (hold->token && hold->token != line->token)
		hold->redrew = first_of(hold->redrew, line->time);
	if (hold->token)
		return;
	hold->token = line->token;
	hold->token_call = call;
	hold->drew = line->time;
	hold->proved = later_of(hold->proved, call);
}

static void take_verified(struct run *run, struct hold *hold,
			  const struct history_line *line)
{
	uint64_t call = hold->call;

	if (!end_call(run, hold, line, HISTORY_VERIFY))
		return;
	hold->call = 0;
	if (!line->code)
		hold->proved = later_of(hold->proved, call);
}

static void take_released(struct run *run, struct hold *hold,
			  const struct history_line *line)
{
	if (!end_call(run, hold, line, HISTORY_RELEASE))
		return;
	hold->call = 0;
	hold->released = line->time;
	hold->release_code = (int8_t) line->code;
}

static void take_held(struct hold *hold, const struct history_line *line)
{
	if (line->yes)
		hold->vouched = later_of(hold->vouched, line->time);
	else if (!hold->release_call)
		hold->denied = first_of(hold->denied, line->time);
}

static void take_of_hold(struct run *run, const struct history_line *line)
{
	struct hold *hold = find_hold(run, line);

	if (!hold)
		return;
	switch (line->event) {
	case HISTORY_ACQUIRED:
		take_acquired(run, hold, line);
		break;
	case HISTORY_DREW:
		take_drew(run, hold, line);
		break;
	case HISTORY_VERIFIED:
		take_verified(run, hold, line);
		break;
	case HISTORY_RELEASED:
		take_released(run, hold, line);
		break;
	case HISTORY_HELD:
		take_held(hold, line);
		break;
	case HISTORY_LOST:
		if (hold->lost)
			hold->relost = later_of(hold->lost, line->time);
		hold->lost = first_of(hold->lost, line->time);
		break;
	case HISTORY_RELEASE:
		hold->release_call = line->time;
		begin_call(run, hold, line);
		break;
	default: /* token, verify */
		begin_call(run, hold, line);
	}
}

/* ------------------------------------------------------------- the rest */

static const struct client nobody = { .ttl = 30000ull * RUN_MS,
				      .margin = 3000ull * RUN_MS,
				      .call = 5000ull * RUN_MS,
				      .killed = UINT64_MAX };

static struct client *make_client(struct run *run, int64_t process)
{
	size_t n;

	if (process < 0 || process >= MOST_PROCESSES)
		return NULL;
	if ((size_t) process >= run->n_clients) {
		n = (size_t) process + 16;
		run->clients = realloc(run->clients, n * sizeof(*run->clients));
		if (!run->clients)
			abort();
		while (run->n_clients < n)
			run->clients[run->n_clients++] = nobody;
	}
	return &run->clients[process];
}

const struct client *run_client(const struct run *run, uint32_t process)
{
	return process < run->n_clients ? &run->clients[process] : &nobody;
}

bool run_is_row(const struct run *run, const struct hold *hold)
{
	return run_client(run, hold->process)->row;
}

static void take_client(struct run *run, const struct history_line *line)
{
	struct client *client = make_client(run, line->process);
	uint64_t killed;

	if (!client) {
		broken(run, line, "no such process");
		return;
	}
	killed = client->killed;
	*client = (struct client){
		.row = history_is(line->strategy, "row"),
		.observe = line->observe,
		.silent = !line->callback,
		.ttl = line->ttl_ms * RUN_MS,
		.margin = later_of(line->ttl_ms / 10, 50) * RUN_MS,
		.max = line->max_ms * RUN_MS,
		.call = line->call_ms * RUN_MS,
		.killed = killed,
		.line = *line,
	};
	run->longest_ttl = later_of(run->longest_ttl, client->ttl);
}

static void take_fault(struct run *run, const struct history_line *line)
{
	const struct fault *fault;
	struct client *client;

	if (!faults_begin(&run->faults, line))
		broken(run, line, "an unknown kind of fault");
	run->result->faults++;
	fault = &run->faults.all[run->faults.n - 1];
	if (!(fault->effects & FAULT_KILLS))
		return;
	client = make_client(run, fault->process);
	if (client)
		client->killed = line->time;
	else
		broken(run, line, "who was killed?");
}

static void keep(struct lines *lines, const struct history_line *line)
{
	lines->all = vector_grow(lines->all, lines->n, &lines->room,
				 sizeof(*lines->all));
	lines->all[lines->n++] = *line;
}

void run_take(const struct history_line *line, bool good, void *arg)
{
	struct run *run = arg;

	run->result->lines++;
	if (!good) {
		broken(run, line, "not a line of a history");
		return;
	}
	if (line->time > run->last.time)
		run->last = *line;
	switch (line->event) {
	case HISTORY_CLIENT:
		take_client(run, line);
		break;
	case HISTORY_ACQUIRE:
		take_acquire(run, line);
		break;
	case HISTORY_FAULT:
		take_fault(run, line);
		break;
	case HISTORY_HEAL:
		if (!faults_heal(&run->faults, line))
			broken(run, line, "healed what had not begun");
		break;
	case HISTORY_ROWS:
		keep(&run->rows, line);
		break;
	case HISTORY_BROKE:
		keep(&run->broke, line);
		break;
	case HISTORY_BEAT:
	case HISTORY_END:
		break;
	default:
		take_of_hold(run, line);
	}
}

/* One name under two strategies is two names. */
void run_complete(struct run *run)
{
	size_t i;

	faults_sort(&run->faults);
	for (i = 0; i < run->n; i++) {
		struct hold *hold = &run->holds[i];

		hold->name = hold->name * 2 + run_is_row(run, hold);
	}
	free(run->index);
	run->index = NULL;
	run_confirm_releases(run);
}

struct history_word run_name(const struct run *run, uint32_t name)
{
	return names_word(run->names, name / 2);
}

void run_fini(struct run *run)
{
	free(run->holds);
	free(run->index);
	free(run->clients);
	names_free(run->names);
	faults_fini(&run->faults);
	free(run->errors.all);
	free(run->late.all);
	free(run->rows.all);
	free(run->broke.all);
}

/* -------------------------------------------------------------- sorting */

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_acquired(const void *left, const void *right, void *arg)
{
	const struct hold *holds = arg;
	const struct hold *a = &holds[*(const uint32_t *) left];
	const struct hold *b = &holds[*(const uint32_t *) right];
	int order = compare(a->name, b->name);

	return order ? order : compare(a->acquired, b->acquired);
}

static int by_call(const void *left, const void *right, void *arg)
{
	const struct hold *holds = arg;
	const struct hold *a = &holds[*(const uint32_t *) left];
	const struct hold *b = &holds[*(const uint32_t *) right];
	int order = compare(a->name, b->name);

	return order ? order : compare(a->acquire_call, b->acquire_call);
}

uint32_t *run_by_name(const struct run *run, bool granted, size_t *ret_n)
{
	uint32_t *numbers = malloc((run->n + 1) * sizeof(*numbers));
	size_t i, n = 0;

	if (!numbers)
		abort();
	for (i = 0; i < run->n; i++)
		if (!granted || hold_granted(&run->holds[i]))
			numbers[n++] = (uint32_t) i;
	qsort_r(numbers, n, sizeof(*numbers), granted ? by_acquired : by_call,
		run->holds);
	*ret_n = n;
	return numbers;
}
