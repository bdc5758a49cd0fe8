/* SPDX-License-Identifier: MIT */
/*
 * The user that has the other end of a connection to this host.
 *
 * MySQL forgets at a restart the hashes by which it knows passwords
 * (caching_sha2_password), and asks for the password itself. Any user of the
 * host may have taken the port meanwhile. But the kernel names the owner of
 * each socket (proc(5), /proc/net/tcp), and no user but root can have one that
 * is root's or mysql's.
 *
 * A socket that nobody has accepted yet, or that its owner has closed, has no
 * inode; such a one proves nothing. Nor does the socket of a process in another
 * network namespace, which is not in the table.
 *
 * Failure modes: without /proc, or without a user mysql, the peer is unknown.
 */
#include "db/peer_user.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"
#include "db/conn_private.h"

/* The account that the packages of MariaDB and MySQL make. */
#define SERVERS_USER "mysql"

struct end {
	struct in6_addr address; /* one of IPv4 is mapped */
	unsigned int port;
};

static void closep(FILE **file)
{
	if (*file)
		fclose(*file);
}

static struct in6_addr map(in_addr_t address)
{
	struct in6_addr mapped = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	memcpy(&mapped.s6_addr[12], &address, sizeof(address));
	return mapped;
}

static bool find_end(int (*ask)(int fd, struct sockaddr *ret_address,
				socklen_t *length),
		     int fd, struct end *ret_end)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} at = { .any = { .sa_family = AF_UNSPEC } };
	socklen_t length = sizeof(at);

	if (ask(fd, &at.any, &length) < 0)
		return false;
	if (at.any.sa_family == AF_INET)
		*ret_end = (struct end){ map(at.in.sin_addr.s_addr),
					 ntohs(at.in.sin_port) };
	else if (at.any.sa_family == AF_INET6)
		*ret_end =
		    (struct end){ at.in6.sin6_addr, ntohs(at.in6.sin6_port) };
	else
		return false;
	return true;
}

/* "0100007F": words of four bytes, in the order of this machine. */
static bool read_address(const char *text, struct in6_addr *ret_address)
{
	size_t words = strlen(text) / 8;
	uint32_t word[4] = { 0 };

	if (words != 1 && words != 4)
		return false;
	for (size_t i = 0; i < words; i++)
		if (sscanf(text + 8 * i, "%8" SCNx32, &word[i]) != 1)
			return false;
	if (words == 1)
		*ret_address = map(word[0]);
	else
		memcpy(ret_address, word, sizeof(word));
	return true;
}

static bool is_end(const struct end *end, const char *address,
		   unsigned int port)
{
	struct in6_addr read;

	return port == end->port && read_address(address, &read) &&
	       memcmp(&read, &end->address, sizeof(read)) == 0;
}

/* The owner of the socket at @its, which is connected to @ours. */
static bool find_owner(const char *table, const struct end *its,
		       const struct end *ours, uid_t *ret_user)
{
	_cleanup_(closep) FILE *file = fopen(table, "re");
	char here[33], there[33], line[256];
	unsigned int near, far, state, user;
	unsigned long inode;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line,
			   " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%x %x "
			   "%*s %*s %*s %u %*u %lu",
			   here, &near, there, &far, &state, &user,
			   &inode) != 7 ||
		    !is_end(its, here, near) || !is_end(ours, there, far))
			continue;
		*ret_user = user;
		return state == TCP_ESTABLISHED && inode != 0;
	}
	return false;
}

/* Asked once, outside of a connect: the modules that answer may take long, and
 * more stack than a connect has. */
static uid_t servers_user; /* 0, root's, if there is none */

void rlk_peer_user_init(void)
{
	struct passwd room, *account = NULL;
	char texts[4096];

	if (!getpwnam_r(SERVERS_USER, &room, texts, sizeof(texts), &account) &&
	    account)
		servers_user = account->pw_uid;
}

static bool is_servers(uid_t user)
{
	return user == 0 || user == servers_user;
}

bool rlk_peer_user_is_servers(const struct rlk_conn *conn)
{
	static const char *const tables[] = { "/proc/thread-self/net/tcp",
					      "/proc/thread-self/net/tcp6" };
	int fd = mysql_get_socket(conn->mysql);
	struct end its, ours;
	uid_t user;

	if (!conn->peer.local || !find_end(getpeername, fd, &its) ||
	    !find_end(getsockname, fd, &ours))
		return false;
	for (size_t i = 0; i < RLK_ARRAY_SIZE(tables); i++)
		if (find_owner(tables[i], &its, &ours, &user))
			return is_servers(user);
	return false;
}
