/* SPDX-License-Identifier: MIT */
/*
 * Escaping and parsing of text.
 *
 * Names come from a table that others also write, so no text is trusted: every
 * character is decoded, and one that is not clearly printable is written as an
 * escape. Parsers accept the whole string or nothing.
 */
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define BAD_BYTE UINT32_MAX

void text_freep(char **text)
{
	free(*text);
}

char *text_format(const char *format, va_list args)
{
	char *text;

	return vasprintf(&text, format, args) < 0 ? NULL : text;
}

static size_t sequence_length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	if (first >= 0xf0 && first <= 0xf4)
		return 4;
	return 0;
}

/* The character at *@p, which moves past it; BAD_BYTE moves by one. */
static uint32_t next_character(const unsigned char **p)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = sequence_length(**p);
	uint32_t c = **p;

	if (length > 1)
		c &= 0x7fu >> length;
	for (size_t i = 1; i < length; i++) {
		/* The terminating NUL is no continuation byte either. */
		if (((*p)[i] & 0xc0) != 0x80) {
			length = 0;
			break;
		}
		c = c << 6 | ((*p)[i] & 0x3f);
	}
	if (length == 0 || c < least[length] || c > 0x10ffff ||
	    (c >= 0xd800 && c <= 0xdfff)) {
		(*p)++;
		return BAD_BYTE;
	}
	*p += length;
	return c;
}

/* Control characters, line and paragraph separator, marks of direction. */
static bool is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) ||
	       (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0x61c;
}

void text_plain(const char *text, char *ret_text, size_t size)
{
	const unsigned char *p = (const unsigned char *) text;
	size_t used = 0;

	while (*p) {
		const unsigned char *start = p;
		uint32_t c = next_character(&p);
		size_t length = (size_t) (p - start);

		if (c == BAD_BYTE || is_unsafe(c)) {
			start = (const unsigned char *) "?";
			length = 1;
		}
		if (used + length >= size)
			break;
		memcpy(ret_text + used, start, length);
		used += length;
	}
	ret_text[used] = '\0';
}

void text_escape(FILE *out, const char *text, bool unambiguous)
{
	const unsigned char *p = (const unsigned char *) text;

	while (*p) {
		const unsigned char *start = p;
		uint32_t c = next_character(&p);

		if (c == BAD_BYTE || (c < 0x80 && is_unsafe(c)))
			fprintf(out, "\\x%02x", *start);
		else if (is_unsafe(c))
			fprintf(out, "\\u{%04x}", (unsigned int) c);
		else if (c == '\\' && unambiguous)
			fputs("\\\\", out);
		else
			fwrite(start, 1, (size_t) (p - start), out);
	}
}

/* In the C locale wcwidth() knows ASCII only. */
static size_t columns_of(uint32_t c)
{
	int columns = wcwidth((wchar_t) c);

	return columns < 0 ? 1 : (size_t) columns;
}

size_t text_width(const char *text)
{
	const unsigned char *p = (const unsigned char *) text;
	size_t width = 0;

	while (*p)
		width += columns_of(next_character(&p));
	return width;
}

const char *text_cut_mark(void)
{
	return MB_CUR_MAX > 1 ? "\u2026" : "~";
}

void text_put_cut(FILE *out, const char *text, size_t width, bool tail)
{
	const unsigned char *p = (const unsigned char *) text, *from = p;
	size_t room = width > 0 ? width - 1 : 0, used = 0;

	/* Skip to the tail, or print the head. */
	if (tail)
		room = text_width(text) - room;
	while (*p) {
		const unsigned char *next = p;
		size_t columns = columns_of(next_character(&next));

		if (tail ? used >= room : used + columns > room)
			break;
		used += columns;
		p = next;
	}
	if (tail)
		fprintf(out, "%s%s%s", used > room ? " " : "", text_cut_mark(),
			(const char *) p);
	else {
		fwrite(from, 1, (size_t) (p - from), out);
		fputs(text_cut_mark(), out);
		for (; used < room; used++)
			putc(' ', out);
	}
}

void text_span(uint64_t ms, char *ret_text)
{
	unsigned long long s = ms / 1000;

	if (s < 60)
		snprintf(ret_text, TEXT_SPAN_SIZE, "%llu.%01us", s,
			 (unsigned int) (ms % 1000 / 100));
	else if (s < 3600)
		snprintf(ret_text, TEXT_SPAN_SIZE, "%llum%02llus", s / 60,
			 s % 60);
	else if (s < 86400)
		snprintf(ret_text, TEXT_SPAN_SIZE, "%lluh%02llum", s / 3600,
			 s / 60 % 60);
	else
		snprintf(ret_text, TEXT_SPAN_SIZE, "%llud%02lluh", s / 86400,
			 s / 3600 % 24);
}

void text_json(FILE *out, const char *text)
{
	const unsigned char *p = (const unsigned char *) text;

	fputc('"', out);
	while (*p) {
		const unsigned char *start = p;
		uint32_t c = next_character(&p);

		if (c == BAD_BYTE)
			fputs("\\ufffd", out);
		else if (c == '"' || c == '\\')
			fprintf(out, "\\%c", (char) c);
		else if (is_unsafe(c))
			fprintf(out, "\\u%04x", (unsigned int) c);
		else
			fwrite(start, 1, (size_t) (p - start), out);
	}
	fputc('"', out);
}

/* Milliseconds per unit, 0 if there is no such unit. */
static uint64_t unit_ms(const char *suffix)
{
	if (strcmp(suffix, "ms") == 0)
		return 1;
	if (strcmp(suffix, "") == 0 || strcmp(suffix, "s") == 0)
		return 1000;
	if (strcmp(suffix, "m") == 0)
		return 60 * 1000;
	if (strcmp(suffix, "h") == 0)
		return 3600 * 1000;
	if (strcmp(suffix, "d") == 0)
		return 86400 * 1000;
	return 0;
}

bool text_duration(const char *text, uint64_t *ret_ms)
{
	static const char digits[] = "0123456789";
	size_t whole = strspn(text, digits), i;
	size_t fraction =
	    text[whole] == '.' ? strspn(text + whole + 1, digits) : 0;
	size_t length = whole + (text[whole] == '.' ? 1 + fraction : 0);
	uint64_t unit = unit_ms(text + length);
	uint64_t value = 0, scale = 1, part = 0;

	if (whole + fraction == 0 || unit == 0)
		return false;
	for (i = 0; i < whole; i++) {
		value = value * 10 + (uint64_t) (text[i] - '0');
		if (value > 3600000000u)
			return false;
	}
	/* Nine digits of a fraction are exact; what follows rounds up. */
	for (i = 0; i < fraction && i < 9; i++) {
		part = part * 10 + (uint64_t) (text[whole + 1 + i] - '0');
		scale *= 10;
	}
	for (; i < fraction; i++) {
		if (text[whole + 1 + i] != '0') {
			part++;
			break;
		}
	}
	value = value * unit + (part * unit + scale - 1) / scale;
	if (value > UINT64_C(3600000000000))
		return false;
	*ret_ms = value;
	return true;
}

bool text_number(const char *text, unsigned int min, unsigned int max,
		 unsigned int *ret_number)
{
	size_t length = strlen(text);
	unsigned long value;

	if (length == 0 || length > 10 || strspn(text, "0123456789") != length)
		return false;
	value = strtoul(text, NULL, 10);
	if (value < min || value > max)
		return false;
	*ret_number = (unsigned int) value;
	return true;
}
