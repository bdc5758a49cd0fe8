// SPDX-License-Identifier: MIT
/*
 * What all acts and systems use: the clock, the words with the driver, the end
 * when something is wrong.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

uint64_t bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

void bench_sleep_until(uint64_t ns)
{
	struct timespec until = { (time_t) (ns / 1000000000),
				  (long) (ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) ==
	       EINTR)
		;
}

uint64_t bench_rss(void)
{
	unsigned long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "re");

	if (!statm || fscanf(statm, "%*u %lu", &pages) != 1)
		bench_die("cannot read /proc/self/statm");
	fclose(statm);
	return (uint64_t) pages * (uint64_t) sysconf(_SC_PAGESIZE);
}

/* xorshift64*, one per thread, each begun anywhere: an identity must cost
 * nothing here, in particular not a system call. */
uint64_t bench_random(void)
{
	static _Thread_local uint64_t state;

	while (!state)
		if (getrandom(&state, sizeof(state), 0) != sizeof(state))
			bench_die("getrandom: %s", strerror(errno));
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545F4914F6CDD1D;
}

void bench_die(const char *format, ...)
{
	va_list args;

	flockfile(stderr);
	fputs("bench-client: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	/* Not exit(): other threads are inside the libraries. */
	_exit(1);
}

void *bench_alloc(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory)
		bench_die("out of memory");
	return memory;
}

void bench_tell(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

bool bench_hear(char *line, size_t size)
{
	if (!fgets(line, (int) size, stdin))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

void bench_await(const char *word)
{
	char line[64];

	if (!bench_hear(line, sizeof(line)) || strcmp(line, word) != 0)
		bench_die("was not told to '%s'", word);
}

void bench_worker_init(struct bench_worker *worker,
		       const struct bench_options *options, unsigned int number)
{
	worker->options = options;
	worker->number = number;
	snprintf(worker->name, sizeof(worker->name), "%s%u", options->prefix,
		 number % options->names);
}
