/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_DSN_H
#define TOOLS_DSN_H

#include <stdbool.h>

/** Does @dsn contain a password or the passphrase of a key? */
bool dsn_has_secret(const char *dsn);

#endif
