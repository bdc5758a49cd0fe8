/* SPDX-License-Identifier: MIT */
#ifndef PROXY_H
#define PROXY_H

/*
 * A peer between client and server that understands their protocol well enough
 * to do harm at a chosen place: to the third request, to the reply of the
 * statement that looks like this, to the next connection. What it may do, and
 * the words for it, are in README.md beside this file.
 *
 * One thread serves all connections. Every function here may be called from
 * any other thread; what is told is in force when proxy_tell() returns. TLS,
 * compression and files sent by the client are out of scope: such a stream is
 * passed on unread, by pieces, as requests and replies named "opaque".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proxy;

struct proxy_options {
	/** "host:port" (numbers; port 0: any free one) or the path of a
	 *  Unix socket. NULL: 127.0.0.1:0. */
	const char *listen;
	/** The server's address, of the same form. */
	const char *server;
	/** A Unix socket that takes words; NULL: none. */
	const char *control;
	/** A directory for the history of the run; NULL: none. */
	const char *history;
	/** Of chance= and garble. */
	uint64_t seed;
};

/** Listen and serve. NULL: *@reason (@size bytes) says why not. */
struct proxy *proxy_start(const struct proxy_options *options, char *reason,
			  size_t size);

/** End all connections and the thread. Accepts NULL. */
void proxy_end(struct proxy *proxy);

/** "host:port" or a path: as given, the port filled in. */
const char *proxy_address(const struct proxy *proxy);

/**
 * Do what the lines of @words say; README.md has the language. Returns NULL,
 * or what is wrong with the first line that is not understood, to be freed;
 * lines before that are in force.
 */
char *proxy_tell(struct proxy *proxy, const char *words);

/** What the proxy has seen and done since its start or the word "reset". */
struct proxy_counts {
	unsigned long connections;
	unsigned long requests; /* whole ones, that came from clients */
	unsigned long replies;
	unsigned long acts;  /* rules that were carried out */
	unsigned long harms; /* of these, those that do not pass it on */
	unsigned long heard; /* bytes from clients */
	unsigned long links; /* open now, half-open ones too */
};

struct proxy_counts proxy_counts(struct proxy *proxy);

/** Wait until so many rules were carried out since the last "reset"; false:
 *  not within @ms. */
bool proxy_await_acts(struct proxy *proxy, unsigned long acts, int ms);
/** The same of those that do not just pass on what came. */
bool proxy_await_harms(struct proxy *proxy, unsigned long harms, int ms);

/**
 * The requests since the last "reset", a line each: the number of the
 * connection, the command, the SQL, with a blank between; free() it.
 */
char *proxy_log(struct proxy *proxy);

/** The address in the connection string @dsn ("host=...;port=..." or
 *  "socket=..."), for proxy_options.server. */
void proxy_server_of(const char *dsn, char *buffer, size_t size);

/** @dsn, but by way of the proxy. */
void proxy_dsn(const struct proxy *proxy, const char *dsn, char *buffer,
	       size_t size);

#endif
