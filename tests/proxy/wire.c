// SPDX-License-Identifier: MIT
/*
 * Cutting the two streams of a connection into requests and replies.
 *
 * A request is a packet (a longer one than 16 MB - 1: several). A reply ends
 * where its grammar says: after one packet, or after definitions and rows. The
 * replies come in the order of the requests; those that are still to come are
 * kept in a line, with the SQL that they are about.
 *
 * Failure modes: what is not understood (TLS, compression) makes the stream
 * opaque: bytes are passed on as they come.
 */
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENT_COMPRESS 0x20u
#define CLIENT_SSL 0x800u
#define CLIENT_DEPRECATE_EOF 0x1000000u
#define MORE_RESULTS 8u
#define PROGRESS 0xffffu /* an "error" that only tells how far it is */

enum { LONGEST = 0xffffff, ID_LAST = -1 };

enum code {
	COM_QUIT = 0x01,
	COM_QUERY = 0x03,
	COM_FIELD_LIST = 0x04,
	COM_STMT_PREPARE = 0x16,
	COM_STMT_EXECUTE = 0x17,
	COM_STMT_LONG_DATA = 0x18,
	COM_STMT_CLOSE = 0x19,
	COM_SET_OPTION = 0x1b,
	COM_STMT_FETCH = 0x1c,
	CODE_LOGIN = 0xf0, /* ours: no command */
	CODE_AUTH = 0xf1,
	CODE_OTHER = 0xf2,
};

static const struct {
	uint8_t code;
	const char *name;
} names[] = {
	{ COM_QUIT, "quit" },
	{ 0x02, "use" },
	{ COM_QUERY, "query" },
	{ COM_FIELD_LIST, "fields" },
	{ 0x09, "statistics" },
	{ 0x0e, "ping" },
	{ 0x11, "change-user" },
	{ COM_STMT_PREPARE, "prepare" },
	{ COM_STMT_EXECUTE, "execute" },
	{ COM_STMT_LONG_DATA, "long-data" },
	{ COM_STMT_CLOSE, "close" },
	{ 0x1a, "stmt-reset" },
	{ COM_SET_OPTION, "set-option" },
	{ COM_STMT_FETCH, "fetch" },
	{ 0x1f, "reset" },
	{ CODE_LOGIN, "login" },
	{ CODE_AUTH, "auth" },
};

static const char *name_of(uint8_t code)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].code == code)
			return names[i].name;
	return "other";
}

static uint8_t code_of(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].code;
	return CODE_OTHER;
}

static uint32_t le(const uint8_t *at, unsigned int bytes)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < bytes; i++)
		value |= (uint32_t) at[i] << 8 * i;
	return value;
}

/* A length-encoded integer at *@at of @end, which moves on. */
static uint64_t lenenc(const uint8_t **at, const uint8_t *end)
{
	unsigned int bytes = 0;
	uint64_t value = 0;

	if (*at >= end)
		return 0;
	if (**at < 0xfb)
		return *(*at)++;
	bytes = **at == 0xfc ? 2 : **at == 0xfd ? 3 : 8;
	(*at)++;
	for (unsigned int i = 0; i < bytes && *at < end; i++)
		value |= (uint64_t) * (*at)++ << 8 * i;
	return value;
}

static char *copy(const void *text, size_t size)
{
	return strndup(text ? text : "", size);
}

/* The size of the packets at @bytes that belong together, 0: not all there. */
static size_t packet_size(const uint8_t *bytes, size_t size)
{
	size_t at = 0;

	while (size - at >= WIRE_HEADER) {
		size_t payload = le(bytes + at, 3);

		if (size - at < WIRE_HEADER + payload)
			return 0;
		at += WIRE_HEADER + payload;
		if (payload < LONGEST)
			return at;
	}
	return 0;
}

/* ------------------------------------------------------------- requests */

static struct prepared **find(struct wire *wire, uint32_t id)
{
	struct prepared **at = &wire->prepared;

	if (id == (uint32_t) ID_LAST)
		id = wire->last_id;
	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static void forget(struct wire *wire, uint32_t id)
{
	struct prepared **at = find(wire, id);
	struct prepared *gone = *at;

	if (!gone)
		return;
	*at = gone->next;
	free(gone->sql);
	free(gone);
}

static void command(struct wire *wire, const uint8_t *payload, size_t size,
		    struct message *message)
{
	uint8_t code = size ? payload[0] : 0;
	struct prepared *prepared = NULL;

	message->command = name_of(code);
	message->answers = code != COM_QUIT && code != COM_STMT_CLOSE &&
			   code != COM_STMT_LONG_DATA;
	if (code == COM_QUERY || code == COM_STMT_PREPARE) {
		message->sql = copy(payload + 1, size - 1);
		return;
	}
	if (size >= 5 && code >= COM_STMT_EXECUTE && code <= COM_STMT_FETCH &&
	    code != COM_SET_OPTION)
		prepared = *find(wire, le(payload + 1, 4));
	message->sql =
	    prepared ? copy(prepared->sql, strlen(prepared->sql)) : NULL;
	if (code == COM_STMT_CLOSE && size >= 5)
		forget(wire, le(payload + 1, 4));
}

static void login(struct wire *wire, const uint8_t *payload, size_t size,
		  struct message *message)
{
	uint32_t flags = size >= 4 ? le(payload, 4) : 0;

	message->command = name_of(wire->introduced ? CODE_AUTH : CODE_LOGIN);
	if (wire->introduced)
		return;
	wire->introduced = true;
	wire->no_eof = flags & CLIENT_DEPRECATE_EOF;
	if (flags & CLIENT_COMPRESS || (flags & CLIENT_SSL && size == 32))
		wire->phase = WIRE_OPAQUE;
}

static bool next_request(struct wire *wire, struct message *message)
{
	const uint8_t *payload = message->bytes + WIRE_HEADER;
	size_t size = packet_size(message->bytes, message->size);

	if (!size)
		return false;
	message->size = size;
	message->seq = (uint8_t) (message->bytes[3] + 1);
	message->answers = true;
	if (wire->phase == WIRE_COMMANDS && message->bytes[3] == 0)
		command(wire, payload, size - WIRE_HEADER, message);
	else if (wire->phase == WIRE_COMMANDS)
		message->command = "other"; /* in the middle of a command */
	else
		login(wire, payload, size - WIRE_HEADER, message);
	if (!message->sql)
		message->sql = copy(NULL, 0);
	return true;
}

bool wire_sent(struct wire *wire, const struct message *message)
{
	struct pending **last = &wire->pending;
	struct pending *pending;

	if (!message->answers || wire->phase == WIRE_OPAQUE)
		return true;
	pending = calloc(1, sizeof(*pending));
	if (!pending)
		return false;
	pending->code = code_of(message->command);
	pending->command = message->command;
	pending->copy = message->copy;
	pending->sql = copy(message->sql, strlen(message->sql));
	while (*last)
		last = &(*last)->next;
	*last = pending;
	return true;
}

/* -------------------------------------------------------------- replies */

static void note_ok(struct wire *wire, const uint8_t *at, const uint8_t *end,
		    unsigned int *ret_status)
{
	at++;
	wire->scan.affected = lenenc(&at, end);
	lenenc(&at, end);
	*ret_status = end - at >= 2 ? le(at, 2) : 0;
}

/* The packet that ends definitions or rows, or a whole result. */
static bool ends(struct wire *wire, const uint8_t *payload, size_t size,
		 unsigned int *ret_status)
{
	if (size == 0 || payload[0] != 0xfe)
		return false;
	if (wire->no_eof) {
		note_ok(wire, payload, payload + size, ret_status);
		return true;
	}
	*ret_status = size >= 5 ? le(payload + 3, 2) : 0;
	return size < 9;
}

/* What comes when a group of definitions is over. True: nothing. */
static bool next_group(struct scan *scan)
{
	while (++scan->group < 2)
		if (scan->groups[scan->group]) {
			scan->state = SCAN_DEFS;
			return false;
		}
	scan->state = SCAN_ROWS;
	return !scan->rows;
}

/* All definitions of the present group were seen. */
static bool defs_over(struct wire *wire)
{
	if (wire->no_eof)
		return next_group(&wire->scan);
	wire->scan.state = SCAN_EOF;
	return false;
}

static bool first_of_prepare(struct wire *wire, const uint8_t *payload,
			     size_t size)
{
	struct scan *scan = &wire->scan;

	if (size < 9)
		return true;
	scan->id = le(payload + 1, 4);
	scan->groups[0] = le(payload + 7, 2);
	scan->groups[1] = le(payload + 5, 2);
	scan->rows = false;
	if (!scan->groups[0] && !scan->groups[1])
		return true;
	scan->group = scan->groups[0] ? 0 : 1;
	scan->state = SCAN_DEFS;
	return false;
}

static bool first_of_result(struct wire *wire, const uint8_t *payload,
			    size_t size)
{
	const uint8_t *at = payload;
	const uint8_t *end = payload + size;
	struct scan *scan = &wire->scan;

	scan->groups[0] = 0;
	scan->groups[1] = (unsigned int) lenenc(&at, end);
	/* MARIADB_CLIENT_CACHE_METADATA: a 0 says "as the last time". */
	if (at < end && *at == 0)
		scan->groups[1] = 0;
	scan->group = 1;
	scan->rows = true;
	scan->state = SCAN_DEFS;
	return scan->groups[1] ? false : defs_over(wire);
}

static bool is_error(struct wire *wire, const uint8_t *payload, size_t size)
{
	if (size < 3 || payload[0] != 0xff)
		return false;
	wire->scan.failed = true;
	return true;
}

/* True: the reply is over. */
static bool first_packet(struct wire *wire, uint8_t code,
			 const uint8_t *payload, size_t size)
{
	unsigned int status = 0;

	if (size == 0 || is_error(wire, payload, size))
		return true;
	switch (code) {
	case COM_STMT_PREPARE:
		return first_of_prepare(wire, payload, size);
	case COM_STMT_FETCH:
	case COM_FIELD_LIST:
		wire->scan.rows = true;
		wire->scan.state = SCAN_ROWS;
		return ends(wire, payload, size, &status);
	case COM_QUERY:
	case COM_STMT_EXECUTE:
		if (payload[0] == 0xfb)
			return true; /* it wants a file: out of scope */
		if (payload[0] != 0)
			return first_of_result(wire, payload, size);
		note_ok(wire, payload, payload + size, &status);
		return !(status & MORE_RESULTS);
	default:
		return true;
	}
}

static bool one_packet(struct wire *wire, uint8_t code, const uint8_t *payload,
		       size_t size)
{
	struct scan *scan = &wire->scan;
	unsigned int status = 0;

	if (size >= 3 && payload[0] == 0xff && le(payload + 1, 2) == PROGRESS)
		return false;
	switch (scan->state) {
	case SCAN_FIRST:
		return first_packet(wire, code, payload, size);
	case SCAN_DEFS:
		return --scan->groups[scan->group] ? false : defs_over(wire);
	case SCAN_EOF:
		return next_group(scan);
	case SCAN_ROWS:
		if (is_error(wire, payload, size))
			return true;
		if (!ends(wire, payload, size, &status))
			return false;
		if (!(status & MORE_RESULTS))
			return true;
		scan->state = SCAN_FIRST;
		return false;
	}
	return true;
}

static void remember(struct wire *wire, struct pending *pending)
{
	struct prepared *prepared;

	if (pending->code != COM_STMT_PREPARE || wire->failed)
		return;
	prepared = calloc(1, sizeof(*prepared));
	if (!prepared)
		return;
	forget(wire, wire->scan.id);
	prepared->id = wire->last_id = wire->scan.id;
	prepared->sql = copy(pending->sql, strlen(pending->sql));
	prepared->next = wire->prepared;
	wire->prepared = prepared;
}

static void whole_reply(struct wire *wire, struct message *message)
{
	struct pending *pending = wire->pending;

	message->size = wire->scan.at;
	message->seq = (uint8_t) (wire->scan.seq + 1);
	wire->failed = wire->scan.failed;
	wire->affected = wire->scan.affected;
	if (!pending) {
		message->command =
		    wire->phase == WIRE_GREETING ? "greeting" : "unasked";
		message->sql = copy(NULL, 0);
		if (wire->phase == WIRE_GREETING)
			wire->phase = WIRE_LOGIN;
		/* MySQL's caching_sha2_password says "go on", then "ok". */
		else if (wire->phase == WIRE_LOGIN &&
			 message->bytes[WIRE_HEADER] == 0)
			wire->phase = WIRE_COMMANDS;
	} else {
		remember(wire, pending);
		message->command = pending->command;
		message->sql = pending->sql;
		message->copy = pending->copy;
		wire->pending = pending->next;
		if (wire->phase == WIRE_LOGIN &&
		    message->bytes[WIRE_HEADER] == 0)
			wire->phase = WIRE_COMMANDS;
		free(pending);
	}
	memset(&wire->scan, 0, sizeof(wire->scan));
}

static bool next_reply(struct wire *wire, struct message *message)
{
	uint8_t code = wire->pending ? wire->pending->code : CODE_OTHER;
	struct scan *scan = &wire->scan;

	for (;;) {
		const uint8_t *packet = message->bytes + scan->at;
		size_t size = packet_size(packet, message->size - scan->at);

		if (!size)
			return false;
		scan->at += size;
		scan->seq = packet[3];
		if (one_packet(wire, code, packet + WIRE_HEADER,
			       size - WIRE_HEADER)) {
			whole_reply(wire, message);
			return true;
		}
	}
}

/* ----------------------------------------------------------------- both */

bool wire_next(struct wire *wire, enum side side, const uint8_t *bytes,
	       size_t size, struct message *ret_message)
{
	struct message *message = ret_message;

	*message = (struct message){
		.side = side,
		.command = "opaque",
		.bytes = bytes,
		.size = size,
	};
	if (wire->phase == WIRE_OPAQUE) {
		message->sql = copy(NULL, 0);
		return size > 0;
	}
	return side == REQUEST ? next_request(wire, message)
			       : next_reply(wire, message);
}

void wire_message_fini(struct message *message)
{
	free(message->sql);
	message->sql = NULL;
}

void wire_fini(struct wire *wire)
{
	while (wire->pending) {
		struct pending *pending = wire->pending;

		wire->pending = pending->next;
		free(pending->sql);
		free(pending);
	}
	while (wire->prepared)
		forget(wire, wire->prepared->id);
}

size_t wire_error(const struct message *message, unsigned int code,
		  const char *state, const char *text, uint8_t *buffer,
		  size_t size)
{
	char *payload = (char *) buffer + WIRE_HEADER + 3;
	int length;

	if (size < WIRE_HEADER + 3)
		return 0;
	/* Before the login there is no state in it. */
	length = snprintf(payload, size - WIRE_HEADER - 3, "%s%s%s",
			  message ? "#" : "", message ? state : "", text);
	if (length < 0 || (size_t) length >= size - WIRE_HEADER - 3)
		return 0;
	length += 3;
	buffer[0] = (uint8_t) length;
	buffer[1] = (uint8_t) (length >> 8);
	buffer[2] = (uint8_t) (length >> 16);
	buffer[3] = message ? message->seq : 0;
	buffer[4] = 0xff;
	buffer[5] = (uint8_t) code;
	buffer[6] = (uint8_t) (code >> 8);
	return WIRE_HEADER + (size_t) length;
}
