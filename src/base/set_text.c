/* SPDX-License-Identifier: MIT */
/*
 * The names in the text of a set; see set_text.h.
 */
#include "base/set_text.h"

#include <string.h>

size_t rlk_set_count(const char *text)
{
	size_t count = 1;

	for (; *text; text++)
		count += *text == RLK_SET_BETWEEN;
	return count;
}

size_t rlk_set_length(const char *name)
{
	static const char between[] = { RLK_SET_BETWEEN, '\0' };

	return strcspn(name, between);
}

struct rlk_set_name rlk_set_name_at(const char *text, size_t number)
{
	struct rlk_set_name name;
	size_t length;

	while (number-- > 0)
		text += rlk_set_length(text) + 1;
	length = rlk_set_length(text);
	if (length >= sizeof(name.text))
		length = sizeof(name.text) - 1;
	memcpy(name.text, text, length);
	name.text[length] = '\0';
	return name;
}

size_t rlk_set_find(const char *text, const char *name)
{
	size_t length = strlen(name);
	size_t which = 0;

	for (;; which++) {
		size_t here = rlk_set_length(text);

		if (here == length && memcmp(text, name, length) == 0)
			return which;
		text += here;
		if (!*text)
			return which + 1;
		text++;
	}
}
