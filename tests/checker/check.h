/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_CHECKER_CHECK_H
#define ROWLOCK_CHECKER_CHECK_H

/*
 * The judge of a run. It knows nothing of the library but its codes and its
 * promises (S1 to S5, L1, L2 of README.md): only what was seen, when.
 *
 * Of a hold only what is proved counts: from the return of its acquire to the
 * last moment at which the library vouched for it. So the judged hold is never
 * longer than the real one, and a violation that is reported is one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "history.h"

/** Codes are negative; -code is the index. */
#define CHECK_CODES 32

enum check_kind {
	CHECK_DOUBLE,    /* S1, S3: two holds of one name at once */
	CHECK_TOO_MANY,  /* S1, S3: more permits of a name than it has */
	CHECK_TOKENS,    /* S2: a later token that is not larger */
	CHECK_REVIVED,   /* S3: held after it was over */
	CHECK_LATE_LOSS, /* S4: the lost callback came late, twice, never */
	CHECK_TAKEN,     /* S5: a hold was lost, and nothing had happened */
	CHECK_IDLE_NAME, /* L1: free, waited for, and not acquired */
	CHECK_LATE_CALL, /* L2: a call returned late, or never */
	CHECK_ERROR,     /* an error that must not reach a caller (now) */
	CHECK_UNFAIR,    /* a thread below a third of the mean */
	CHECK_LEAK,      /* rows that nobody owns any more */
	CHECK_BROKEN,    /* lines that contradict each other */
	CHECK_KINDS,     /* how many there are */
};

/** What a kind is called. */
const char *check_kind_name(enum check_kind kind);

/** The lines of a history that show a violation, in the order of time; no
 *  fewer of them would. */
struct check_excerpt {
	struct {
		const char *text;
		size_t length;
	} lines[16];
	size_t n;
};

typedef void (*check_report_fn)(enum check_kind kind, const char *what,
				const struct check_excerpt *excerpt, void *arg);

struct check_rules {
	bool fair;              /* judge fairness */
	uint64_t call_slack_ms; /* L2: how much later than its deadline */
	uint64_t idle_slack_ms; /* L1: how long a name may be free at most */
	unsigned int most;      /* excerpts of one kind that are reported */
	check_report_fn report; /* NULL: nobody is told */
	void *arg;
};

#define CHECK_RULES_DEFAULT                                                    \
	{                                                                      \
		false, 100, 1000, 5, NULL, NULL                                \
	}

struct check_result {
	uint64_t violations[CHECK_KINDS];

	/* Figures. Times in milliseconds; 0: nothing of the kind was seen. */
	uint64_t lines;
	uint64_t acquires;
	uint64_t holds;
	uint64_t tokens;
	uint64_t lost;
	uint64_t threads;
	uint64_t faults;
	uint64_t codes[CHECK_CODES];
	double seconds;  /* from the first acquire to the last release */
	uint64_t fewest; /* holds of a thread */
	uint64_t most;
	double mean;
	double worst_loss; /* callback after the deadline of a hold cut off;
			      negative: all came before */
	uint64_t losses;   /* how many such callbacks there were */
	double worst_call; /* beyond its deadline, where nothing hindered it */
	double worst_idle; /* a name free and waited for, no fault about */
	double worst_vanished;  /* row: had by another after its holder's host
				   was cut off */
	uint64_t vanished;      /* how many such there were */
	double worst_notice;    /* row: vouched for after another had it */
	uint64_t excused_calls; /* late, while a fault hindered the caller */
};

/** Judge one run. Returns true if nothing was violated. */
bool check_files(const struct history_files *files,
		 const struct check_rules *rules,
		 struct check_result *ret_result);

/** The same for a history in memory. */
bool check_text(const char *text, const struct check_rules *rules,
		struct check_result *ret_result);

#endif
