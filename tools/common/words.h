/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_WORDS_H
#define TOOLS_WORDS_H

#include <stdio.h>

/**
 * Write a message of the library in the words of the command line: a flag or a
 * field of C as the switch that stands for it. Text that begins after a quote
 * is a user's, and stays as it is.
 */
void words_put(FILE *out, const char *message);

#endif
