/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_CHECKER_FAULTS_H
#define ROWLOCK_CHECKER_FAULTS_H

/*
 * The faults of a run: which there were when, and what each of them excuses.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "history.h"

/** What a fault does; or them together. */
enum fault_effect {
	FAULT_KILLS = 1 << 0,     /* its process is dead */
	FAULT_CUTS = 1 << 1,      /* no answer of the server gets through */
	FAULT_LOSES_ROW = 1 << 2, /* holds may be lost if it lasts */
	FAULT_LOSES_LEASE = 1 << 3,
	FAULT_ERRORS = 1 << 4,   /* calls may fail with server errors */
	FAULT_HINDERS = 1 << 5,  /* calls and callbacks may be late */
	FAULT_SLOWS = 1 << 6,    /* names may stay free */
	FAULT_ENDS = 1 << 7,     /* connections end: row is free at once */
	FAULT_CLOCK = 1 << 8,    /* the server's clock may jump */
	FAULT_SPARSE = 1 << 9,   /* holds with a short TTL may be lost */
	FAULT_DEAFENS = 1 << 10, /* the end of a connection is not heard */
	FAULT_TAKES = 1 << 11,   /* any hold may be lost at once */
};

struct fault {
	uint64_t begin;
	uint64_t end; /* UINT64_MAX: never healed */
	unsigned int effects;
	int64_t process; /* whom it hits; -1: all */
	struct history_word kind;
	struct history_word target;
	struct history_line line; /* the one that began it */
};

struct faults {
	struct fault *all;
	size_t n;
	size_t room;
	uint64_t *reach; /* the latest end among all[0] to all[i] */
};

/** False if the kind is unknown: such a fault excuses nothing. */
bool faults_begin(struct faults *faults, const struct history_line *line);
/** False if nothing of the kind is open. */
bool faults_heal(struct faults *faults, const struct history_line *line);
/** After the last of them, before the first question. */
void faults_sort(struct faults *faults);
void faults_fini(struct faults *faults);

/**
 * A fault with one of these effects that hits @process (-1: anybody) and
 * overlaps the time from @from to @to, if it lasts @grace longer than it did;
 * NULL if there is none.
 */
const struct fault *faults_find(const struct faults *faults,
				unsigned int effects, int64_t process,
				uint64_t from, uint64_t to, uint64_t grace);

/** For how long of the time from @from to @to there was a fault with one of
 *  these effects that hits @process. */
uint64_t faults_time(const struct faults *faults, unsigned int effects,
		     uint32_t process, uint64_t from, uint64_t to);

/** One that hits @process and nobody else. */
const struct fault *faults_find_own(const struct faults *faults,
				    unsigned int effects, uint32_t process,
				    uint64_t from, uint64_t to, uint64_t grace);

/**
 * The one of them that began first, whoever it hits, and until when it excuses
 * what is no call of its process: @grace longer than it lasts; but one that
 * hits a single process for @brief at most, for then that counts as dead.
 */
const struct fault *faults_find_first(const struct faults *faults,
				      unsigned int effects, uint64_t from,
				      uint64_t to, uint64_t grace,
				      uint64_t brief, uint64_t *ret_end);

#endif
