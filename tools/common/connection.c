/* SPDX-License-Identifier: MIT */
/*
 * Where the server is.
 *
 * --dsn, ROWLOCK_DSN and the option files say it together: each key counts as
 * the strongest source has it (sources.c). Where there are only option files,
 * without a suffix of their groups, the library reads them itself, at each
 * connect. A password is never taken from the command line, which every user of
 * the machine can read.
 */
#include "connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "dsn.h"
#include "report.h"
#include "sources.h"
#include "text.h"

const char connection_help[] =
    "Where the server is; each key as --dsn has it, else ROWLOCK_DSN, else "
    "the\n"
    "option files:\n"
    "      --dsn=STRING           Connector/C's connection string, without a\n"
    "                             password: 'host=db1;user=app;database=app'\n"
    "      --defaults-file=FILE   read this option file instead of the\n"
    "                             standard ones; groups [client], [rowlock]\n"
    "      --defaults-group-suffix=TEXT\n"
    "                             read [client<TEXT>] and [rowlock<TEXT>] too\n"
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

static const char *environment_dsn(void)
{
	const char *dsn = getenv("ROWLOCK_DSN");

	return dsn && *dsn ? dsn : NULL;
}

/* A variable of a script that was not set, most likely: the local server is not
 * what it was meant to name. */
static bool environment_is_empty(void)
{
	const char *dsn = getenv("ROWLOCK_DSN");

	return dsn && !*dsn;
}

bool connection_check(const struct connection *connection)
{
	bool files = connection->defaults_file || connection->group_suffix;

	if (connection->dsn || files || !environment_is_empty())
		return true;
	report(ROWLOCK_LOG_ERROR,
	       "ROWLOCK_DSN is empty: write a connection string into it, like "
	       "host=db1;user=app;database=app, or unset it for the standard "
	       "option files");
	return false;
}

/* What MariaDB's programs take from the environment. */
static const char *group_suffix(void)
{
	const char *suffix = getenv("MARIADB_GROUP_SUFFIX");

	if (!suffix || !*suffix)
		suffix = getenv("MYSQL_GROUP_SUFFIX");
	return suffix && *suffix ? suffix : NULL;
}

static void wipe_freep(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
}

/* Without a database nothing can be locked, so what went wrong with the local
 * server is not the point. */
static void explain(const struct sources *sources, int code,
		    struct rowlock_errinfo *reterr)
{
	if (!reterr || !sources_say_nothing(sources) ||
	    (code != ROWLOCK_ECONNECT && code != ROWLOCK_EAUTH &&
	     code != ROWLOCK_ESCHEMA))
		return;
	snprintf(reterr->message, sizeof(reterr->message),
		 "no server is named, neither by --dsn nor by ROWLOCK_DSN nor "
		 "in an option file: write [rowlock] and below it host=..., "
		 "user=..., password=... and database=... into %s, which only "
		 "its owner may read (chmod 600); see rowlock-connect(7)",
		 sources->file ? sources->file : "~/.my.cnf");
}

int connection_open(const struct connection *connection,
		    struct rowlock_client_options base,
		    struct rowlock_client **ret_client,
		    struct rowlock_errinfo *reterr)
{
	const struct sources sources = {
		.argument = connection->dsn,
		.environment = environment_dsn(),
		.file = connection->defaults_file,
		.suffix = connection->group_suffix ? connection->group_suffix
						   : group_suffix(),
	};
	_cleanup_(wipe_freep) char *dsn = NULL;
	int r;

	base.flags |= connection->flags;
	base.unverified_auth = connection->unverified_auth;
	if (connection->connect_timeout_ms > 0)
		base.connect_timeout_ms = connection->connect_timeout_ms;
	if (sources.argument || sources.environment ||
	    (sources.suffix && *sources.suffix)) {
		r = sources_read(&sources, &dsn, reterr);
		if (r < 0)
			return r;
		base.dsn = dsn;
	} else {
		base.defaults_file = connection->defaults_file;
	}
	r = rowlock_client_new(&base, ret_client, reterr);
	if (r < 0)
		explain(&sources, r, reterr);
	return r;
}
