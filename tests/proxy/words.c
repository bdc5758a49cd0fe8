// SPDX-License-Identifier: MIT
/*
 * What can be said to the proxy while it runs: a rule, or one of the words in
 * the table.
 */
#include "private.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef char *(*word_fn)(struct proxy *proxy, const char *arg,
			 char **ret_answer);

static char *say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *say(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	return text;
}

static char *clear(struct proxy *proxy, const char *arg, char **ret_answer)
{
	(void) arg;
	(void) ret_answer;
	while (proxy->rules) {
		struct rule *rule = proxy->rules;

		proxy->rules = rule->next;
		rule_free(rule);
	}
	return NULL;
}

static char *reset(struct proxy *proxy, const char *arg, char **ret_answer)
{
	struct rule *rule;

	(void) arg;
	(void) ret_answer;
	proxy->counts = (struct proxy_counts){ .links = proxy->counts.links };
	for (rule = proxy->rules; rule; rule = rule->next)
		rule_reset(rule);
	record_reset(proxy);
	return NULL;
}

static char *server(struct proxy *proxy, const char *arg, char **ret_answer)
{
	size_t length = strcspn(arg, " ");
	char address[160];

	(void) ret_answer;
	snprintf(address, sizeof(address), "%.*s", (int) length, arg);
	if (arg[length] && strcmp(arg + length, " keep") != 0)
		return say("server ADDRESS [keep], not '%s'", arg);
	if (!act_switch(proxy, address, arg[length]))
		return say("'%s' is no address; host:port, in numbers, or a "
			   "path",
			   address);
	record_fault(proxy, "switch", arg[length] ? "keep" : "rst", NULL, NULL);
	return NULL;
}

static char *end_all(struct proxy *proxy, const char *arg, char **ret_answer)
{
	static const enum then ways[] = { THEN_FIN, THEN_RST, THEN_SILENCE,
					  THEN_VANISH };

	(void) ret_answer;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(arg, rule_then_name(ways[i])) != 0)
			continue;
		record_fault(proxy, "end-all", arg, NULL, NULL);
		act_end_all(proxy, ways[i]);
		return NULL;
	}
	return say("end fin, rst, silence or vanish, not '%s'", arg);
}

static char *deliver(struct proxy *proxy, const char *arg, char **ret_answer)
{
	struct link *link;
	struct chunk *chunk;

	(void) arg;
	(void) ret_answer;
	for (link = proxy->links; link; link = link->next)
		for (chunk = link->out[REQUEST]; chunk; chunk = chunk->next)
			if (chunk->due_ms == LINK_NEVER)
				chunk->due_ms = link_now();
	record_heal(proxy, "hold-request");
	return NULL;
}

static char *freeze(struct proxy *proxy, const char *arg, char **ret_answer)
{
	(void) arg;
	(void) ret_answer;
	if (!proxy->frozen)
		record_fault(proxy, "freeze", NULL, NULL, NULL);
	proxy->frozen = true;
	return NULL;
}

static char *thaw(struct proxy *proxy, const char *arg, char **ret_answer)
{
	(void) arg;
	(void) ret_answer;
	if (proxy->frozen)
		record_heal(proxy, "freeze");
	proxy->frozen = false;
	return NULL;
}

/* A port that nobody listens on: connections are refused by the system. */
static char *deaf(struct proxy *proxy, const char *arg, char **ret_answer)
{
	(void) arg;
	(void) ret_answer;
	if (proxy->listener < 0)
		return NULL;
	/* The proxy's thread may be in poll(), which keeps a closed socket
	 * listening. */
	shutdown(proxy->listener, SHUT_RDWR);
	close(proxy->listener);
	proxy->listener = -1;
	record_fault(proxy, "refuse", NULL, NULL, NULL);
	return NULL;
}

static char *listen_again(struct proxy *proxy, const char *arg,
			  char **ret_answer)
{
	(void) arg;
	(void) ret_answer;
	if (proxy->listener >= 0)
		return NULL;
	if (proxy->at.any.sa_family == AF_UNIX)
		unlink(proxy->address);
	proxy->listener = address_listen(&proxy->at);
	if (proxy->listener < 0)
		return say("cannot listen on %s again", proxy->address);
	record_heal(proxy, "refuse");
	return NULL;
}

static char *seed(struct proxy *proxy, const char *arg, char **ret_answer)
{
	char *end;

	(void) ret_answer;
	proxy->random = strtoull(arg, &end, 0);
	return *arg && !*end ? NULL : say("'%s' is no seed", arg);
}

static char *count(struct proxy *proxy, const char *arg, char **ret_answer)
{
	const struct proxy_counts *counts = &proxy->counts;

	(void) arg;
	*ret_answer =
	    say("connections=%lu requests=%lu replies=%lu acts=%lu "
		"heard=%lu links=%lu\n",
		counts->connections, counts->requests, counts->replies,
		counts->acts, counts->heard, counts->links);
	return NULL;
}

static char *show_log(struct proxy *proxy, const char *arg, char **ret_answer)
{
	(void) arg;
	fflush(proxy->log_file);
	*ret_answer = say("%s", proxy->log ? proxy->log : "");
	return NULL;
}

static const struct {
	const char *name;
	word_fn fn;
} words[] = {
	{ "clear", clear }, { "reset", reset },     { "server", server },
	{ "end", end_all }, { "deliver", deliver }, { "freeze", freeze },
	{ "thaw", thaw },   { "deaf", deaf },       { "listen", listen_again },
	{ "seed", seed },   { "count", count },     { "log", show_log },
};

static char *add_rule(struct proxy *proxy, const char *line)
{
	struct rule **last = &proxy->rules;
	struct rule *rule = NULL;
	struct address address;
	char *problem = rule_parse(line, &rule);

	if (problem)
		return problem;
	if (rule->server && !address_parse(rule->server, &address)) {
		problem = say("'%s' is no address", rule->server);
		rule_free(rule);
		return problem;
	}
	while (*last)
		last = &(*last)->next;
	*last = rule;
	return NULL;
}

char *words_do(struct proxy *proxy, const char *line, char **ret_answer)
{
	size_t length;

	line += strspn(line, " \t");
	length = strcspn(line, " \t");
	if (length == 0 || *line == '#')
		return NULL;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *arg = line + length;

		if (strlen(words[i].name) != length ||
		    strncmp(line, words[i].name, length) != 0)
			continue;
		return words[i].fn(proxy, arg + strspn(arg, " \t"), ret_answer);
	}
	return add_rule(proxy, line);
}
