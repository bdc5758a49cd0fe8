/* SPDX-License-Identifier: MIT */
#ifndef RLK_CONFIG_OPTION_TEXT_H
#define RLK_CONFIG_OPTION_TEXT_H

#include "config/setting.h"

/** Cut the blanks at its end. */
void rlk_option_trim(char *text);

/** A value without its quotes and escapes, in place. */
char *rlk_option_unquote(char *value);

/** Behind a number MariaDB's own readers take "# words", and Connector/C's
 *  atoi() ends there: cut that. */
void rlk_option_cut(const struct rlk_setting *setting, char *value);

#endif
