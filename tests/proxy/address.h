/* SPDX-License-Identifier: MIT */
#ifndef PROXY_ADDRESS_H
#define PROXY_ADDRESS_H

/*
 * "127.0.0.1:3306" or "/run/mysqld/sock": numbers and paths only, so that
 * nothing here asks a resolver.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_un file;
		struct sockaddr_storage room;
	};
	socklen_t length;
};

bool address_parse(const char *text, struct address *ret_address);

/** A socket that listens, or is connecting, non-blocking; -1 and errno. */
int address_listen(const struct address *address);
int address_connect(const struct address *address);

/** Where @fd listens, in the form that address_parse() reads. */
void address_of(int fd, char *buffer, size_t size);

#endif
