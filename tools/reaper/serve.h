/* SPDX-License-Identifier: MIT */
#ifndef REAPER_SERVE_H
#define REAPER_SERVE_H

/*
 * /metrics for Prometheus and a page for people, by HTTP. A thread of its own,
 * with connections of its own to the database: a scrape delays no pass,
 * whatever the database or the network does.
 */

#include <stdbool.h>
#include <stdint.h>

#include "worker.h"

#define SERVE_IS_BUILT HAVE_LIBMICROHTTPD

struct serve;

/** Is "[ADDRESS:]PORT" understood? An address of IPv6 has brackets. */
bool serve_understands(const char *at);

/**
 * Start. Reports where it listens, or why it does not.
 *
 * @at      as above; without an address, the loopback's
 * @worker  its passes are told as well; it outlives @ret_serve
 *
 * Returns false, and has reported, if it cannot.
 */
bool serve_start(const char *at, const struct worker_config *config,
		 struct worker *worker, struct serve **ret_serve);

/** Read the option files again for the next look. */
void serve_ask_reload(struct serve *serve);

/** Stop. Returns false if a look is still under way at @until_ms: then all of
 *  @serve is still in use. Accepts NULL. */
bool serve_stop(struct serve *serve, uint64_t until_ms);

#endif
