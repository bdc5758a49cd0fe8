/* SPDX-License-Identifier: MIT */
/*
 * The lines of 'rowlock hold --json': see protocol.h.
 */
#include "run/protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/terms.h"
#include "common/text.h"
#include "common/words.h"

/* A line that is being made. */
struct line {
	FILE *out;
	char *text;
	size_t size;
};

static bool begin(struct line *line, const char *event, const struct task *task)
{
	*line = (struct line){ .out = NULL };
	line->out = open_memstream(&line->text, &line->size);
	if (!line->out)
		return false;
	fprintf(line->out, "{\"event\":\"%s\",\"version\":%d,\"name\":", event,
		PROTOCOL_VERSION);
	text_json(line->out, task->name);
	return true;
}

static char *end(struct line *line)
{
	fputs("}\n", line->out);
	if (!(ferror(line->out) | fclose(line->out)))
		return line->text;
	free(line->text);
	return NULL;
}

static void put_text(const struct line *line, const char *key,
		     const char *value)
{
	fprintf(line->out, ",\"%s\":", key);
	text_json(line->out, value);
}

static void put_number(const struct line *line, const char *key, uint64_t value)
{
	fprintf(line->out, ",\"%s\":%" PRIu64, key, value);
}

static void put_message(const struct line *line, const char *message)
{
	_cleanup_(text_freep) char *said = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&said, &size);

	if (!out)
		return;
	words_put(out, message);
	if (fclose(out) == 0)
		put_text(line, "message", said);
}

/* ----------------------------------------------------------------- lines */

/* The length of the first statement of @text: up to a "; " that is not quoted.
 * In a quoted text a quote stands twice, which is as good as its end and the
 * begin of another. */
static size_t statement(const char *text)
{
	char quote = '\0';
	size_t i;

	for (i = 0; text[i]; i++) {
		if (quote)
			quote = text[i] == quote ? '\0' : quote;
		else if (strchr("'\"`", text[i]))
			quote = text[i];
		else if (strncmp(text + i, "; ", 2) == 0)
			break;
	}
	return i;
}

static void put_guard(const struct line *line, const char *guard)
{
	const char *comma = "";

	fputs(",\"guard\":", line->out);
	if (!guard) {
		fputs("null", line->out);
		return;
	}
	fputc('[', line->out);
	while (*guard) {
		size_t size = statement(guard);
		_cleanup_(text_freep) char *one = strndup(guard, size);

		fputs(comma, line->out);
		text_json(line->out, one ? one : "");
		comma = ",";
		guard += size;
		guard += strncmp(guard, "; ", 2) == 0 ? 2 : 0;
	}
	fputc(']', line->out);
}

/* Permits have none. */
static void put_token(const struct line *line, uint64_t token)
{
	if (token)
		fprintf(line->out, "%" PRIu64, token);
	else
		fputs("null", line->out);
}

static void put_tokens(const struct line *line,
		       const struct protocol_held *held)
{
	fputs(",\"token\":", line->out);
	put_token(line, held->tokens[0]);
	fputs(",\"tokens\":{", line->out);
	for (size_t i = 0; i < held->task->name_count; i++) {
		fputs(i ? "," : "", line->out);
		text_json(line->out, held->task->names[i]);
		fputc(':', line->out);
		put_token(line, held->tokens[i]);
	}
	fputc('}', line->out);
}

char *protocol_held(const struct protocol_held *held)
{
	struct line line;

	if (!begin(&line, "held", held->task))
		return NULL;
	put_text(&line, "strategy", strategy_word(held->task->lock.strategy));
	put_tokens(&line, held);
	/* All 64 bits, of which many readers of JSON keep 53. */
	if (held->attempt)
		fprintf(line.out, ",\"attempt\":\"%" PRIu64 "\"",
			held->attempt);
	else
		fputs(",\"attempt\":null", line.out);
	put_number(&line, "ttl_ms", held->ttl_ms);
	put_number(&line, "deadline_ms", held->deadline_ms);
	put_text(&line, "server", held->server);
	put_guard(&line, held->guard);
	return end(&line);
}

char *protocol_lost(const struct task *task, const char *reason,
		    const char *message)
{
	struct line line;

	if (!begin(&line, "lost", task))
		return NULL;
	put_text(&line, "reason", reason);
	put_message(&line, message);
	return end(&line);
}

char *protocol_asked(const struct task *task,
		     const struct rowlock_revocation *asked,
		     enum rowlock_answer answer)
{
	struct line line;

	if (!begin(&line, "asked", task))
		return NULL;
	put_text(&line, "host", asked->host);
	put_number(&line, "pid", asked->pid);
	put_text(&line, "program", asked->program);
	put_text(&line, "reason", asked->reason);
	put_text(&line, "answer", answer_word(answer));
	return end(&line);
}

char *protocol_exported(const struct task *task, const char *string,
			uint64_t deadline_ms)
{
	struct line line;

	if (!begin(&line, "exported", task))
		return NULL;
	put_text(&line, "string", string);
	put_number(&line, "deadline_ms", deadline_ms);
	return end(&line);
}

char *protocol_not_exported(const struct task *task, int code,
			    const char *message, bool held)
{
	struct line line;

	if (!begin(&line, "error", task))
		return NULL;
	put_text(&line, "reason", "export");
	fprintf(line.out, ",\"code\":%d,\"held\":%s", code,
		held ? "true" : "false");
	put_message(&line, message);
	return end(&line);
}

char *protocol_handed(const struct task *task, const char *event,
		      const char *message)
{
	struct line line;

	if (!begin(&line, event, task))
		return NULL;
	put_message(&line, message);
	return end(&line);
}

char *protocol_released(const struct task *task, const char *message)
{
	struct line line;

	if (!begin(&line, "released", task))
		return NULL;
	fprintf(line.out, ",\"certain\":%s", message ? "false" : "true");
	if (message)
		put_message(&line, message);
	return end(&line);
}

static const char *reason_of(const struct task *task, int code)
{
	if (!task->adopts && (code == ROWLOCK_ELOST || code == ROWLOCK_EINVAL))
		return "failed";
	switch (code) {
	case ROWLOCK_EBUSY:
		return "busy";
	case ROWLOCK_ETIMEDOUT:
		return "timeout";
	case ROWLOCK_ECANCELED:
		return "canceled";
	case ROWLOCK_ELOST: /* its string was used, or it has ended */
		return "gone";
	case ROWLOCK_EINVAL:
		return "string";
	default:
		return "failed";
	}
}

char *protocol_failed(const struct task *task, int code, const char *message)
{
	struct line line;

	if (!begin(&line, "error", task))
		return NULL;
	put_text(&line, "reason", reason_of(task, code));
	fprintf(line.out, ",\"code\":%d,\"held\":false", code);
	put_message(&line, message);
	return end(&line);
}

/* ----------------------------------------------------------------- input */

char *protocol_unknown(const struct protocol_input *input,
		       const struct task *task, bool held)
{
	char message[256];
	struct line line;

	if (!begin(&line, "error", task))
		return NULL;
	snprintf(message, sizeof(message),
		 "the line '%.*s'%s is none that rowlock knows: 'release' and "
		 "'export' are; %s",
		 (int) input->size, input->line, input->too_long ? "..." : "",
		 held ? "the lock is held on" : "the lock stays exported");
	put_text(&line, "reason", "input");
	fprintf(line.out, ",\"held\":%s", held ? "true" : "false");
	put_text(&line, "message", message);
	return end(&line);
}

static enum protocol_word word_of(const struct protocol_input *input)
{
	static const char *const words[] = {
		[PROTOCOL_RELEASE] = "release",
		[PROTOCOL_EXPORT] = "export",
	};
	size_t size = input->size;

	if (size > 0 && input->line[size - 1] == '\r')
		size--;
	for (size_t i = PROTOCOL_RELEASE; i < RLK_ARRAY_SIZE(words); i++)
		if (!input->too_long && size == strlen(words[i]) &&
		    memcmp(input->line, words[i], size) == 0)
			return (enum protocol_word) i;
	return PROTOCOL_UNKNOWN;
}

size_t protocol_take(struct protocol_input *input, const char *text,
		     size_t size, enum protocol_word *ret_word)
{
	*ret_word = PROTOCOL_NONE;
	for (size_t i = 0; i < size; i++) {
		if (input->ended)
			*input = (struct protocol_input){ .size = 0 };
		if (text[i] == '\n') {
			input->ended = true;
			*ret_word = word_of(input);
			return i + 1;
		}
		if (input->size == sizeof(input->line))
			input->too_long = true;
		else
			input->line[input->size++] = text[i];
	}
	return size;
}
