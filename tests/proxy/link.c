// SPDX-License-Identifier: MIT
/*
 * The two sockets of a connection and the bytes between them.
 *
 * When one end closes, what is queued for the other is delivered first; then
 * that is closed, too: so a request whose client has gone is executed. A link
 * that has vanished tells the server nothing, a zombie keeps its server until
 * the held request is answered.
 */
#include "link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_SIZE = 65536 };

int64_t link_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static enum side other(enum side side)
{
	return side == REQUEST ? REPLY : REQUEST;
}

struct link *link_new(int client, int server)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link)
		abort();
	link->fd[REQUEST] = client;
	link->fd[REPLY] = server;
	return link;
}

static void drop_chunk(struct link *link, enum side side)
{
	struct chunk *chunk = link->out[side];

	link->out[side] = chunk->next;
	free(chunk);
}

void link_close(struct link *link, enum side side, bool rst)
{
	const struct linger now = { .l_onoff = 1 };
	int fd = link->fd[side];

	if (fd < 0)
		return;
	if (rst)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
	link->fd[side] = -1;
	while (link->out[other(side)])
		drop_chunk(link, other(side));
}

struct link *link_free(struct link *link)
{
	for (int side = 0; side < SIDES; side++) {
		link_close(link, (enum side) side, false);
		while (link->out[side])
			drop_chunk(link, (enum side) side);
		free(link->in[side].bytes);
	}
	wire_fini(&link->wire);
	free(link);
	return NULL;
}

bool link_over(const struct link *link)
{
	return link->fd[REQUEST] < 0 && link->fd[REPLY] < 0;
}

void link_then(struct link *link, enum then then)
{
	switch (then) {
	case THEN_ON:
		return;
	case THEN_VANISH:
		link->vanished = true;
		link->silent = true;
		return;
	case THEN_SILENCE:
		link->silent = true;
		return;
	case THEN_FIN:
	case THEN_RST:
		link_close(link, REQUEST, then == THEN_RST);
		if (!link->zombie)
			link_close(link, REPLY, then == THEN_RST);
	}
}

/* -------------------------------------------------------------- reading */

/* @side closed its socket. */
static void gone(struct link *link, enum side side)
{
	enum side to = other(side);

	/* What was queued for it is lost. */
	link_close(link, side, false);
	if (side == REQUEST ? link->zombie || link->vanished : link->vanished)
		return;
	if (side == REPLY)
		link->zombie = false;
	if (link->out[side])
		link_push(link, side, NULL, 0)->then = THEN_FIN;
	else
		link_close(link, to, false);
}

static void append(struct buffer *buffer, const uint8_t *bytes, size_t size)
{
	if (buffer->size + size > buffer->room) {
		buffer->room = (buffer->size + size) * 2;
		buffer->bytes = realloc(buffer->bytes, buffer->room);
		if (!buffer->bytes)
			abort();
	}
	memcpy(buffer->bytes + buffer->size, bytes, size);
	buffer->size += size;
}

/* Nobody hears the answer to a held request, but it ends the server's side. */
bool link_ignores(const struct link *link, enum side side)
{
	return link->silent && !(link->zombie && side == REPLY);
}

bool link_read(struct link *link, enum side side)
{
	uint8_t bytes[READ_SIZE];
	ssize_t got = recv(link->fd[side], bytes, sizeof(bytes), 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) {
		gone(link, side);
		return false;
	}
	if (link_ignores(link, side))
		return false;
	append(&link->in[side], bytes, (size_t) got);
	return true;
}

void link_consume(struct link *link, enum side side, size_t size)
{
	struct buffer *in = &link->in[side];

	in->size -= size;
	memmove(in->bytes, in->bytes + size, in->size);
}

/* -------------------------------------------------------------- writing */

struct chunk *link_push(struct link *link, enum side side, const void *bytes,
			size_t size)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + size);
	struct chunk **last = &link->out[side];

	if (!chunk)
		abort();
	*chunk = (struct chunk){ .size = size, .due_ms = link_now() };
	if (side == REPLY && link->greet_ms > chunk->due_ms)
		chunk->due_ms = link->greet_ms;
	if (size)
		memcpy(chunk->bytes, bytes, size);
	while (*last)
		last = &(*last)->next;
	*last = chunk;
	return chunk;
}

/* How much of @chunk may be sent now. */
static size_t allowance(const struct chunk *chunk)
{
	size_t left = chunk->size - chunk->sent;

	return chunk->pace_ms && chunk->step < left ? chunk->step : left;
}

/* False: the socket takes no more. */
static bool send_some(struct link *link, enum side side)
{
	struct chunk *chunk = link->out[side];
	int fd = link->fd[other(side)];
	size_t size = allowance(chunk);
	ssize_t sent;

	if (size == 0)
		return true;
	sent = send(fd, chunk->bytes + chunk->sent, size, MSG_NOSIGNAL);
	if (sent < 0) {
		/* Its end will be read. */
		if (errno != EAGAIN && errno != ENOTCONN)
			chunk->sent = chunk->size;
		return errno != EAGAIN && errno != ENOTCONN;
	}
	chunk->sent += (size_t) sent;
	if (chunk->pace_ms)
		chunk->due_ms = link_now() + chunk->pace_ms;
	return (size_t) sent == size;
}

void link_write(struct link *link, enum side side)
{
	while (link->out[side] && link->out[side]->due_ms <= link_now()) {
		struct chunk *chunk = link->out[side];
		enum then then = chunk->then;

		if (link->fd[other(side)] < 0) {
			drop_chunk(link, side);
			continue;
		}
		if (!send_some(link, side))
			return;
		if (chunk->sent < chunk->size)
			continue;
		drop_chunk(link, side);
		link_then(link, then);
	}
}

int64_t link_due(const struct link *link)
{
	int64_t next = LINK_NEVER;

	for (int side = 0; side < SIDES; side++)
		if (link->out[side] && link->out[side]->due_ms < next)
			next = link->out[side]->due_ms;
	return next;
}

bool link_blocked(const struct link *link, enum side side)
{
	return link->out[side] && link->out[side]->due_ms <= link_now();
}
