/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_CHECKER_NAMES_H
#define ROWLOCK_CHECKER_NAMES_H

#include "history.h"

/** Words, each with a number of its own, from 0 up. */
struct names;

struct names *names_new(void);
void names_free(struct names *names);
uint32_t names_number(struct names *names, struct history_word word);
struct history_word names_word(const struct names *names, uint32_t number);

#endif
