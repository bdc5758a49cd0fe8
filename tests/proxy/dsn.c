// SPDX-License-Identifier: MIT
/*
 * Connection strings, as far as the address in them goes.
 */
#include "proxy.h"

#include <stdio.h>
#include <string.h>

#include "dsn.h"

static void value_of(const char *dsn, const char *key, char *buffer,
		     size_t size)
{
	size_t length = strlen(key);

	*buffer = '\0';
	while (dsn) {
		if (strncmp(dsn, key, length) == 0 && dsn[length] == '=')
			snprintf(buffer, size, "%.*s",
				 (int) strcspn(dsn + length + 1, ";"),
				 dsn + length + 1);
		dsn = strchr(dsn, ';');
		dsn = dsn ? dsn + 1 : NULL;
	}
}

void proxy_server_of(const char *dsn, char *buffer, size_t size)
{
	char host[64];
	char port[16];

	value_of(dsn, "socket", buffer, size);
	value_of(dsn, "host", host, sizeof(host));
	value_of(dsn, "port", port, sizeof(port));
	if (*buffer && (!*host || strcmp(host, "localhost") == 0))
		return;
	if (!*host || strcmp(host, "localhost") == 0)
		strcpy(host, "127.0.0.1");
	snprintf(buffer, size, "%s:%s", host, *port ? port : "3306");
}

void proxy_dsn(const struct proxy *proxy, const char *dsn, char *buffer,
	       size_t size)
{
	const char *address = proxy_address(proxy);
	const char *colon = strrchr(address, ':');
	char changes[256];

	if (*address == '/')
		snprintf(changes, sizeof(changes), "host=localhost;socket=%s",
			 address);
	else
		snprintf(changes, sizeof(changes), "host=%.*s;port=%s",
			 (int) (colon - address), address, colon + 1);
	test_dsn_with(dsn, changes, buffer, size);
}
