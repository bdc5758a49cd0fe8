/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_PEER_H
#define FUZZ_PEER_H

/*
 * A server that says what it is given: in turn a length of two bytes, and so
 * many bytes, each after it was answered, or was not.
 */

#include <stdbool.h>
#include <stddef.h>

struct peer_part {
	const unsigned char *bytes; /* NULL: that was the last one */
	size_t size;
	bool logs_in; /* it ends at the client's first command */
};

/** Returns its port of 127.0.0.1. */
unsigned int peer_start(void);
void peer_stop(void);

/** Say @parts, which have to stay, to the next client. */
void peer_play(const struct peer_part *parts);

/** Wait until it has ended. Was it told @text? */
bool peer_heard(const char *text);

#endif
