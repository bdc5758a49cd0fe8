/* SPDX-License-Identifier: MIT */
/*
 * The options that name the server.
 *
 * The library reads ROWLOCK_DSN and the option files, and gets the options of
 * the command line. Those never contain a password, as every user of the
 * machine can read them.
 */
#include "connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "dsn.h"
#include "report.h"
#include "text.h"

const char connection_help[] =
    "Where the server is; each key as --dsn has it, else ROWLOCK_DSN, else "
    "the\n"
    "option files:\n"
    "      --dsn=STRING           a connection string, without a\n"
    "                             password: 'host=db1;user=app;database=app'\n"
    "      --defaults-file=FILE   read this option file instead of the\n"
    "                             standard ones; groups [client], [rowlock]\n"
    "      --defaults-group-suffix=TEXT\n"
    "                             read [client<TEXT>] and [rowlock<TEXT>] too\n"
    "      --no-defaults          read no option file\n"
    "      --connect-timeout=TIME bound for opening a connection (5s)\n"
    "      --tls-unverified       talk to another host without verified TLS:\n"
    "                             whoever is on the network can interfere\n"
    "      --unverified-auth=LIST authentication plugins that may tell the\n"
    "                             password to a server that is not verified\n"
    "      --single-writer        only one node of this cluster is written\n"
    "                             to: allow the row strategy there\n"
    "      --observe-beats        judge by observed heartbeats only, never by\n"
    "                             the server's clock\n";

static bool take_dsn(struct connection *connection, const char *argument)
{
	if (dsn_has_secret(argument)) {
		report(ROWLOCK_LOG_ERROR,
		       "--dsn: no password on the command line, where every "
		       "user of this machine can read it: put the whole "
		       "string into the environment variable ROWLOCK_DSN, or "
		       "the password into an option file, group [rowlock]");
		return false;
	}
	connection->dsn = argument;
	return true;
}

static bool take_timeout(struct connection *connection, const char *argument)
{
	uint64_t ms;

	if (!text_duration(argument, &ms) || ms < 100 || ms > 60000) {
		report(ROWLOCK_LOG_ERROR,
		       "--connect-timeout: '%s' is not a time from 100ms to "
		       "60s",
		       argument);
		return false;
	}
	connection->connect_timeout_ms = ms;
	return true;
}

int connection_option(struct connection *connection, int option,
		      const char *argument)
{
	switch (option) {
	case OPTION_DSN:
		return take_dsn(connection, argument) ? 1 : -1;
	case OPTION_DEFAULTS_FILE:
		connection->defaults_file = argument;
		return 1;
	case OPTION_GROUP_SUFFIX:
		connection->group_suffix = argument;
		return 1;
	case OPTION_NO_DEFAULTS:
		connection->flags |= ROWLOCK_NO_DEFAULTS;
		return 1;
	case OPTION_TLS_UNVERIFIED:
		connection->flags |= ROWLOCK_TLS_UNVERIFIED;
		return 1;
	case OPTION_UNVERIFIED_AUTH:
		connection->unverified_auth = argument;
		return 1;
	case OPTION_SINGLE_WRITER:
		connection->flags |= ROWLOCK_SINGLE_WRITER;
		return 1;
	case OPTION_OBSERVE_BEATS:
		connection->flags |= ROWLOCK_OBSERVE_BEATS;
		return 1;
	case OPTION_CONNECT_TIMEOUT:
		return take_timeout(connection, argument) ? 1 : -1;
	case OPTION_PASSWORD:
		report(ROWLOCK_LOG_ERROR,
		       "--password: none on the command line, where every "
		       "user of this machine can read it: put it into an "
		       "option file, group [rowlock], or into ROWLOCK_DSN");
		return -1;
	default:
		return 0;
	}
}

int connection_open(const struct connection *connection,
		    struct rowlock_client_options base,
		    struct rowlock_client **ret_client,
		    struct rowlock_errinfo *reterr)
{
	base.dsn = connection->dsn;
	base.defaults_file = connection->defaults_file;
	base.defaults_group_suffix = connection->group_suffix;
	base.flags |= connection->flags;
	base.unverified_auth = connection->unverified_auth;
	if (connection->connect_timeout_ms > 0)
		base.connect_timeout_ms = connection->connect_timeout_ms;
	return rowlock_client_new(&base, ret_client, reterr);
}
