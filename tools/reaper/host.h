/* SPDX-License-Identifier: MIT */
#ifndef REAPER_HOST_H
#define REAPER_HOST_H

/*
 * Against DNS rebinding: a page of the Internet whose name is made to point
 * here would be of the same origin as ours, and a browser would let it read
 * who holds what. The name that it was asked by gives it away.
 */

#include <stdbool.h>
#include <stddef.h>

#define HOSTS_MOST 16

/** Names that the operator has given: a proxy hands on its own, and the host's
 *  own may have a domain that it does not know. */
struct hosts {
	const char *names[HOSTS_MOST];
	size_t count;
};

/** Returns false if @name is no name of a host, or there are too many. */
bool hosts_add(struct hosts *hosts, const char *name);

/** Is @host, a header Host, an address, localhost, a name without a dot, this
 *  host's own name, or one of @given? No header (NULL): no browser. */
bool host_is_ours(const char *host, const struct hosts *given);

#endif
