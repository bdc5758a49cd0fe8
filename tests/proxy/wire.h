/* SPDX-License-Identifier: MIT */
#ifndef PROXY_WIRE_H
#define PROXY_WIRE_H

/*
 * The client/server protocol as far as the proxy has to understand it: where a
 * request ends, where its reply ends, and which SQL it is about.
 *
 * (MariaDB Server Documentation, "Clients & Utilities > Server Client
 * Protocol"; MySQL Source Code Documentation, "Client/Server Protocol".)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_HEADER 4

/** Who speaks. */
enum side {
	REQUEST, /* client to server */
	REPLY,
	SIDES,
};

/** One thing that is said: a request, or a whole reply. */
struct message {
	enum side side;
	const char *command; /* "query", "execute", ...; of a reply: of what
				it answers; "greeting", "opaque" */
	char *sql;           /* "" if there is none; owned by the message */
	const uint8_t *bytes;
	size_t size;
	uint8_t seq;  /* of the next packet in this exchange */
	bool answers; /* request: a reply will come */
	bool copy;    /* request that the proxy repeated; its reply */
};

/** A request that is not answered yet. */
struct pending {
	struct pending *next;
	uint8_t code;
	const char *command;
	char *sql;
	bool copy;
};

struct prepared {
	struct prepared *next;
	uint32_t id;
	char *sql;
};

/** How far a reply has been looked at. */
struct scan {
	size_t at;
	enum { SCAN_FIRST, SCAN_DEFS, SCAN_EOF, SCAN_ROWS } state;
	unsigned int groups[2]; /* column definitions still to come */
	unsigned int group;
	bool rows; /* follow the definitions */
	uint32_t id;
	bool failed; /* it is an error */
	uint64_t affected;
	uint8_t seq;
};

struct wire {
	enum { WIRE_GREETING, WIRE_LOGIN, WIRE_COMMANDS, WIRE_OPAQUE } phase;
	bool introduced; /* the login was seen */
	bool no_eof;     /* CLIENT_DEPRECATE_EOF */
	struct pending *pending;
	struct prepared *prepared;
	uint32_t last_id;
	struct scan scan;
	/* Of the last whole reply. */
	bool failed;
	uint64_t affected;
};

void wire_fini(struct wire *wire);

/**
 * The first whole message of @side in @size bytes at @bytes; false: more has
 * to come. Give it back to wire_message_fini(). A request is not yet known to
 * be on its way: wire_sent().
 */
bool wire_next(struct wire *wire, enum side side, const uint8_t *bytes,
	       size_t size, struct message *ret_message);

void wire_message_fini(struct message *message);

/** @message, a request, goes to the server: a reply will come. False: out of
 *  memory. */
bool wire_sent(struct wire *wire, const struct message *message);

/** An error packet for @message, or a greeting if it is NULL. Returns its
 *  size; 0: @size is too small. */
size_t wire_error(const struct message *message, unsigned int code,
		  const char *state, const char *text, uint8_t *buffer,
		  size_t size);

#endif
