// SPDX-License-Identifier: MIT
/*
 * Reading rules, and finding out whose turn it is.
 *
 * A line is read word by word; tables say which words there are. Nothing is
 * guessed: a word that is not known, or that an act does not take, is an
 * error, since a fault that is not injected makes a test that proves nothing.
 */
#include "rule.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum field {
	IS_COUNT,
	IS_TEXT,
	IS_CHANCE,
	IS_THEN,
	IS_FLAG,
	IS_MS,
	IS_CODE,
};

#define ON(act) (1u << (act))
#define EVERY ON(31)

/* Which words there are, where they go, and for which acts they are. */
static const struct word {
	const char *name;
	enum field field;
	size_t offset;
	unsigned int acts; /* EVERY: a condition, before "do" */
} words[] = {
	{ "conn", IS_COUNT, offsetof(struct rule, conn), EVERY },
	{ "at", IS_COUNT, offsetof(struct rule, at), EVERY },
	{ "all", IS_COUNT, offsetof(struct rule, all), EVERY },
	{ "match", IS_COUNT, offsetof(struct rule, match), EVERY },
	{ "always", IS_FLAG, offsetof(struct rule, always), EVERY },
	{ "chance", IS_CHANCE, offsetof(struct rule, chance), EVERY },
	{ "command", IS_TEXT, offsetof(struct rule, command), EVERY },
	{ "sql", IS_TEXT, offsetof(struct rule, sql), EVERY },
	{ "ms", IS_MS, offsetof(struct rule, ms),
	  ON(ACT_DELAY) | ON(ACT_HOLD) | ON(ACT_DRIBBLE) },
	{ "byte", IS_COUNT, offsetof(struct rule, byte), ON(ACT_CUT) },
	{ "bytes", IS_COUNT, offsetof(struct rule, bytes),
	  ON(ACT_DRIBBLE) | ON(ACT_GARBLE) },
	{ "header", IS_FLAG, offsetof(struct rule, header), ON(ACT_GARBLE) },
	{ "code", IS_CODE, offsetof(struct rule, code), ON(ACT_ERROR) },
	{ "state", IS_TEXT, offsetof(struct rule, state), ON(ACT_ERROR) },
	{ "text", IS_TEXT, offsetof(struct rule, text), ON(ACT_ERROR) },
	{ "server", IS_TEXT, offsetof(struct rule, server), ON(ACT_SWITCH) },
	{ "keep", IS_FLAG, offsetof(struct rule, keep), ON(ACT_SWITCH) },
	{ "then", IS_THEN, offsetof(struct rule, then),
	  ON(ACT_DROP) | ON(ACT_HOLD) | ON(ACT_CUT) | ON(ACT_ERROR) },
};

#define AT(place) (1u << (place))
#define MESSAGE (AT(AT_REQUEST) | AT(AT_REPLY))

static const struct {
	const char *name;
	enum then then; /* if it is not said */
	unsigned int places;
} acts[] = {
	[ACT_PASS] = { "pass", THEN_ON, AT(AT_CONNECT) | MESSAGE },
	[ACT_DELAY] = { "delay", THEN_ON, AT(AT_CONNECT) | MESSAGE },
	[ACT_DROP] = { "drop", THEN_SILENCE, AT(AT_CONNECT) | MESSAGE },
	[ACT_HOLD] = { "hold", THEN_FIN, AT(AT_REQUEST) },
	[ACT_CUT] = { "cut", THEN_FIN, MESSAGE },
	[ACT_DRIBBLE] = { "dribble", THEN_ON, MESSAGE },
	[ACT_GARBLE] = { "garble", THEN_ON, MESSAGE },
	[ACT_DUPLICATE] = { "duplicate", THEN_ON, MESSAGE },
	[ACT_ERROR] = { "error", THEN_ON, AT(AT_CONNECT) | MESSAGE },
	[ACT_SWITCH] = { "switch", THEN_ON, AT(AT_CONNECT) | MESSAGE },
};

static const char *const places[] = {
	[AT_CONNECT] = "connect",
	[AT_REQUEST] = "request",
	[AT_REPLY] = "reply",
};

static const char *const thens[] = {
	[THEN_ON] = "on",         [THEN_FIN] = "fin",
	[THEN_RST] = "rst",       [THEN_SILENCE] = "silence",
	[THEN_VANISH] = "vanish",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

__attribute__((format(printf, 1, 2))) static char *wrong(const char *format,
							 ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	return text;
}

/* The next word of *@line, in place; quotes are taken off. NULL: the end. */
static char *next_word(char **line)
{
	char *from = *line + strspn(*line, " \t");
	char *to = from;
	char *word = from;
	bool quoted = false;

	if (!*from || *from == '#')
		return NULL;
	for (; *from && (quoted || !strchr(" \t", *from)); from++) {
		if (*from == '"')
			quoted = !quoted;
		else
			*to++ = *from;
	}
	*line = *from ? from + 1 : from;
	*to = '\0';
	return word;
}

static bool read_number(const char *text, double most, double *ret_number)
{
	char *end;

	errno = 0;
	*ret_number = strtod(text, &end);
	return *text && !*end && !errno && *ret_number >= 0 &&
	       *ret_number <= most;
}

static bool read_then(const char *text, enum then *ret_then)
{
	for (size_t i = 0; i < COUNT(thens); i++)
		if (strcmp(text, thens[i]) == 0) {
			*ret_then = (enum then) i;
			return true;
		}
	return false;
}

static bool set(void *at, enum field field, const char *text)
{
	double number = 0;

	switch (field) {
	case IS_FLAG:
		*(bool *) at = true;
		return !text;
	case IS_TEXT:
		free(*(char **) at);
		*(char **) at = text ? strdup(text) : NULL;
		return *(char **) at;
	case IS_THEN:
		return text && read_then(text, at);
	case IS_CHANCE:
		return text && read_number(text, 100, at);
	default:
		break;
	}
	if (!text ||
	    !read_number(text, field == IS_CODE ? 65535 : 1e9, &number))
		return false;
	if (field == IS_CODE)
		*(unsigned int *) at = (unsigned int) number;
	else if (field == IS_MS)
		*(long *) at = (long) number;
	else
		*(unsigned long *) at = (unsigned long) number;
	return field == IS_MS || number >= 1;
}

static char *read_word(struct rule *rule, char *text, unsigned int for_acts)
{
	char *value = strchr(text, '=');

	if (value)
		*value++ = '\0';
	for (size_t i = 0; i < COUNT(words); i++) {
		const struct word *word = &words[i];

		if (strcmp(word->name, text) != 0 || !(word->acts & for_acts))
			continue;
		if (set((char *) rule + word->offset, word->field, value))
			return NULL;
		return wrong("'%s' cannot be '%s'", text, value ? value : "");
	}
	return wrong("'%s' does not belong here", text);
}

static char *read_act(struct rule *rule, const char *name)
{
	for (size_t i = 0; name && i < COUNT(acts); i++) {
		if (strcmp(acts[i].name, name) != 0)
			continue;
		rule->act = (enum act) i;
		rule->then = acts[i].then;
		if (acts[i].places & AT(rule->place))
			return NULL;
		return wrong("'%s' cannot be done at a %s", name,
			     places[rule->place]);
	}
	return wrong("'do' needs an act, not '%s'", name ? name : "");
}

/* What an act cannot do without. */
static char *check(const struct rule *rule)
{
	if ((rule->act == ACT_DELAY || rule->act == ACT_DRIBBLE) &&
	    rule->ms < 0)
		return wrong("'%s' needs ms=N", acts[rule->act].name);
	if (rule->act == ACT_CUT && !rule->byte)
		return wrong("'cut' needs byte=N, 1 or more");
	if (rule->act == ACT_ERROR && !rule->code)
		return wrong("'error' needs code=N");
	if (rule->act == ACT_SWITCH && !rule->server)
		return wrong("'switch' needs server=ADDRESS");
	if (rule->act == ACT_HOLD &&
	    (rule->then == THEN_ON || rule->then == THEN_VANISH))
		return wrong("'hold' ends the client's side: then=fin, rst or "
			     "silence");
	if (rule->state && strlen(rule->state) != 5)
		return wrong("'state' has five characters");
	return NULL;
}

static char *read_line(struct rule *rule, char *line)
{
	char *word = next_word(&line);
	char *problem;

	while (rule->place < COUNT(places) &&
	       strcmp(places[rule->place], word ? word : "") != 0)
		rule->place++;
	if (rule->place == COUNT(places))
		return wrong("'%s' is neither a rule nor a command",
			     word ? word : "");
	while ((word = next_word(&line)) && strcmp(word, "do") != 0) {
		problem = read_word(rule, word, EVERY);
		if (problem)
			return problem;
	}
	if (!word)
		return wrong("a rule needs 'do' and an act");
	problem = read_act(rule, next_word(&line));
	while (!problem && (word = next_word(&line)))
		problem = read_word(rule, word, ON(rule->act));
	return problem ? problem : check(rule);
}

char *rule_parse(const char *line, struct rule **ret_rule)
{
	struct rule *rule = calloc(1, sizeof(*rule));
	char *copy = strdup(line);
	char *problem;

	if (!rule || !copy)
		abort();
	rule->ms = -1;
	rule->chance = 100;
	problem = read_line(rule, copy);
	free(copy);
	if (problem)
		rule_free(rule);
	else
		*ret_rule = rule;
	return problem;
}

struct rule *rule_free(struct rule *rule)
{
	if (!rule)
		return NULL;
	free(rule->command);
	free(rule->sql);
	free(rule->state);
	free(rule->text);
	free(rule->server);
	free(rule);
	return NULL;
}

bool rule_fits(struct rule *rule, const struct spot *spot, uint64_t random)
{
	if (rule->done || rule->place != spot->place)
		return false;
	if ((rule->conn && rule->conn != spot->conn) ||
	    (rule->at && rule->at != spot->at) ||
	    (rule->all && rule->all != spot->all))
		return false;
	if (rule->command && fnmatch(rule->command, spot->command, 0) != 0)
		return false;
	if (rule->sql && fnmatch(rule->sql, spot->sql, FNM_CASEFOLD) != 0)
		return false;
	rule->seen++;
	/* The n-th time; with "always" every time from then on. */
	if (rule->seen < rule->match)
		return false;
	if (rule->match && rule->seen > rule->match && !rule->always)
		return false;
	if ((double) (random >> 11) * 0x1p-53 * 100 >= rule->chance)
		return false;
	rule->done = !rule->always;
	return true;
}

void rule_reset(struct rule *rule)
{
	rule->seen = 0;
	rule->done = false;
}

const char *rule_act_name(enum act act)
{
	return acts[act].name;
}

const char *rule_then_name(enum then then)
{
	return thens[then];
}
