// SPDX-License-Identifier: MIT
/*
 * What the proxy writes down: each act in the history of the run, for the
 * checker; each request in memory, for who wants to know what a call says.
 */
#include "private.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool record_open(struct proxy *proxy, const char *directory)
{
	char path[512];

	proxy->history = -1;
	proxy->log_file = open_memstream(&proxy->log, &proxy->log_size);
	if (!proxy->log_file)
		return false;
	if (!directory)
		return true;
	snprintf(path, sizeof(path), "%s/proxy.history", directory);
	proxy->history =
	    open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	return proxy->history >= 0;
}

void record_close(struct proxy *proxy)
{
	if (proxy->log_file)
		fclose(proxy->log_file);
	free(proxy->log);
	if (proxy->history >= 0)
		close(proxy->history);
}

/* One line, one write(): the lines of several threads do not mix. */
static void write_line(struct proxy *proxy, const char *event,
		       const char *words)
{
	struct timespec now;
	char line[1024];
	int length;

	if (proxy->history < 0)
		return;
	clock_gettime(CLOCK_BOOTTIME, &now);
	length = snprintf(line, sizeof(line), "%" PRId64 " 0.%lu %s%.900s\n",
			  (int64_t) now.tv_sec * 1000000000 + now.tv_nsec, 1ul,
			  event, words);
	if (write(proxy->history, line, (size_t) length) != length)
		abort(); /* a history with holes proves nothing */
}

/* Values have no blanks. */
static void escape(const char *text, char *buffer, size_t size)
{
	size_t at = 0;

	for (; *text && at + 4 < size; text++) {
		unsigned char c = (unsigned char) *text;

		if (isgraph(c) && c != '%')
			buffer[at++] = (char) c;
		else
			at += (size_t) snprintf(buffer + at, 4, "%%%02X", c);
	}
	buffer[at] = '\0';
}

void record_fault(struct proxy *proxy, const char *kind, const char *then,
		  const struct link *link, const struct message *message)
{
	char words[800];
	char sql[300] = "";
	int at;

	if (proxy->history < 0)
		return;
	at = snprintf(words, sizeof(words), " kind=%s target=server", kind);
	if (then)
		at += snprintf(words + at, sizeof(words) - (size_t) at,
			       " then=%s", then);
	if (link)
		at += snprintf(words + at, sizeof(words) - (size_t) at,
			       " conn=%lu", link->number);
	if (message) {
		escape(message->sql, sql, 120);
		snprintf(words + at, sizeof(words) - (size_t) at,
			 " command=%s sql=%s", message->command, sql);
	}
	write_line(proxy, "fault", words);
}

void record_heal(struct proxy *proxy, const char *kind)
{
	char words[80];

	snprintf(words, sizeof(words), " kind=%s target=server", kind);
	write_line(proxy, "heal", words);
}

void record_beat(struct proxy *proxy, bool ok)
{
	write_line(proxy, "beat", ok ? " ok=1" : " ok=0");
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
