/* SPDX-License-Identifier: MIT */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

/*
 * Text on its way to standard output, written when there is room for it: no
 * caller ever waits for a reader.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/sink.h"

struct output {
	struct sink sink;
	char *text; /* what is not written yet */
	size_t size;
};

void output_init(struct output *output);
void output_fini(struct output *output);

/** Add @text. Returns false without memory. */
bool output_add(struct output *output, const char *text);

/** Write what there is room for. Returns false and errno if it cannot be
 *  written. */
bool output_put(struct output *output);

#endif
