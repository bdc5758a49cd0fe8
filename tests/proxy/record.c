// SPDX-License-Identifier: MIT
/*
 * What the proxy writes down: each act in the history of the run, for the
 * checker; each request in memory, for who wants to know what a call says.
 */
#include "private.h"

#include <stdlib.h>

/* Process 0 is who disturbs; its thread 0 may be the runner's own. */
#define THREAD 1

bool record_open(struct proxy *proxy, const char *directory)
{
	proxy->log_file = open_memstream(&proxy->log, &proxy->log_size);
	if (!proxy->log_file)
		return false;
	if (directory)
		proxy->history = history_open(directory, 0);
	return !directory || proxy->history;
}

void record_close(struct proxy *proxy)
{
	if (proxy->log_file)
		fclose(proxy->log_file);
	free(proxy->log);
	if (proxy->history)
		history_close(proxy->history);
}

void record_fault(struct proxy *proxy, const char *kind, const char *then,
		  const struct link *link, const struct message *message)
{
	char sql[160] = "";

	if (!proxy->history)
		return;
	if (message)
		history_encode(sql, sizeof(sql), message->sql);
	history_write(proxy->history, history_now(), THREAD,
		      "fault kind=proxy-%s target=server then=%s conn=%lu "
		      "command=%s sql=%s",
		      kind, then ? then : "", link ? link->number : 0,
		      message ? message->command : "", sql);
}

void record_heal(struct proxy *proxy, const char *kind)
{
	if (proxy->history)
		history_write(proxy->history, history_now(), THREAD,
			      "heal kind=proxy-%s target=server", kind);
}

void record_beat(struct proxy *proxy, bool ok)
{
	if (proxy->history)
		history_write(proxy->history, history_now(), THREAD,
			      "beat ok=%d", ok);
}

void record_request(struct proxy *proxy, const struct link *link,
		    const struct message *message)
{
	fprintf(proxy->log_file, "%lu %s %s\n", link->number, message->command,
		message->sql);
}

void record_reset(struct proxy *proxy)
{
	fclose(proxy->log_file);
	free(proxy->log);
	proxy->log = NULL;
	proxy->log_file = open_memstream(&proxy->log, &proxy->log_size);
	if (!proxy->log_file)
		abort();
}
