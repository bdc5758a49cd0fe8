/* SPDX-License-Identifier: MIT */
/*
 * An entry is one datagram to the journal's socket (systemd's "Native Journal
 * Protocol"), with each value behind its length, as a name may have any byte.
 *
 * sd_journal_sendv(3) would wait for a journal that stands still, and who holds
 * a lock may not. Failure mode: no such socket, no room, no memory: the caller
 * has stderr.
 */
#include "journal.h"

#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macro.h"
#include "text.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

static const char *const ids[] = {
	[JOURNAL_ACQUIRED] = "855be87323334efb999c6120f5aaf7ec",
	[JOURNAL_LOST] = "a619c95f976b4498a365bc3b06a30160",
	[JOURNAL_EVICTED] = "b3e16390a745434ea9b060de3dee9ede",
	[JOURNAL_BROKEN] = "bf74ad80ec37430dbfe2cb523d278a2c",
	[JOURNAL_AWAY] = "dc0ffd74e8674555a2766ab28fe9fb2b",
};

bool journal_is_stderr(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device &&
	       st.st_ino == inode;
}

const char *journal_head(enum rowlock_log_level level)
{
	switch (level) {
	case ROWLOCK_LOG_ERROR:
		return "<3>";
	case ROWLOCK_LOG_WARNING:
		return "<4>";
	case ROWLOCK_LOG_DEBUG:
		return "<7>";
	case ROWLOCK_LOG_INFO:
		break;
	}
	return "<6>";
}

static void put_field(FILE *out, const char *field, const char *value)
{
	size_t size = strlen(value);
	uint64_t length = htole64(size);

	fprintf(out, "%s\n", field);
	fwrite(&length, sizeof(length), 1, out);
	fwrite(value, 1, size, out);
	fputc('\n', out);
}

static bool send_entry(const char *entry, size_t size)
{
	const struct sockaddr_un to = { .sun_family = AF_UNIX,
					.sun_path = JOURNAL_SOCKET };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool sent;

	if (fd < 0)
		return false;
	sent =
	    sendto(fd, entry, size, MSG_DONTWAIT | MSG_NOSIGNAL,
		   (const struct sockaddr *) &to, sizeof(to)) == (ssize_t) size;
	close(fd);
	return sent;
}

bool journal_send(enum journal_event event, enum rowlock_log_level level,
		  const char *identifier, const char *name, const char *message)
{
	_cleanup_(text_freep) char *entry = NULL;
	const char priority[] = { journal_head(level)[1], '\0' };
	size_t size = 0;
	FILE *out = open_memstream(&entry, &size);

	if (!out)
		return false;
	put_field(out, "MESSAGE", message);
	put_field(out, "MESSAGE_ID", ids[event]);
	put_field(out, "PRIORITY", priority);
	put_field(out, "SYSLOG_IDENTIFIER", identifier);
	if (name)
		put_field(out, "ROWLOCK_NAME", name);
	return fclose(out) == 0 && send_entry(entry, size);
}
