// SPDX-License-Identifier: MIT
/*
 * Reading histories: files are mapped, a line is taken apart where it lies.
 * Ten million lines are read in seconds, and cost no memory of their own.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "history.h"

#define SUFFIX ".history"

static const char *const events[HISTORY_EVENTS] = {
	"client", "acquire",  "acquired", "token",    "drew", "held",
	"verify", "verified", "release",  "released", "lost", "beat",
	"fault",  "heal",     "rows",     "broke",    "end",
};

bool history_is(struct history_word word, const char *text)
{
	return word.at && strlen(text) == word.length &&
	       !memcmp(word.at, text, word.length);
}

/* A text that is being read from its front. */
struct cursor {
	const char *at;
	const char *end;
};

static struct history_word next_word(struct cursor *cursor)
{
	struct history_word word = { NULL, 0 };
	const char *blank;

	if (cursor->at >= cursor->end)
		return word;
	blank = memchr(cursor->at, ' ', (size_t) (cursor->end - cursor->at));
	if (!blank)
		blank = cursor->end;
	word =
	    (struct history_word){ cursor->at, (size_t) (blank - cursor->at) };
	cursor->at = blank + 1;
	return word;
}

/* The word is a number and nothing else; -1 is one. */
static bool read_number(struct history_word word, int64_t *ret)
{
	bool negative = word.length && *word.at == '-';
	uint64_t value = 0;
	size_t i;

	if (word.length < 1u + negative || word.length > 19u + negative)
		return false;
	for (i = negative; i < word.length; i++) {
		if (word.at[i] < '0' || word.at[i] > '9')
			return false;
		value = value * 10 + (uint64_t) (word.at[i] - '0');
	}
	*ret = negative ? -(int64_t) value : (int64_t) value;
	return true;
}

static bool read_unsigned(struct history_word word, uint64_t *ret)
{
	int64_t number;

	if (!read_number(word, &number) || number < 0)
		return false;
	*ret = (uint64_t) number;
	return true;
}

/* PROCESS.THREAD */
static bool read_who(struct history_word word, struct history_line *line)
{
	const char *dot = word.at ? memchr(word.at, '.', word.length) : NULL;
	uint64_t process, thread;
	size_t before;

	if (!dot)
		return false;
	before = (size_t) (dot - word.at);
	if (!read_unsigned((struct history_word){ word.at, before },
			   &process) ||
	    !read_unsigned(
		(struct history_word){ dot + 1, word.length - before - 1 },
		&thread))
		return false;
	line->process = (uint32_t) process;
	line->thread = (uint32_t) thread;
	return process <= UINT32_MAX && thread <= UINT32_MAX;
}

static bool read_event(struct history_word word, enum history_event *ret)
{
	int event;

	for (event = 0; event < HISTORY_EVENTS; event++)
		if (history_is(word, events[event])) {
			*ret = (enum history_event) event;
			return true;
		}
	return false;
}

static bool take_word(struct history_line *line, struct history_word key,
		      struct history_word value)
{
	struct {
		const char *key;
		struct history_word *into;
	} const words[] = {
		{ "name", &line->name },   { "strategy", &line->strategy },
		{ "kind", &line->kind },   { "target", &line->target },
		{ "table", &line->table }, { "mode", &line->mode },
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (history_is(key, words[i].key)) {
			*words[i].into = value;
			return true;
		}
	return false;
}

static bool take_number(struct history_line *line, struct history_word key,
			struct history_word value)
{
	struct {
		const char *key;
		uint64_t *into;
	} const numbers[] = {
		{ "serial", &line->serial }, { "yes", &line->yes },
		{ "token", &line->token },   { "mysql", &line->mysql },
		{ "ttl", &line->ttl_ms },    { "call", &line->call_ms },
		{ "count", &line->count },   { "observe", &line->observe },
		{ "max", &line->max_ms },    { "callback", &line->callback },
		{ "of", &line->of },         { "permits", &line->permits },
		{ "takes", &line->takes },
	};
	size_t i;

	if (history_is(key, "code"))
		return read_number(value, &line->code);
	if (history_is(key, "wait"))
		return read_number(value, &line->wait_ms);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (history_is(key, numbers[i].key))
			return read_unsigned(value, numbers[i].into);
	return true;
}

static bool take_pair(struct history_line *line, struct history_word pair)
{
	const char *equals = memchr(pair.at, '=', pair.length);
	struct history_word key, value;

	if (!equals)
		return false;
	key = (struct history_word){ pair.at, (size_t) (equals - pair.at) };
	value =
	    (struct history_word){ equals + 1, pair.length - key.length - 1 };
	return take_word(line, key, value) || take_number(line, key, value);
}

/* What a line of this kind cannot do without. */
static bool is_complete(const struct history_line *line)
{
	switch (line->event) {
	case HISTORY_CLIENT:
		return line->ttl_ms && line->strategy.at;
	case HISTORY_ACQUIRE:
		return line->serial && line->name.at;
	case HISTORY_FAULT:
	case HISTORY_HEAL:
		return line->kind.at;
	case HISTORY_ROWS:
		return line->table.at;
	case HISTORY_BROKE:
		return line->name.at;
	case HISTORY_BEAT:
	case HISTORY_END:
		return true;
	default:
		return line->serial;
	}
}

bool history_parse(const char *text, size_t length,
		   struct history_line *ret_line)
{
	struct cursor cursor = { text, text + length };
	struct history_line line = {
		.text = text, .length = length, .call_ms = 5000, .callback = 1
	};
	struct history_word word;

	if (!read_unsigned(next_word(&cursor), &line.time) ||
	    !read_who(next_word(&cursor), &line) ||
	    !read_event(next_word(&cursor), &line.event))
		return false;
	while ((word = next_word(&cursor)).at)
		if (!take_pair(&line, word))
			return false;
	if (!is_complete(&line))
		return false;
	*ret_line = line;
	return true;
}

void history_each(const char *text, size_t length, history_line_fn fn,
		  void *arg)
{
	const char *end = text + length, *newline;
	struct history_line line;
	bool good;

	while (text < end &&
	       (newline = memchr(text, '\n', (size_t) (end - text)))) {
		good = history_parse(text, (size_t) (newline - text), &line);
		if (!good)
			line = (struct history_line){
				.text = text,
				.length = (size_t) (newline - text),
			};
		fn(&line, good, arg);
		text = newline + 1;
	}
}

/* --------------------------------------------------------------- files */

struct file {
	const char *text;
	size_t length;
};

struct history_files {
	struct file *all;
	size_t n;
};

static int map_file(struct history_files *files, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat about;
	void *text = NULL;

	if (fd < 0 || fstat(fd, &about)) {
		perror(path);
		return -1;
	}
	if (about.st_size)
		text = mmap(NULL, (size_t) about.st_size, PROT_READ,
			    MAP_PRIVATE, fd, 0);
	close(fd);
	if (text == MAP_FAILED) {
		perror(path);
		return -1;
	}
	files->all = realloc(files->all, (files->n + 1) * sizeof(*files->all));
	if (!files->all)
		abort();
	files->all[files->n++] = (struct file){ text, (size_t) about.st_size };
	return 0;
}

static bool is_history(const char *name)
{
	size_t length = strlen(name), suffix = strlen(SUFFIX);

	return length > suffix && !strcmp(name + length - suffix, SUFFIX);
}

static int map_all(struct history_files *files, const char *dir, DIR *entries)
{
	struct dirent *entry;
	char path[4096];

	while ((entry = readdir(entries))) {
		if (!is_history(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (map_file(files, path))
			return -1;
	}
	return 0;
}

struct history_files *history_files_open(const char *dir)
{
	struct history_files *files = calloc(1, sizeof(*files));
	DIR *entries = opendir(dir);
	int failed;

	if (!files)
		abort();
	if (!entries) {
		perror(dir);
		free(files);
		return NULL;
	}
	failed = map_all(files, dir, entries);
	closedir(entries);
	if (!failed)
		return files;
	history_files_close(files);
	return NULL;
}

void history_files_each(const struct history_files *files, history_line_fn fn,
			void *arg)
{
	size_t i;

	for (i = 0; i < files->n; i++)
		history_each(files->all[i].text, files->all[i].length, fn, arg);
}

size_t history_files_ends(const struct history_files *files,
			  const char *const **ret_ends)
{
	const char **ends = malloc((files->n + 1) * sizeof(*ends));
	size_t i;

	if (!ends)
		abort();
	for (i = 0; i < files->n; i++)
		ends[i] = files->all[i].text + files->all[i].length;
	*ret_ends = ends;
	return files->n;
}

void history_files_close(struct history_files *files)
{
	size_t i;

	if (!files)
		return;
	for (i = 0; i < files->n; i++)
		if (files->all[i].length)
			munmap((void *) (uintptr_t) files->all[i].text,
			       files->all[i].length);
	free(files->all);
	free(files);
}
