/* SPDX-License-Identifier: MIT */
/* A name without a dot is no name of the Internet. Failure modes: a name that
 * is too long is none. */
#include "host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool is_own_name(const char *name)
{
	char own[256] = "";

	return gethostname(own, sizeof(own) - 1) == 0 &&
	       strcasecmp(name, own) == 0;
}

static bool is_local_name(const char *name)
{
	static const char domain[] = ".localhost";
	size_t length = strlen(name), size = sizeof(domain) - 1;

	return length > size && strcasecmp(name + length - size, domain) == 0;
}

static bool is_given(const char *name, const struct hosts *given)
{
	for (size_t i = 0; i < given->count; i++)
		if (strcasecmp(name, given->names[i]) == 0)
			return true;
	return false;
}

bool hosts_add(struct hosts *hosts, const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-._";

	if (!*name || name[strspn(name, allowed)] || hosts->count == HOSTS_MOST)
		return false;
	hosts->names[hosts->count++] = name;
	return true;
}

bool host_is_ours(const char *host, const struct hosts *given)
{
	const char *colon = host ? strrchr(host, ':') : NULL;
	struct in_addr address;
	char name[256];
	size_t length;

	/* Brackets are around an address of IPv6. */
	if (!host || *host == '[')
		return true;
	length = colon ? (size_t) (colon - host) : strlen(host);
	if (length >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int) length, host);
	return !strchr(name, '.') || is_local_name(name) || is_own_name(name) ||
	       is_given(name, given) || inet_pton(AF_INET, name, &address) == 1;
}
