/* SPDX-License-Identifier: MIT */
/*
 * See output.h. Failure modes: no memory; a file that refuses.
 */
#include "run/output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void output_init(struct output *output)
{
	*output = (struct output){ .text = NULL };
	sink_init(&output->sink, STDOUT_FILENO);
}

void output_fini(struct output *output)
{
	sink_fini(&output->sink);
	free(output->text);
	output->text = NULL;
}

bool output_add(struct output *output, const char *text)
{
	size_t more = strlen(text);
	char *both = realloc(output->text, output->size + more);

	if (!both)
		return false;
	memcpy(both + output->size, text, more);
	output->text = both;
	output->size += more;
	return true;
}

bool output_put(struct output *output)
{
	ssize_t n = sink_put(&output->sink, output->text, output->size);

	if (n > 0) {
		output->size -= (size_t) n;
		memmove(output->text, output->text + n, output->size);
	}
	return n >= 0;
}
