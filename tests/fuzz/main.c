/* SPDX-License-Identifier: MIT */
/*
 * Plays targets with the inputs of their corpora, and with what becomes of
 * those by chance: bytes changed, removed, put in, pieces of two put together.
 * All of it follows from a seed.
 *
 * The input that is being played is in a file, fuzz-TARGET.input in the working
 * directory, for as long as it is: so it is there when the program has crashed.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SIZE_MOST 16384
#define SEEDS_MOST 256
#define GROWTH_KB (8 * 1024)
#define LATE_MS 8000

static const struct fuzz_target *const targets[] = {
	&fuzz_login, &fuzz_answer,  &fuzz_dsn,  &fuzz_options,
	&fuzz_name,  &fuzz_history, &fuzz_rule, &fuzz_exported,
};
enum { TARGETS = sizeof(targets) / sizeof(targets[0]) };

struct input {
	size_t size;
	unsigned char bytes[SIZE_MOST];
};

static struct input seeds[SEEDS_MOST];
static size_t seed_count;
static struct input *playing; /* in the file */
static const char *name;
static int64_t latest_ms; /* after a deadline */
static uint64_t state;

/* SplitMix64. */
static uint64_t draw(uint64_t below)
{
	uint64_t number = state += 0x9e3779b97f4a7c15u;

	number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
	number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
	return (number ^ (number >> 31)) % below;
}

void fuzz_broken(const char *format, ...)
{
	va_list args;

	printf("not ok - %s: ", name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n# the input: fuzz-%s.input\n", name);
	fflush(stdout);
	_exit(1);
}

void fuzz_came_back(int64_t late_ms)
{
	if (late_ms > LATE_MS)
		fuzz_broken("%" PRId64 " ms after its deadline", late_ms);
	if (late_ms > latest_ms)
		latest_ms = late_ms;
}

const char *fuzz_text(const unsigned char *bytes, size_t size)
{
	static char *text;

	/* Its end is where a reader beyond it is seen. */
	free(text);
	text = malloc(size + 1);
	if (!text)
		abort();
	memcpy(text, bytes, size);
	text[size] = '\0';
	return text;
}

/* AddressSanitizer keeps what is freed. */
#ifdef __SANITIZE_ADDRESS__
#define COUNTS_MEMORY false
#else
#define COUNTS_MEMORY true
#endif

void fuzz_watch_memory(unsigned int first)
{
	static unsigned int calls;
	static const char *watched;
	static long before;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	if (watched != name)
		calls = 0;
	watched = name;
	calls++;
	if (calls == first)
		before = usage.ru_maxrss;
	if (COUNTS_MEMORY && calls > first &&
	    usage.ru_maxrss > before + GROWTH_KB)
		fuzz_broken("%ld KiB more than before",
			    usage.ru_maxrss - before);
}

/* ---------------------------------------------------------------- corpora */

/* A line: a name, a tab, and the bytes; those that are no text as \xHH. */
static void read_seed(const char *line)
{
	struct input *seed = &seeds[seed_count++];
	const char *text = strchr(line, '\t');

	if (!text || seed_count > SEEDS_MOST)
		abort();
	for (text++; *text && *text != '\n' && seed->size < SIZE_MOST;
	     seed->size++) {
		unsigned char *byte = &seed->bytes[seed->size];

		if (sscanf(text, "\\x%2hhx", byte) == 1)
			text += strlen("\\xHH");
		else
			*byte = (unsigned char) *text++;
	}
}

static void read_corpus(const char *corpus)
{
	char path[4096];
	char *line = NULL;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", corpus, name);
	memset(seeds, 0, sizeof(seeds));
	seed_count = 0;
	file = fopen(path, "re");
	while (file && getline(&line, &size, file) > 0)
		read_seed(line);
	if (!seed_count)
		fuzz_broken("%s has no inputs", path);
	fclose(file);
	free(line);
}

/* A line for the corpus, of an input that was left in a file. */
static int show(const char *path)
{
	static struct input input;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, &input, sizeof(input)) != sizeof(input) ||
	    input.size > SIZE_MOST) {
		fprintf(stderr, "fuzz: %s is no fuzz-TARGET.input\n", path);
		return 1;
	}
	close(fd);
	printf("NAME\t");
	for (size_t i = 0; i < input.size; i++) {
		unsigned char byte = input.bytes[i];

		if (byte >= ' ' && byte < 127 && byte != '\\')
			putchar(byte);
		else
			printf("\\x%02x", byte);
	}
	putchar('\n');
	return 0;
}

/* --------------------------------------------------------------- mutations */

static void remove_some(struct input *input)
{
	size_t at = draw(input->size + 1);
	size_t count = draw(1 + (draw(4) ? 4 : input->size));

	if (count > input->size - at)
		count = input->size - at;
	memmove(input->bytes + at, input->bytes + at + count,
		input->size - at - count);
	input->size -= count;
}

/* A part of any seed. */
static void put_in(struct input *input)
{
	const struct input *from = &seeds[draw(seed_count)];
	size_t begin = draw(from->size + 1);
	size_t count = draw(from->size - begin + 1);
	size_t at = draw(input->size + 1);

	if (count > SIZE_MOST - input->size)
		count = SIZE_MOST - input->size;
	memmove(input->bytes + at + count, input->bytes + at, input->size - at);
	memcpy(input->bytes + at, from->bytes + begin, count);
	input->size += count;
}

static void change_one(struct input *input)
{
	static const unsigned char odd[] = { 0,   1,   2,   3,   4,   10,
					     127, 128, 251, 252, 254, 255 };
	unsigned char *byte = input->bytes + draw(input->size);

	switch (draw(3)) {
	case 0:
		*byte = (unsigned char) draw(256);
		return;
	case 1:
		*byte ^= (unsigned char) (1u << draw(8));
		return;
	default:
		*byte = odd[draw(sizeof(odd))];
	}
}

static void mutate(struct input *input)
{
	*input = seeds[draw(seed_count)];
	for (uint64_t left = 1 + draw(draw(4) ? 4 : 32); left; left--) {
		uint64_t what = draw(8);

		if (what == 0)
			remove_some(input);
		else if (what == 1)
			put_in(input);
		else if (input->size)
			change_one(input);
	}
}

/* -------------------------------------------------------------------- play */

static void open_file(char *path, size_t size)
{
	int fd;

	snprintf(path, size, "fuzz-%s.input", name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, sizeof(*playing)))
		abort();
	playing = mmap(NULL, sizeof(*playing), PROT_READ | PROT_WRITE,
		       MAP_SHARED, fd, 0);
	if (playing == MAP_FAILED)
		abort();
	close(fd);
}

static void play(const struct fuzz_target *target, const struct input *input)
{
	*playing = *input;
	target->run(playing->bytes, playing->size);
}

static void play_target(const struct fuzz_target *target, const char *corpus,
			uint64_t runs, double seconds)
{
	static struct input input;
	time_t began = time(NULL);
	uint64_t count = 0;
	char path[128];

	name = target->name;
	latest_ms = INT64_MIN;
	open_file(path, sizeof(path));
	read_corpus(corpus);
	if (target->begin)
		target->begin();
	for (size_t i = 0; i < seed_count; i++)
		play(target, &seeds[i]);
	while (count < runs ||
	       (seconds > 0 && difftime(time(NULL), began) < seconds)) {
		mutate(&input);
		play(target, &input);
		count++;
	}
	if (target->end)
		target->end();
	munmap(playing, sizeof(*playing));
	unlink(path);
	printf("ok - %s: %zu inputs of the corpus, %" PRIu64 " made of them\n",
	       name, seed_count, count);
	if (latest_ms > INT64_MIN)
		printf("# %s: the latest call %" PRId64
		       " ms after its deadline\n",
		       name, latest_ms);
	fflush(stdout);
}

static bool is_wanted(const struct fuzz_target *target, char *const *words,
		      int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(words[i], target->name) == 0)
			return true;
	return count == 0;
}

int main(int argc, char **argv)
{
	const char *source = getenv("ROWLOCK_SOURCE");
	double minutes = 0;
	uint64_t runs = 0;
	uint64_t seed = 1;
	unsigned int kind = 0;
	char corpus[2048];
	int option;

	while ((option = getopt(argc, argv, "s:n:m:k:r:l:")) != -1) {
		if (option == 's')
			seed = strtoull(optarg, NULL, 10);
		else if (option == 'n')
			runs = strtoull(optarg, NULL, 10);
		else if (option == 'm')
			minutes = strtod(optarg, NULL);
		else if (option == 'k')
			kind = (unsigned int) strtoul(optarg, NULL, 10);
		else if (option == 'l')
			return show(optarg);
		else if (option == 'r')
			return fuzz_ask(optarg, kind);
		else
			return 2;
	}
	snprintf(corpus, sizeof(corpus), "%s/tests/fuzz/corpus",
		 source ? source : ".");
	printf("1..%d\n# seed %" PRIu64 "\n", TARGETS, seed);
	for (int i = 0; i < TARGETS; i++) {
		if (!is_wanted(targets[i], argv + optind, argc - optind))
			continue;
		state = seed;
		play_target(targets[i], corpus,
			    runs          ? runs
			    : minutes > 0 ? 0
					  : targets[i]->few,
			    minutes * 60);
	}
	return 0;
}
