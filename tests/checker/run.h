/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_CHECKER_RUN_H
#define ROWLOCK_CHECKER_RUN_H

/*
 * A run as the judges see it: what was gathered from the lines of a history.
 * Times in nanoseconds; 0: has not happened.
 */

#include "check.h"
#include "faults.h"

#define RUN_MS 1000000u

/** One acquire, and the hold that it got if its code is 0. */
struct hold {
	const char *text; /* its acquire line */
	uint32_t process;
	uint32_t thread;
	uint64_t serial;
	uint32_t name; /* number of name and strategy */
	int32_t acquire_code;
	int64_t wait_ms;

	uint64_t acquire_call;
	uint64_t acquired;
	uint64_t token_call; /* of the draw that showed the token first */
	uint64_t drew;
	uint64_t token;
	uint64_t redrew; /* the draw that showed another token than the first */
	uint64_t vouched; /* the last time rowlock_held() said yes */
	uint64_t proved;  /* call of the last one that the server confirmed */
	uint64_t denied;  /* the first time the library said it was over */
	uint64_t lost;    /* the callback */
	uint64_t relost;  /* and again */
	uint64_t release_call;
	uint64_t released;

	uint64_t call;   /* of the call that has not returned */
	uint8_t calling; /* enum history_event of it */
	uint8_t silent;  /* nobody listens for its loss */
	uint8_t reads;   /* others may read at the same time */
	uint8_t among;   /* several that are had together or not at all */
	int8_t release_code;
	uint16_t permits; /* that the name has; 0: it is no semaphore, */
	uint16_t takes;   /* and how many of them these are */
};

/** What is known of a process. */
struct client {
	bool row;
	bool observe;
	bool silent; /* has no lost callback */
	uint64_t ttl;
	uint64_t margin;
	uint64_t max; /* of a hold; 0: none */
	uint64_t call;
	uint64_t killed;          /* UINT64_MAX: it was not */
	struct history_line line; /* .text NULL: it wrote none */
};

/** A call that returned an error worth looking at, or late. */
struct note {
	uint32_t hold;
	uint8_t event; /* enum history_event of the return */
	int8_t code;
	uint16_t mysql;
	uint64_t call;
	uint64_t returned;
};

struct notes {
	struct note *all;
	size_t n;
	size_t room;
};

struct lines {
	struct history_line *all;
	size_t n;
	size_t room;
};

struct run {
	const struct check_rules *rules;
	struct check_result *result;
	const char *const *ends; /* of the texts that lines are in */
	size_t n_ends;

	struct hold *holds;
	size_t n;
	size_t room;
	uint32_t *index; /* of holds, by identity */
	size_t index_room;

	struct client *clients;
	size_t n_clients;
	struct names *names;

	struct faults faults;
	struct notes errors;
	struct notes late;
	struct lines rows;
	struct lines broke;
	uint64_t longest_ttl;
	uint64_t first; /* acquire */
	struct history_line last;
};

/** Take in one line; a history_line_fn, @arg is the run. */
void run_take(const struct history_line *line, bool good, void *arg);
/** After the last line. */
void run_complete(struct run *run);
/** When all calls are known: which releases prove that their hold stood. */
void run_confirm_releases(struct run *run);
void run_fini(struct run *run);

const struct client *run_client(const struct run *run, uint32_t process);
/** The name that has this number, as it stands in the history. */
struct history_word run_name(const struct run *run, uint32_t name);
/** Numbers of all holds (of all acquires) in the order of name and time. */
uint32_t *run_by_name(const struct run *run, bool granted, size_t *ret_n);
bool run_is_row(const struct run *run, const struct hold *hold);

static inline bool hold_granted(const struct hold *hold)
{
	return hold->acquired && !hold->acquire_code;
}

static inline bool hold_drew(const struct hold *hold)
{
	return hold->token != 0;
}

static inline uint64_t later_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/** The earlier of two times that may not have happened. */
static inline uint64_t first_of(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* ------------------------------------------------------------- excerpts */

/** Add the hold's line with this event and time. */
void excerpt_add(const struct run *run, struct check_excerpt *excerpt,
		 const struct hold *hold, enum history_event event,
		 uint64_t time);
/** The same of a return, with its call. */
void excerpt_add_call(const struct run *run, struct check_excerpt *excerpt,
		      const struct hold *hold, enum history_event event,
		      uint64_t time);
/** Add the shortest proof that @hold stood at @time or later: one line of
 *  held, @slack later at least, or a call and its return. */
void excerpt_add_proof(const struct run *run, struct check_excerpt *excerpt,
		       const struct hold *hold, uint64_t time, uint64_t slack);
/** Add what said at @time that @hold is over. */
void excerpt_add_denial(const struct run *run, struct check_excerpt *excerpt,
			const struct hold *hold, uint64_t time);
void excerpt_add_line(struct check_excerpt *excerpt,
		      const struct history_line *line);

/** Count a violation; tell it if it is among the first. */
void run_report(struct run *run, enum check_kind kind,
		struct check_excerpt *excerpt, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/** Whether it would be told: else its excerpt need not be made. */
bool run_wants(const struct run *run, enum check_kind kind);

/* --------------------------------------------------------------- judges */

void judge_holds(struct run *run);
void judge_permits(struct run *run);
void judge_tokens(struct run *run);
void judge_losses(struct run *run);
void judge_names(struct run *run);
void judge_vanished(struct run *run);
void judge_calls(struct run *run);

#endif
