// SPDX-License-Identifier: MIT
/*
 * Addresses as text, and sockets of them.
 */
#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool parse_path(const char *text, struct address *address)
{
	struct sockaddr_un *un = &address->file;

	un->sun_family = AF_UNIX;
	if (strlen(text) >= sizeof(un->sun_path))
		return false;
	strcpy(un->sun_path, text);
	address->length = sizeof(*un);
	return true;
}

static bool parse_host(const char *host, in_port_t port,
		       struct address *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *) (void *) &address->room;
	struct sockaddr_in6 *v6 =
	    (struct sockaddr_in6 *) (void *) &address->room;

	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		address->length = sizeof(*v4);
		return true;
	}
	if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1)
		return false;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	address->length = sizeof(*v6);
	return true;
}

bool address_parse(const char *text, struct address *ret_address)
{
	const char *colon = strrchr(text, ':');
	char host[64] = "";
	char *end;
	long port;

	memset(ret_address, 0, sizeof(*ret_address));
	if (*text == '/')
		return parse_path(text, ret_address);
	if (!colon || (size_t) (colon - text) >= sizeof(host))
		return false;
	memcpy(host, text, (size_t) (colon - text));
	port = strtol(colon + 1, &end, 10);
	if (!colon[1] || *end || port < 0 || port > 65535)
		return false;
	return parse_host(host, (in_port_t) port, ret_address);
}

static int new_socket(const struct address *address)
{
	int on = 1;
	int fd = socket(address->any.sa_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && address->any.sa_family != AF_UNIX) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	}
	return fd;
}

static int fail(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
	return -1;
}

int address_listen(const struct address *address)
{
	int fd = new_socket(address);

	if (fd < 0)
		return -1;
	if (bind(fd, &address->any, address->length) || listen(fd, 128))
		return fail(fd);
	return fd;
}

int address_connect(const struct address *address)
{
	int fd = new_socket(address);

	if (fd < 0)
		return -1;
	if (connect(fd, &address->any, address->length) && errno != EINPROGRESS)
		return fail(fd);
	return fd;
}

void address_of(int fd, char *buffer, size_t size)
{
	struct address address = { .length = sizeof(address.room) };
	struct sockaddr_in *v4 = (struct sockaddr_in *) (void *) &address.room;
	struct sockaddr_in6 *v6 =
	    (struct sockaddr_in6 *) (void *) &address.room;
	char host[INET6_ADDRSTRLEN] = "";

	getsockname(fd, &address.any, &address.length);
	switch (address.any.sa_family) {
	case AF_UNIX:
		snprintf(buffer, size, "%s", address.file.sun_path);
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		snprintf(buffer, size, "%s:%u", host, ntohs(v6->sin6_port));
		break;
	default:
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(buffer, size, "%s:%u", host, ntohs(v4->sin_port));
	}
}
