/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_WORDS_H
#define TOOLS_WORDS_H

#include <stdio.h>

/**
 * Write a message of the library in the words of the command line: a flag or
 * a field of C as the switch that stands for it. What begins behind a quote is
 * somebody's text, and stays as it is.
 */
void words_put(FILE *out, const char *message);

#endif
