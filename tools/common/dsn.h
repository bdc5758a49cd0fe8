/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_DSN_H
#define TOOLS_DSN_H

/*
 * Connector/C's connection string, "key=value;key={value}": just enough to
 * keep passwords off the command line, and to write one.
 */

#include <stdbool.h>
#include <stdio.h>

/** Does @dsn contain a password or the passphrase of a key? */
bool dsn_has_secret(const char *dsn);

/**
 * Append "@key=@value;", quoted where needed. @value NULL: the key alone.
 *
 * Returns false if Connector/C has no way to write this value: one that must
 * be quoted and has "}}" in it or '}' at its end.
 */
bool dsn_append(FILE *out, const char *key, const char *value);

/** To be called last: what Connector/C needs behind a string that it shortens
 *  in place while it removes quotes. */
void dsn_finish(FILE *out);

#endif
