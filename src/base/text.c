/* SPDX-License-Identifier: MIT */
/*
 * UTF-8, checked. See text.h for why.
 */
#include "base/text.h"

#include <rowlock.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define ESCAPE_SIZE 4 /* \xNN */
#define CHARACTER_MOST 4

uint32_t rlk_text_decode(const unsigned char *text, size_t *ret_length)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = text[0] < 0x80             ? 1
			: (text[0] & 0xe0) == 0xc0 ? 2
			: (text[0] & 0xf0) == 0xe0 ? 3
			: (text[0] & 0xf8) == 0xf0 ? 4
						   : 0;
	uint32_t code = length == 1 ? text[0] : text[0] & (0x7fu >> length);

	*ret_length = 0;
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (length == 0 || code < least[length] || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_length = length;
	return code;
}

bool rlk_text_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

void rlk_text_escape(const char *in, char *out, size_t size)
{
	const unsigned char *at = (const unsigned char *) in;
	char *end = out;

	while (*at && end + CHARACTER_MOST * ESCAPE_SIZE < out + size) {
		size_t length;
		uint32_t code = rlk_text_decode(at, &length);

		if (length && !rlk_text_is_control(code)) {
			memcpy(end, at, length);
			end += length;
			at += length;
			continue;
		}
		for (length += !length; length; length--) {
			snprintf(end, ESCAPE_SIZE + 1, "\\x%02x", *at++);
			end += ESCAPE_SIZE;
		}
	}
	*end = '\0';
}

struct rlk_text_shown rlk_text_shown(const char *text)
{
	struct rlk_text_shown shown;

	rlk_text_escape(text ? text : "", shown.text, sizeof(shown.text));
	return shown;
}

const char *rlk_text_problem(const char *text, size_t max, char *buffer,
			     size_t size)
{
	const unsigned char *at = (const unsigned char *) text;
	size_t characters = 0;

	while (*at) {
		size_t length;
		uint32_t code = rlk_text_decode(at, &length);
		size_t offset = (size_t) (at - (const unsigned char *) text);

		if (length == 0) {
			snprintf(buffer, size, "is not UTF-8 (at byte %zu)",
				 offset);
			return buffer;
		}
		if (rlk_text_is_control(code)) {
			snprintf(buffer, size,
				 "has a control character (at byte %zu)",
				 offset);
			return buffer;
		}
		characters++;
		at += length;
	}
	if (characters > max) {
		snprintf(buffer, size,
			 "has %zu characters; at most %zu are allowed",
			 characters, max);
		return buffer;
	}
	return NULL;
}

const char *rlk_name_problem(const char *name, char *buffer, size_t size)
{
	size_t length = strlen(name);

	if (length == 0)
		return "is empty";
	if (name[length - 1] == ' ')
		return "has a blank at the end";
	return rlk_text_problem(name, ROWLOCK_NAME_MAX, buffer, size);
}

int rlk_name_check(const char *what, const char *name, const char *server,
		   struct rowlock_errinfo *reterr)
{
	const char *problem = "is NULL";
	char buffer[128];

	if (name)
		problem = rlk_name_problem(name, buffer, sizeof(buffer));
	if (!problem)
		return 0;
	return rlk_fail(reterr, ROWLOCK_ENAME,
			"%s '%s'%s%s %s; give 1 to %d characters of UTF-8 "
			"without control characters and without a blank at the "
			"end",
			what, rlk_text_shown(name).text,
			server ? " for a lock on " : "", server ? server : "",
			problem, ROWLOCK_NAME_MAX);
}

uint64_t rlk_bytes_hash(const char *text, size_t length)
{
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char) text[i]) * 1099511628211u;
	return hash;
}

uint64_t rlk_text_hash(const char *text)
{
	return rlk_bytes_hash(text, strlen(text));
}

uint64_t rlk_scramble(uint64_t number)
{
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
	number = (number ^ number >> 27) * 0x94d049bb133111eb;
	return number ^ number >> 31;
}
