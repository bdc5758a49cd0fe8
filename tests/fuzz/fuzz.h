/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_H
#define FUZZ_H

/*
 * A target takes whatever bytes it is given, and must come back: no crash, no
 * complaint of a sanitizer, and what it promises besides.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuzz_target {
	const char *name; /* and its file in corpus/ */
	void (*begin)(void);
	void (*run)(const unsigned char *bytes, size_t size);
	void (*end)(void);
	unsigned int few; /* inputs that take about a second */
};

extern const struct fuzz_target fuzz_login;
extern const struct fuzz_target fuzz_answer;
extern const struct fuzz_target fuzz_dsn;
extern const struct fuzz_target fuzz_options;
extern const struct fuzz_target fuzz_name;
extern const struct fuzz_target fuzz_history;
extern const struct fuzz_target fuzz_rule;
extern const struct fuzz_target fuzz_exported;

/** A promise is broken: say which, keep the input, and end. */
__attribute__((format(printf, 1, 2))) _Noreturn void fuzz_broken(
    const char *format, ...);

/** A call came back @late_ms after its deadline, or before it: fail if that is
 *  more than a busy machine is to blame for; tell the latest in the end. */
void fuzz_came_back(int64_t late_ms);

/** A text of @bytes, ended by NUL; its like is used again at the next call. */
const char *fuzz_text(const unsigned char *bytes, size_t size);

/** Fail if the process has grown by more than 8 MiB since this was called for
 *  the time number @first, when all that is loaded once had been. */
void fuzz_watch_memory(unsigned int first);

/** Ask @dsn, of a server with rowlock's tables, what the target answer asks:
 *  for tests/fuzz/record. @kind: which of its statements. */
int fuzz_ask(const char *dsn, unsigned int kind);

#endif
