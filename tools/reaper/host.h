/* SPDX-License-Identifier: MIT */
#ifndef REAPER_HOST_H
#define REAPER_HOST_H

/*
 * Against DNS rebinding: a page of the Internet whose name is made to point
 * here would be of the same origin as ours, and a browser would let it read
 * who holds what. The name that it was asked by gives it away.
 */

#include <stdbool.h>

/** Is @host, a header Host, an address, localhost, a name without a dot, or
 *  this host's own name? No header (NULL): no browser. */
bool host_is_ours(const char *host);

#endif
