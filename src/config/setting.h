/* SPDX-License-Identifier: MIT */
#ifndef RLK_CONFIG_SETTING_H
#define RLK_CONFIG_SETTING_H

/*
 * The keys of a connection string and of an option file, as Connector/C 3.3 and
 * 3.4 know them. It ignores those that it does not know, and takes what is no
 * number for 0: we look first, so that a slip of the pen does not lock another
 * server.
 */

#include <stdbool.h>
#include <stddef.h>

enum rlk_setting_kind {
	RLK_SETTING_TEXT,
	RLK_SETTING_ADDRESS, /* empty, it would mean the local server */
	RLK_SETTING_SECRET,
	RLK_SETTING_NUMBER,
	RLK_SETTING_PORT,
	RLK_SETTING_BOOLEAN,
	RLK_SETTING_PROTOCOL,
	RLK_SETTING_SWITCH, /* counts by being there */
	RLK_SETTING_DEADLY, /* Connector/C dereferences NULL */
};

/** Is any value one, but for the empty one of an address? */
static inline bool rlk_setting_is_text(enum rlk_setting_kind kind)
{
	return kind == RLK_SETTING_TEXT || kind == RLK_SETTING_ADDRESS ||
	       kind == RLK_SETTING_SECRET;
}

struct rlk_setting {
	const char *key; /* with '-'; '_' means the same */
	enum rlk_setting_kind kind;
	const char *same_as; /* NULL, or the key that it is another name of */
};

/** More than there are. */
enum { RLK_SETTINGS_MOST = 96 };

/** The setting of @key, case and blanks as they are; NULL: there is none. */
const struct rlk_setting *rlk_setting_find(const char *key);

/** A number below RLK_SETTINGS_MOST, the same for all names of one setting;
 *  those that say which server and account have the lowest, enum rlk_whom. */
size_t rlk_setting_number(const struct rlk_setting *setting);

enum rlk_whom {
	RLK_WHOM_HOST,
	RLK_WHOM_PORT,
	RLK_WHOM_USER,
	RLK_WHOM_PASSWORD,
	RLK_WHOM_DATABASE,
	RLK_WHOM_SOCKET,
	RLK_WHOM_PROTOCOL,
	RLK_WHOMS,
};

/** Note in @named, a bit for each of enum rlk_whom, whether @value says
 *  something for @setting. */
void rlk_setting_note(const struct rlk_setting *setting, const char *value,
		      unsigned int *named);

/** Who is told each setting that counts, one after the other; a later one of
 * the same number is the stronger one. @value is gone when the call returns. */
struct rlk_setting_taker {
	void (*take)(const struct rlk_setting *setting, const char *value,
		     void *arg);
	void *arg;
};

/** Is one of both a misspelling of the other? Blanks and case do not count. */
bool rlk_setting_alike(const char *a, const char *b);

/** The key that @key may be a misspelling of; NULL: none is near. */
const char *rlk_setting_near(const char *key);

/**
 * What is wrong with @value (NULL: there is none), as a sentence that names key
 * and value, but no secret, in @buffer; NULL: nothing.
 */
const char *rlk_setting_problem(const struct rlk_setting *setting,
				const char *value, char *buffer, size_t size);

/**
 * Say in @buffer that @key is not known. What looks like no key is cut: it may
 * be the end of a password that wanted braces, or a whole URL.
 *
 * @hidden  do not show it at all: it follows a password
 */
const char *rlk_setting_unknown(const char *key, bool hidden, char *buffer,
				size_t size);

#endif
