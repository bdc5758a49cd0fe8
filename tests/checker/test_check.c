// SPDX-License-Identifier: MIT
/*
 * The judge judged: histories written by hand, good ones and one for each kind
 * of violation. A checker that finds nothing proves nothing.
 *
 * For each violation the excerpt is judged again: it shows the violation by
 * itself, and does not without any one of its lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "check.h"
#include "examples.h"

/* Times in the examples are milliseconds. */
static char *in_nanoseconds(const char *history)
{
	char *text = malloc(strlen(history) * 2 + 1), *at = text;
	const char *digits;

	if (!text)
		abort();
	while (*history) {
		digits = history + strspn(history, "0123456789");
		at = mempcpy(at, history, (size_t) (digits - history));
		if (digits > history)
			at = mempcpy(at, "000000", 6);
		history = digits + strcspn(digits, "\n");
		at = mempcpy(at, digits, (size_t) (history - digits));
		if (*history)
			*at++ = *history++;
	}
	*at = '\0';
	return text;
}

/* The excerpt of the first violation of a kind, without line @left_out. */
struct collected {
	enum check_kind kind;
	bool seen;
	size_t lines;
	char *text;
	size_t left_out;
};

static void collect(enum check_kind kind, const char *what,
		    const struct check_excerpt *excerpt, void *arg)
{
	struct collected *collected = arg;
	char *at = collected->text;
	size_t i;

	assert_true(*what);
	if (kind != collected->kind || collected->seen)
		return;
	collected->seen = true;
	collected->lines = excerpt->n;
	for (i = 0; i < excerpt->n; i++) {
		if (i == collected->left_out)
			continue;
		at = mempcpy(at, excerpt->lines[i].text,
			     excerpt->lines[i].length);
		*at++ = '\n';
	}
	*at = '\0';
}

static uint64_t count(const char *text, enum check_kind kind)
{
	struct check_rules rules = CHECK_RULES_DEFAULT;
	struct check_result result;

	check_text(text, &rules, &result);
	return result.violations[kind];
}

static struct collected excerpt_of(const char *text,
				   const struct example *example,
				   size_t left_out, char *into)
{
	struct collected collected = { .kind = example->kind,
				       .text = into,
				       .left_out = left_out };
	struct check_rules rules = CHECK_RULES_DEFAULT;
	struct check_result result;

	*into = '\0';
	rules.fair = example->fair;
	rules.report = collect;
	rules.arg = &collected;
	check_text(text, &rules, &result);
	return collected;
}

/* Starvation is in what is not there; what contradicts is one line. */
static bool has_excerpt(enum check_kind kind)
{
	return kind != CHECK_UNFAIR && kind != CHECK_BROKEN;
}

static void assert_minimal(const char *text, const struct example *example)
{
	char *excerpt = malloc(strlen(text) + 1);
	struct collected whole;
	size_t i;

	assert_non_null(excerpt);
	whole = excerpt_of(text, example, SIZE_MAX, excerpt);
	assert_true(whole.seen);
	assert_int_equal(whole.lines, example->lines);
	assert_true(count(excerpt, example->kind) > 0);
	for (i = 0; i < whole.lines; i++) {
		excerpt_of(text, example, i, excerpt);
		if (count(excerpt, example->kind))
			fail_msg("still shown without line %zu:\n%s", i + 1,
				 excerpt);
	}
	free(excerpt);
}

static void judges(void **state)
{
	const struct example *example = *state;
	char *text = in_nanoseconds(example->history);
	struct check_rules rules = CHECK_RULES_DEFAULT;
	struct check_result result;
	int kind;

	rules.fair = example->fair;
	assert_int_equal(check_text(text, &rules, &result),
			 example->kind == NO_VIOLATION);
	for (kind = 0; kind < CHECK_KINDS; kind++) {
		uint64_t wanted =
		    kind == (int) example->kind ? example->count : 0;

		if (result.violations[kind] != wanted)
			fail_msg("%s: %u, not %u",
				 check_kind_name((enum check_kind) kind),
				 (unsigned) result.violations[kind],
				 (unsigned) wanted);
	}
	if (example->kind != NO_VIOLATION && has_excerpt(example->kind))
		assert_minimal(text, example);
	free(text);
}

CASE("the checker reads what was written")
{
	char dir[] = "/tmp/rowlock-history-XXXXXX", path[128], name[64];
	struct check_rules rules = CHECK_RULES_DEFAULT;
	struct history_files *files;
	struct history *history;
	struct check_result result;

	assert_non_null(mkdtemp(dir));
	history = history_open(dir, 7);
	assert_non_null(history);
	history_encode(name, sizeof(name), "a b%\t");
	assert_string_equal(name, "a%20b%25%09");
	history_write(history, history_now(), 2,
		      "acquire serial=1 name=%s wait=-1", name);
	history_write(history, history_now(), 2, "acquired serial=1 code=0");
	history_close(history);
	files = history_files_open(dir);
	assert_non_null(files);
	assert_true(check_files(files, &rules, &result));
	history_files_close(files);
	assert_int_equal(result.lines, 2);
	assert_int_equal(result.holds, 1);
	snprintf(path, sizeof(path), "%s/process-7.history", dir);
	assert_int_equal(remove(path), 0);
	assert_int_equal(remove(dir), 0);
}

/* The latest of several, in both directions. */
CASE("the checker measures how late losses and returns were")
{
	struct check_rules rules = CHECK_RULES_DEFAULT;
	struct check_result result;
	char *text = in_nanoseconds("0 1.0 client ttl=1000 strategy=lease\n"
				    "1 1.0 acquire serial=1 name=a wait=500\n"
				    "561 1.0 acquired serial=1 code=0\n"
				    "599 0.0 fault kind=drop target=1\n"
				    "600 0.0 fault kind=silence target=1\n"
				    "1540 1.0 lost serial=1\n"
				    "1541 1.0 release serial=1\n"
				    "1542 1.0 released serial=1 code=-4\n"
				    "1700 0.0 heal kind=silence target=1\n"
				    "1701 0.0 heal kind=drop target=1\n");

	assert_true(check_text(text, &rules, &result));
	assert_int_equal(result.losses, 1);
	assert_true(result.worst_loss > 39.9 && result.worst_loss < 40.1);
	assert_true(result.worst_call > 59.9 && result.worst_call < 60.1);
	assert_int_equal(result.lost, 1);
	assert_int_equal(result.codes[4], 1);
	free(text);
}

/* Before the cases above. */
static void add_examples(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++)
		case_add(0,
			 &(struct CMUnitTest){
			     examples[i].sentence, judges, NULL, NULL,
			     (void *) (uintptr_t) &examples[i] },
			 1);
}

int main(void)
{
	add_examples(examples_safety, n_examples_safety);
	add_examples(examples_liveness, n_examples_liveness);
	return case_main();
}
