/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_CHECKER_EXAMPLES_H
#define ROWLOCK_CHECKER_EXAMPLES_H

/*
 * The examples by which the checker is judged: for each kind of violation one
 * history that has it, and its neighbours that just have not. Tables, and as
 * long as they need to be.
 */

#include "check.h"

#define NO_VIOLATION CHECK_KINDS

/** A history, times in milliseconds, and what there is to be found in it. */
struct example {
	const char *sentence;
	const char *history;
	enum check_kind kind;
	unsigned int count;
	size_t lines; /* of the excerpt of the first */
	bool fair;    /* judged too */
};

/** Of S1 to S5, and of the rest. */
extern const struct example examples_safety[], examples_liveness[];
extern const size_t n_examples_safety, n_examples_liveness;

/* The words that they are written in. */
/* clang-format off */
#define ACQUIRE(t, who, k, name) \
	#t " " #who " acquire serial=" #k " name=" #name " wait=-1\n"
#define READ(call, t, who, k, name) \
	#call " " #who " acquire serial=" #k " name=" #name \
	" wait=-1 mode=read\n" GOT(t, who, k)
#define TAKE(call, t, who, k, name, permits, takes) \
	#call " " #who " acquire serial=" #k " name=" #name " wait=-1 permits=" \
	#permits " takes=" #takes "\n" GOT(t, who, k)
#define GOT(t, who, k) #t " " #who " acquired serial=" #k " code=0\n"
#define HOLD(call, t, who, k, name) ACQUIRE(call, who, k, name) GOT(t, who, k)
#define HELD(t, who, k) #t " " #who " held serial=" #k " yes=1\n"
#define GONE(t, who, k) #t " " #who " held serial=" #k " yes=0\n"
#define LOST(t, who, k) #t " " #who " lost serial=" #k "\n"
#define END(call, t, who, k) \
	#call " " #who " release serial=" #k "\n" \
	#t " " #who " released serial=" #k " code=0\n"
#define END_LOST(call, t, who, k) \
	#call " " #who " release serial=" #k "\n" \
	#t " " #who " released serial=" #k " code=-4\n"
#define DRAW(call, t, who, k, n) \
	#call " " #who " token serial=" #k "\n" \
	#t " " #who " drew serial=" #k " code=0 token=" #n "\n"
#define TIMEDOUT(call, t, who, k, name) \
	#call " " #who " acquire serial=" #k " name=" #name " wait=400\n" \
	#t " " #who " acquired serial=" #k " code=-2\n"
#define BUSY(call, t, who, k, name) \
	#call " " #who " acquire serial=" #k " name=" #name " wait=0\n" \
	#t " " #who " acquired serial=" #k " code=-1\n"
#define VERIFY(call, t, who, k) \
	#call " " #who " verify serial=" #k "\n" \
	#t " " #who " verified serial=" #k " code=0\n"
#define LEASE(who, ttl) "0 " #who " client ttl=" #ttl " strategy=lease\n"
#define OBSERVER(who, ttl) \
	"0 " #who " client ttl=" #ttl " strategy=lease observe=1\n"
#define ROW(who, ttl) "0 " #who " client ttl=" #ttl " strategy=row\n"
#define FAULT(t, kind, target) \
	#t " 0.0 fault kind=" #kind " target=" #target "\n"
#define HEAL(t, kind, target) \
	#t " 0.0 heal kind=" #kind " target=" #target "\n"

#define GOOD NO_VIOLATION, 0, 0, false
#define BAD(kind, count, lines) CHECK_##kind, count, lines, false
/* clang-format on */

#endif
