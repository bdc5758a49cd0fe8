/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_TEXT_H
#define RLK_BASE_TEXT_H

/*
 * Which texts may become a name or an info. Length is counted in characters,
 * as a VARCHAR counts; nothing is ever cut to fit: two names that differ only
 * behind the cut would become one lock.
 */

#include <rowlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The code point at @text, which is not at its end, and its length in bytes; a
 *  length of 0 if it is malformed. */
uint32_t rlk_text_decode(const unsigned char *text, size_t *ret_length);

/** C0, DEL or C1: some terminals obey U+009B as they do ESC [. */
bool rlk_text_is_control(uint32_t code);

/** Write @in to @out of @size, cut if need be; the bytes of control characters,
 *  and of what is not UTF-8, as \xNN. */
void rlk_text_escape(const char *in, char *out, size_t size);

/** The beginning of a text, or "" for NULL, as a message may have it. */
struct rlk_text_shown {
	char text[170];
};

struct rlk_text_shown rlk_text_shown(const char *text);

/**
 * Check @text: well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates),
 * no control characters (C0, DEL, C1), at most @max characters.
 *
 * Returns NULL if all is well, else what is wrong, in words that end a
 * sentence ("... is not UTF-8 (at byte 3)"), written to @buffer if needed.
 */
const char *rlk_text_problem(const char *text, size_t max, char *buffer,
			     size_t size);

/** The same for a name: also not empty and without a blank at the end, which
 *  the database's collation would not see. */
const char *rlk_name_problem(const char *name, char *buffer, size_t size);

/** Room for a name: each of its characters has up to four bytes. */
#define RLK_NAME_SIZE (ROWLOCK_NAME_MAX * 4 + 1)

/** Check @name, which may be NULL. @what begins the message, as "the name";
 *  @server: whose lock it is to be, or NULL. Returns 0 or ROWLOCK_ENAME. */
int rlk_name_check(const char *what, const char *name, const char *server,
		   struct rowlock_errinfo *reterr);

/** A number that spreads texts well (FNV-1a). The same everywhere, for ever:
 *  clients of different versions meet by it. */
uint64_t rlk_text_hash(const char *text);
uint64_t rlk_bytes_hash(const char *text, size_t length);

/** Each bit of @number bears on all of the result: what is counted or hashed
 *  becomes a place in a small table. In a hash alone the last letter of a text
 *  moves only some bits, so "seat-1" to "seat-9" would share a place. (The
 *  finalizer of SplitMix64: Steele, Lea, Flood: Fast Splittable Pseudorandom
 *  Number Generators, 2014.) */
uint64_t rlk_scramble(uint64_t number);

#endif
