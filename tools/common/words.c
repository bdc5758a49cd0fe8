/* SPDX-License-Identifier: MIT */
/*
 * Translates the library's words to the command line's.
 *
 * Messages of librowlock tell a programmer what to set. The user of a command
 * has no flags and fields, but switches. Failure modes: a message that is not
 * in the table stays as it is; tests/meta/check_switches.py finds those with
 * words of C.
 */
#include "words.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/macro.h"

struct words {
	const char *in_c;
	const char *in_shell;
};

static const struct words table[] = {
	{ "set ROWLOCK_TLS_UNVERIFIED", "give --tls-unverified" },
	{ "ROWLOCK_TLS_UNVERIFIED", "--tls-unverified" },
	{ "ROWLOCK_OBSERVE_BEATS", "--observe-beats" },
	{ "ROWLOCK_SINGLE_WRITER", "--single-writer" },
	{ "client option unverified_auth", "--unverified-auth" },
	{ "(unverified_auth)", "(--unverified-auth)" },
	{ "in the dsn (database=...) or the option file",
	  "(database=...) in ROWLOCK_DSN, --dsn or the option file" },
	{ "in the dsn or the option file",
	  "(database=...) in ROWLOCK_DSN, --dsn or the option file" },
	{ "the dsn", "--dsn" },
	{ "(rowlock_semaphore_resize(), or UPDATE lock_permits)",
	  "by 'rowlock permits'" },
	{ " (at_least_ms, delay_after_loss_ms)", "" },
	{ "; set batch_size to 1 to spare the tries", "" },
};

static bool is_word(char c)
{
	return isalnum((unsigned char) c) || c == '_';
}

/* The table's entry that begins at @at, after @before; NULL if none. */
static const struct words *find(const char *at, char before)
{
	if (before == '\'' || (is_word(before) && is_word(*at)))
		return NULL;
	for (size_t i = 0; i < RLK_ARRAY_SIZE(table); i++) {
		size_t length = strlen(table[i].in_c);

		if (strncmp(at, table[i].in_c, length) == 0 &&
		    !(is_word(at[length - 1]) && is_word(at[length])))
			return &table[i];
	}
	return NULL;
}

void words_put(FILE *out, const char *message)
{
	char before = ' ';

	while (*message) {
		const struct words *words = find(message, before);

		if (words) {
			fputs(words->in_shell, out);
			message += strlen(words->in_c);
			before = message[-1];
			continue;
		}
		before = *message++;
		fputc(before, out);
	}
}
