/* SPDX-License-Identifier: MIT */
#ifndef PROXY_LINK_H
#define PROXY_LINK_H

/*
 * One connection through the proxy: a socket to the client, one to the server,
 * and what is on its way between them.
 *
 * What goes one way waits in a queue of chunks; each is due at a time, may be
 * paced, and may end the connection when it is out. So whatever a rule does to
 * a message is said with chunks.
 */

#include <stdint.h>

#include "rule.h"
#include "wire.h"

#define LINK_NEVER INT64_MAX

struct chunk {
	struct chunk *next;
	int64_t due_ms; /* LINK_NEVER: held until "deliver" */
	long pace_ms;   /* 0: as fast as it goes */
	size_t step;    /* bytes per pace */
	enum then then; /* what happens when it is out */
	size_t size;
	size_t sent;
	uint8_t bytes[];
};

struct buffer {
	uint8_t *bytes;
	size_t size;
	size_t room;
};

struct link {
	struct link *next;
	unsigned long number;
	/** fd[side] is whom messages of this side come from; -1: closed. */
	int fd[SIDES];
	struct wire wire;
	struct buffer in[SIDES];
	struct chunk *out[SIDES];
	unsigned long at[SIDES]; /* messages so far */
	int64_t greet_ms;        /* no reply before */
	bool silent;
	bool vanished;
	bool zombie; /* its client is gone; a request is held */
};

/** Milliseconds of CLOCK_BOOTTIME. */
int64_t link_now(void);

/** @client is taken over; @server may be -1. */
struct link *link_new(int client, int server);
struct link *link_free(struct link *link);

/** Add @size bytes to what goes to the other side of @side. The chunk that
 *  was made may be changed. */
struct chunk *link_push(struct link *link, enum side side, const void *bytes,
			size_t size);

/** Read what is there; false: nothing came, or it was thrown away. */
bool link_read(struct link *link, enum side side);

/** What comes from @side is thrown away. */
bool link_ignores(const struct link *link, enum side side);

/** Take @size bytes from the front of what was read. */
void link_consume(struct link *link, enum side side, size_t size);

/** Send what is due. */
void link_write(struct link *link, enum side side);

/** When something is due next that does not wait for a socket. */
int64_t link_due(const struct link *link);

/** Does something wait until the socket takes it? */
bool link_blocked(const struct link *link, enum side side);

/** Go on like this, now. */
void link_then(struct link *link, enum then then);

/** End one socket; with a reset if @rst. */
void link_close(struct link *link, enum side side, bool rst);

/** Both sockets are closed. */
bool link_over(const struct link *link);

#endif
