/* SPDX-License-Identifier: MIT */
/*
 * Texts from outside: connection strings, option files, names and infos, the
 * lines of a history, the rules of the proxy.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "config/dsn.h"
#include "fuzz.h"
#include "history.h"
#include "rule.h"

/* It is never told. */
#define SECRET "hunter2"

/* Is each of them a value of its key, and the key where one begins? */
static bool is_secret(const unsigned char *bytes, size_t size)
{
	static const char key[] = "password=";
	const size_t length = sizeof(key) - 1;
	const unsigned char *at = bytes;

	for (;; at++) {
		const unsigned char *begin;

		at = memmem(at, size - (size_t) (at - bytes), SECRET,
			    strlen(SECRET));
		if (!at)
			return true;
		if ((size_t) (at - bytes) < length)
			return false;
		begin = at - length;
		if (memcmp(begin, key, length) != 0 ||
		    (begin > bytes && begin[-1] != ';' && begin[-1] != '\n'))
			return false;
	}
}

static void check_words(int code, const struct rowlock_errinfo *error,
			bool secret)
{
	if (code == 0)
		return;
	if (code != ROWLOCK_EINVAL || !error->message[0])
		fuzz_broken("code %d, '%s'", code, error->message);
	if (secret && strstr(error->message, SECRET))
		fuzz_broken("the password is told: %s", error->message);
}

static void run_dsn(const unsigned char *bytes, size_t size)
{
	struct rowlock_errinfo error = { 0 };
	struct rlk_where where = { 0 };
	int code = rlk_dsn_read(fuzz_text(bytes, size), "dsn", &where, &error);

	rlk_where_fini(&where);
	check_words(code, &error, is_secret(bytes, size));
}

const struct fuzz_target fuzz_dsn = { .name = "dsn",
				      .run = run_dsn,
				      .few = 20000 };

/* ---------------------------------------------------------- option files */

static char path[64];
static int file = -1;

static void begin_options(void)
{
	snprintf(path, sizeof(path), "/tmp/fuzz-options-XXXXXX");
	file = mkstemp(path);
	if (file < 0)
		abort();
}

static void run_options(const unsigned char *bytes, size_t size)
{
	const struct rlk_sources sources = { .file = path, .group = "rowlock" };
	struct rowlock_errinfo error = { 0 };
	struct rlk_where where = { 0 };
	int code;

	if (ftruncate(file, 0) ||
	    pwrite(file, bytes, size, 0) != (ssize_t) size)
		abort();
	code = rlk_where_read(&sources, &where, &error);
	if (!code)
		rlk_where_fini(&where);
	check_words(code, &error, is_secret(bytes, size));
}

static void end_options(void)
{
	close(file);
	unlink(path);
}

const struct fuzz_target fuzz_options = { .name = "options",
					  .begin = begin_options,
					  .run = run_options,
					  .end = end_options,
					  .few = 5000 };

/* ----------------------------------------------------------------- names */

static void run_name(const unsigned char *bytes, size_t size)
{
	const char *text = fuzz_text(bytes, size);
	char buffer[128] = "";
	const char *problem = rlk_name_problem(text, buffer, sizeof(buffer));

	if (!problem && (!*text || strlen(text) > 400))
		fuzz_broken("%zu bytes are a name", strlen(text));
	if (!problem && rlk_text_problem(text, 100, buffer, sizeof(buffer)))
		fuzz_broken("a name is no text");
}

const struct fuzz_target fuzz_name = { .name = "name",
				       .run = run_name,
				       .few = 50000 };

/* --------------------------------------------------------------- history */

static void see_line(const struct history_line *line, bool good, void *arg)
{
	(void) good;
	*(size_t *) arg += strnlen(line->text, 1);
}

static void run_history(const unsigned char *bytes, size_t size)
{
	const char *text = fuzz_text(bytes, size);
	size_t seen = 0;

	history_each(text, size, see_line, &seen);
}

const struct fuzz_target fuzz_history = { .name = "history",
					  .run = run_history,
					  .few = 20000 };

/* ----------------------------------------------------------------- rules */

static void run_rule(const unsigned char *bytes, size_t size)
{
	struct rule *rule = NULL;
	char *problem = rule_parse(fuzz_text(bytes, size), &rule);

	if (!problem == !rule)
		fuzz_broken("a rule and a problem, or neither");
	free(problem);
	rule_free(rule);
}

const struct fuzz_target fuzz_rule = { .name = "rule",
				       .run = run_rule,
				       .few = 20000 };
