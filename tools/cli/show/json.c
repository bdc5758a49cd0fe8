/* SPDX-License-Identifier: MIT */
/*
 * See json.h. Failure modes: main() checks that stdout could be written.
 */
#include "show/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

void json_text(const char *key, const char *value)
{
	printf(",\"%s\":", key);
	text_json(stdout, value);
}

void json_known(const char *key, const char *value)
{
	if (*value)
		json_text(key, value);
	else
		printf(",\"%s\":null", key);
}

void json_number(const char *key, bool known, uint64_t value)
{
	if (known)
		printf(",\"%s\":%" PRIu64, key, value);
	else
		printf(",\"%s\":null", key);
}

void json_signed(const char *key, bool known, int64_t value)
{
	if (known)
		printf(",\"%s\":%" PRId64, key, value);
	else
		printf(",\"%s\":null", key);
}

void json_bits(const char *key, uint64_t value)
{
	if (value > 0)
		printf(",\"%s\":\"%" PRIu64 "\"", key, value);
	else
		printf(",\"%s\":null", key);
}

void json_time(const char *key, const char *text)
{
	if (!*text) {
		printf(",\"%s\":null", key);
		return;
	}
	printf(",\"%s\":\"", key);
	for (; *text; text++) {
		if (*text == ' ')
			putchar('T');
		else if (strchr("0123456789-:.", *text))
			putchar(*text);
	}
	fputs("Z\"", stdout);
}
