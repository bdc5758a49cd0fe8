/* SPDX-License-Identifier: MIT */
#ifndef RLK_CONFIG_SETTING_H
#define RLK_CONFIG_SETTING_H

/*
 * The keys of connection strings and option files, and what their values may
 * be.
 */

#include <stdbool.h>
#include <stddef.h>

enum rlk_setting_kind {
	RLK_SETTING_TEXT,
	RLK_SETTING_ADDRESS, /* must not be empty */
	RLK_SETTING_SECRET,
	RLK_SETTING_NUMBER,
	RLK_SETTING_PORT,
	RLK_SETTING_BOOLEAN,
	RLK_SETTING_PROTOCOL,
	RLK_SETTING_IGNORED, /* known, but rowlock decides this itself */
	RLK_SETTING_REFUSED, /* would make a held lock look free */
};

struct rlk_setting {
	const char *name; /* with '-'; '_' means the same */
	enum rlk_setting_kind kind;
	const char *same_as; /* the key this is another name of, or NULL */
	int option;          /* enum mysql_option */
};

/** Numbers of the keys that the library itself asks for; other keys have larger
 *  numbers, all below RLK_SETTINGS. Synonyms share a number. */
enum {
	RLK_SETTING_HOST,
	RLK_SETTING_PORT_NUMBER,
	RLK_SETTING_USER,
	RLK_SETTING_PASSWORD,
	RLK_SETTING_DATABASE,
	RLK_SETTING_SOCKET,
	RLK_SETTING_PROTOCOL_NUMBER,
	RLK_SETTING_CONNECT_TIMEOUT,
	RLK_SETTINGS = 64,
};

/** NULL if there is no such key. */
const struct rlk_setting *rlk_setting_find(const char *name);

/** The key that has @number; NULL if none has. */
const struct rlk_setting *rlk_setting_at(size_t number);

size_t rlk_setting_number(const struct rlk_setting *key);

/** Say in @buffer what is wrong with @value (NULL if the key stands alone).
 *  Returns NULL if nothing is. Never shows a secret. */
const char *rlk_setting_problem(const struct rlk_setting *key,
				const char *value, char *buffer, size_t size);

/** Say in @buffer that @name is no key. @hidden: it may be the end of a
 *  password, do not show it. */
const char *rlk_setting_unknown(const char *name, bool hidden, char *buffer,
				size_t size);

/** The letters of an authentication plugin's name. */
#define RLK_PLUGIN_LETTERS                                                     \
	"abcdefghijklmnopqrstuvwxyz"                                           \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"                                           \
	"0123456789_-"

/** Is it names of plugins with commas between them? NULL is none of them. */
bool rlk_is_plugin_list(const char *list);

/** A boolean, number or protocol whose value has no problem. */
unsigned int rlk_setting_value(const struct rlk_setting *key,
			       const char *value);

#endif
