/* SPDX-License-Identifier: MIT */
/*
 * The text of a line of an option file, as Connector/C 3.3 takes it apart
 * (ma_default.c). Failure modes: none; each text means something.
 */
#include "config/option_text.h"

#include <ctype.h>
#include <string.h>

void rlk_option_trim(char *text)
{
	size_t length = strlen(text);

	while (length && isspace((unsigned char) text[length - 1]))
		text[--length] = '\0';
}

static char unescaped(char c)
{
	static const char from[] = "ntrbs\"'\\", to[] = "\n\t\r\b \"'\\";
	const char *at = strchr(from, c);

	return at ? to[at - from] : '\0';
}

char *rlk_option_unquote(char *value)
{
	char *from, *to;
	size_t length;

	while (isspace((unsigned char) *value))
		value++;
	rlk_option_trim(value);
	if (*value == '\'' || *value == '"') {
		value++;
		length = strlen(value);
		if (length && strchr("'\"", value[length - 1]))
			value[length - 1] = '\0';
	}
	for (from = to = value; *from; from++) {
		char c = *from == '\\' && from[1] ? unescaped(from[1]) : '\0';

		*to++ = c ? c : *from;
		from += c != '\0';
	}
	*to = '\0';
	return value;
}

void rlk_option_cut(const struct rlk_setting *setting, char *value)
{
	char *end = value + strspn(value, "0123456789");

	if (rlk_setting_is_text(setting->kind) ||
	    !isspace((unsigned char) *end))
		return;
	if (end[strspn(end, " \t")] == '#')
		*end = '\0';
}
