/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_LANE_H
#define ROWLOCK_TEST_LANE_H

/*
 * One name that is handed over among three processes (party.c), and a rival
 * that tries it all the time. The lane is in memory that all of them share.
 */

#include <rowlock/adoption.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#define LANE_PARTIES 3

/** How a hand-over goes. */
enum lane_way {
	LANE_PLAIN,
	LANE_RACE,          /* two adopt by one string */
	LANE_EXPORTER_ENDS, /* frees its client after the export */
	LANE_KILL_EXPORTING,
	LANE_KILL_EXPORTED,  /* the exporter, before it is adopted, */
	LANE_KILL_MEANWHILE, /* while it is adopted, */
	LANE_KILL_AFTER,     /* and afterwards */
	LANE_KILL_ADOPTING,  /* the adopter, while it adopts, */
	LANE_KILL_ADOPTER,   /* and when it has */
	LANE_WAYS,
};

struct lane_counts {
	_Atomic unsigned int ways[LANE_WAYS];
	_Atomic unsigned int tries; /* of the rival */
	_Atomic unsigned int died_holding;
	_Atomic unsigned int unanswered;
	/* Violations. */
	_Atomic unsigned int two;   /* believed to hold it at a time */
	_Atomic unsigned int free;  /* the rival had it while one lived */
	_Atomic unsigned int lost;  /* one that lived could not adopt it */
	_Atomic unsigned int stale; /* who had exported it released it */
	char first[600];            /* of these, in words */
	_Atomic int said;
};

struct lane {
	struct lane_counts *counts; /* of all lanes */
	char name[64];
	uint64_t ttl_ms;
	_Atomic int believes[LANE_PARTIES];
	_Atomic int may_be_free; /* its holder is dead, or about to die */
};

struct party {
	pid_t pid;
	int to;
	int from;
};

enum party_word {
	PARTY_ACQUIRE,
	PARTY_EXPORT,
	PARTY_ADOPT,
	PARTY_RELEASE,
	PARTY_VERIFY,
	PARTY_END,
};

struct party_question {
	enum party_word word;
	char text[ROWLOCK_EXPORT_SIZE];
};

struct party_answer {
	int code;
	char text[ROWLOCK_EXPORT_SIZE];
	char message[300];
};

/** Start the party @index, or the rival, as a process. */
struct party party_start(struct lane *lane, int index);
pid_t rival_start(struct lane *lane);

void lane_blame(struct lane *lane, _Atomic unsigned int *count,
		const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Hand it over @count times, in a process of its own. */
pid_t lane_start(struct lane *lane, unsigned int count, unsigned int seed);

#endif
