/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_CONNECTION_H
#define TOOLS_CONNECTION_H

/*
 * The options that name the server: the same for every command and for the
 * daemon.
 */

#include <getopt.h>
#include <rowlock.h>
#include <stdbool.h>
#include <stdint.h>

/** Connector/C's: a server answers, but not by the TLS that is asked for. */
#define CONNECTION_NO_SUCH_TLS 2026

/** The options of the command line. All zero at first. */
struct connection {
	const char *dsn;
	const char *defaults_file;
	const char *group_suffix;
	const char *unverified_auth;
	uint64_t connect_timeout_ms; /* 0: the library's default */
	unsigned int flags;          /* enum rowlock_client_flags */
};

enum connection_option {
	OPTION_DSN = 1000,
	OPTION_DEFAULTS_FILE,
	OPTION_GROUP_SUFFIX,
	OPTION_NO_DEFAULTS,
	OPTION_TLS_UNVERIFIED,
	OPTION_UNVERIFIED_AUTH,
	OPTION_SINGLE_WRITER,
	OPTION_OBSERVE_BEATS,
	OPTION_CONNECT_TIMEOUT,
	OPTION_PASSWORD, /* refused, and not shown */
};

/** Entries for getopt_long(). */
#define CONNECTION_OPTIONS                                                     \
	{ "dsn", required_argument, NULL, OPTION_DSN },                        \
	    { "defaults-file", required_argument, NULL,                        \
	      OPTION_DEFAULTS_FILE },                                          \
	    { "defaults-group-suffix", required_argument, NULL,                \
	      OPTION_GROUP_SUFFIX },                                           \
	    { "no-defaults", no_argument, NULL, OPTION_NO_DEFAULTS },          \
	    { "tls-unverified", no_argument, NULL, OPTION_TLS_UNVERIFIED },    \
	    { "unverified-auth", required_argument, NULL,                      \
	      OPTION_UNVERIFIED_AUTH },                                        \
	    { "single-writer", no_argument, NULL, OPTION_SINGLE_WRITER },      \
	    { "observe-beats", no_argument, NULL, OPTION_OBSERVE_BEATS },      \
	    { "password", optional_argument, NULL, OPTION_PASSWORD },          \
	{                                                                      \
		"connect-timeout", required_argument, NULL,                    \
		    OPTION_CONNECT_TIMEOUT                                     \
	}

/** Their lines in a help text. */
extern const char connection_help[];

/** Take one option. Returns 1 if taken, 0 if it is not one of these, -1 if
 *  refused, with a report. */
int connection_option(struct connection *connection, int option,
		      const char *argument);

/**
 * Open a client.
 *
 * @base  all other options; those of the server are filled in
 *
 * Returns what rowlock_client_new() does.
 */
int connection_open(const struct connection *connection,
		    struct rowlock_client_options base,
		    struct rowlock_client **ret_client,
		    struct rowlock_errinfo *reterr);

#endif
