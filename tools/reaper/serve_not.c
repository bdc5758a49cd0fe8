/* SPDX-License-Identifier: MIT */
/*
 * A build without libmicrohttpd serves nothing: main.c refuses --metrics.
 */
#include "serve.h"

bool serve_understands(const char *at)
{
	(void) at;
	return false;
}

bool serve_start(const char *at, const struct worker_config *config,
		 struct worker *worker, struct serve **ret_serve)
{
	(void) at;
	(void) config;
	(void) worker;
	(void) ret_serve;
	return false;
}

void serve_ask_reload(struct serve *serve)
{
	(void) serve;
}

bool serve_stop(struct serve *serve, uint64_t until_ms)
{
	(void) serve;
	(void) until_ms;
	return true;
}
