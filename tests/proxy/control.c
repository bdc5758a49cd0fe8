// SPDX-License-Identifier: MIT
/*
 * The control socket: lines in, "ok" or "error: ..." out, an answer before it.
 * One talks at a time; who comes next ends who was there.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool control_open(struct proxy *proxy, const char *path)
{
	struct address address;

	proxy->control = -1;
	proxy->talker = -1;
	if (!path)
		return true;
	if (*path != '/' || !address_parse(path, &address)) {
		errno = EINVAL;
		return false;
	}
	unlink(path);
	proxy->control = address_listen(&address);
	snprintf(proxy->control_path, sizeof(proxy->control_path), "%s", path);
	return proxy->control >= 0;
}

static void hang_up(struct proxy *proxy)
{
	if (proxy->talker >= 0)
		close(proxy->talker);
	proxy->talker = -1;
	proxy->said.size = 0;
}

void control_close(struct proxy *proxy)
{
	hang_up(proxy);
	free(proxy->said.bytes);
	if (proxy->control < 0)
		return;
	close(proxy->control);
	unlink(proxy->control_path);
}

void control_accept(struct proxy *proxy)
{
	int fd = accept4(proxy->control, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	hang_up(proxy);
	proxy->talker = fd;
}

static void answer(struct proxy *proxy, const char *text)
{
	size_t size = strlen(text);

	if (proxy->talker >= 0 &&
	    send(proxy->talker, text, size, MSG_NOSIGNAL) != (ssize_t) size)
		hang_up(proxy);
}

static void do_line(struct proxy *proxy, char *line)
{
	char *told = NULL;
	char *verdict = NULL;
	char *problem = words_do(proxy, line, &told);

	if (told)
		answer(proxy, told);
	if (problem && asprintf(&verdict, "error: %s\n", problem) < 0)
		abort();
	answer(proxy, verdict ? verdict : "ok\n");
	free(verdict);
	free(told);
	free(problem);
}

void control_hear(struct proxy *proxy)
{
	struct buffer *said = &proxy->said;
	ssize_t got;
	char *end;

	if (said->room - said->size < 4096) {
		said->room = said->size + 8192;
		said->bytes = realloc(said->bytes, said->room);
		if (!said->bytes)
			abort();
	}
	got = recv(proxy->talker, said->bytes + said->size, 4096, 0);
	if (got <= 0) {
		hang_up(proxy);
		return;
	}
	said->size += (size_t) got;
	while ((end = memchr(said->bytes, '\n', said->size))) {
		size_t length = (size_t) (end + 1 - (char *) said->bytes);

		*end = '\0';
		do_line(proxy, (char *) said->bytes);
		if (said->size < length)
			return; /* hung up */
		said->size -= length;
		memmove(said->bytes, said->bytes + length, said->size);
	}
}
