/* SPDX-License-Identifier: MIT */
/*
 * Whom are we talking to, and how much of it may others read?
 *
 * Only Connector/C knows which host of a list has answered. But it reports the
 * server's greeting before it looks at it (intake.c), and nothing is sent
 * before that. By then the socket has a peer. A local one leaves the options as
 * the user gave them; any other gets TLS with a verified certificate, whatever
 * the user's options are. Local is a socket file, or an address of loopback
 * that was named as such: a name that leads there may be a name of another
 * host, as a resolver answers.
 *
 * Connector/C 3.3 takes SSL_ENFORCE alone, or an authority, as a wish and goes
 * on in clear text with a server that has no TLS; with SSL_VERIFY_SERVER_CERT
 * it refuses before it sends its reply. If the user asked for TLS by any
 * option, the connection has TLS or fails (login.c). The result is checked
 * afterwards.
 */
#include "db/peer.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errmsg.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/macro.h"
#include "db/intake.h"
#include "db/login.h"

/* The most attributes that Connector/C and the options send to the server. */
#define ATTRIBUTES_MOST 64

static bool is_local_4(struct in_addr address)
{
	return ntohl(address.s_addr) >> 24 == 127;
}

static bool is_local_6(const struct in6_addr *address)
{
	struct in_addr mapped;

	if (IN6_IS_ADDR_LOOPBACK(address))
		return true;
	if (!IN6_IS_ADDR_V4MAPPED(address))
		return false;
	memcpy(&mapped, &address->s6_addr[12], sizeof(mapped));
	return is_local_4(mapped);
}

enum kind { PEER_NONE, PEER_FILE, PEER_LOOPBACK, PEER_REMOTE };

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_storage storage;
};

/* The peer's family, -1 if there is no peer (yet). */
static int find_address(int fd, union address *ret_address)
{
	socklen_t length = sizeof(*ret_address);

	if (getpeername(fd, &ret_address->any, &length) < 0)
		return -1;
	return ret_address->any.sa_family;
}

static enum kind find_kind(int fd)
{
	union address address;

	switch (find_address(fd, &address)) {
	case -1:
		return PEER_NONE;
	case AF_UNIX:
		return PEER_FILE;
	case AF_INET:
		return is_local_4(address.in.sin_addr) ? PEER_LOOPBACK
						       : PEER_REMOTE;
	case AF_INET6:
		return is_local_6(&address.in6.sin6_addr) ? PEER_LOOPBACK
							  : PEER_REMOTE;
	default:
		return PEER_REMOTE;
	}
}

/* "127.0.0.1", "[::1]:3306"; and "localhost", which leads nowhere else (RFC
 * 6761). */
static bool names_loopback(const char *host, size_t length)
{
	char text[64];
	struct in6_addr six;
	struct in_addr four;
	char *end;

	if (length >= sizeof(text))
		return false;
	memcpy(text, host, length);
	text[length] = '\0';
	if (*text == '[') {
		end = strchr(text, ']');
		if (!end)
			return false;
		*end = '\0';
		return inet_pton(AF_INET6, text + 1, &six) == 1 &&
		       is_local_6(&six);
	}
	if (inet_pton(AF_INET6, text, &six) == 1)
		return is_local_6(&six);
	text[strcspn(text, ":")] = '\0';
	if (inet_pton(AF_INET, text, &four) == 1)
		return is_local_4(four);
	return strcmp(text, "localhost") == 0;
}

/* Are all hosts of the list local? */
static bool is_named_local(const struct rlk_conn *conn)
{
	const char *host = conn->mysql->options.host;

	if (!host)
		return true;
	for (;;) {
		size_t length;

		host += strspn(host, " ");
		length = strcspn(host, ", ");
		if (!names_loopback(host, length))
			return false;
		host += length + strspn(host + length, " ");
		if (!*host)
			return true;
		host++;
	}
}

bool rlk_peer_is_file(const struct rlk_conn *conn)
{
	return find_kind(mysql_get_socket(conn->mysql)) == PEER_FILE;
}

bool rlk_peer_is_there(const struct rlk_conn *conn)
{
	return find_kind(mysql_get_socket(conn->mysql)) != PEER_NONE;
}

/* The name by which Connector/C called the host, from the attributes that it
 * sends to the server. NULL if it is not available. */
static const char *called_host(MYSQL *mysql)
{
	const char *keys[ATTRIBUTES_MOST];
	const char *values[ATTRIBUTES_MOST];
	const char **key = keys;
	const char **value = values;
	unsigned int count = 0;

	mysql_get_optionv(mysql, MYSQL_OPT_CONNECT_ATTRS, NULL, (void *) NULL,
			  &count);
	if (count > ATTRIBUTES_MOST)
		return NULL;
	mysql_get_optionv(mysql, MYSQL_OPT_CONNECT_ATTRS, (void *) &key,
			  (void *) &value, &count);
	for (unsigned int i = 0; i < count; i++)
		if (strcmp(keys[i], "_server_host") == 0)
			return values[i];
	return NULL;
}

/* 0: a socket file. */
static unsigned int peer_port(int fd)
{
	union address address;

	switch (find_address(fd, &address)) {
	case AF_INET:
		return ntohs(address.in.sin_port);
	case AF_INET6:
		return ntohs(address.in6.sin6_port);
	default:
		return 0;
	}
}

/* Is it this @entry of a list, up to a comma? As ma_get_host_list() of
 * Connector/C reads it: "db1", "db1:3306", "[::1]:3306". */
static bool is_entry(const char *entry, const char *host, unsigned int port)
{
	bool six = *entry == '[';
	size_t length;

	entry += six;
	length = strcspn(entry, six ? "]," : ":,");
	if (length != strlen(host) || memcmp(entry, host, length) != 0)
		return false;
	entry += length + (six && entry[length] == ']');
	return *entry != ':' || !port || strtoul(entry + 1, NULL, 10) == port;
}

const char *rlk_peer_host(const struct rlk_conn *conn)
{
	const char *host = called_host(conn->mysql);

	if (!host)
		host = conn->mysql->options.host;
	return host ? host : "localhost";
}

const char *rlk_peer_next_hosts(const struct rlk_conn *conn)
{
	const char *list = conn->mysql->options.host;
	const char *host = called_host(conn->mysql);
	unsigned int port = peer_port(mysql_get_socket(conn->mysql));
	bool found = false;

	if (conn->io.hosts)
		list = conn->io.hosts;
	while (host && *list && !found) {
		list += strspn(list, ",");
		found = is_entry(list, host, port);
		list += strcspn(list, ",");
	}
	return found && list[strspn(list, ",")] ? list : NULL;
}

static void set_bool(MYSQL *mysql, enum mysql_option option, my_bool value)
{
	mysql_optionsv(mysql, option, &value);
}

void rlk_peer_socket(struct rlk_conn *conn)
{
	/* Connector/C puts the socket back into blocking mode between connect
	 * and greeting, and OpenSSL reads from it as it is. If the greeting is
	 * there at once, this bounds what it waits before it asks us. */
	const struct timeval moment = { .tv_usec = 1000 };
	int fd = mysql_get_socket(conn->mysql);

	if (fd < 0)
		return;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (find_kind(fd) == PEER_NONE)
		rlk_intake_another(conn);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof(moment));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof(moment));
}

/* Has the user asked for TLS in any way? */
static bool asks_tls(const struct rlk_conn *conn)
{
	static const enum mysql_option options[] = {
		MYSQL_OPT_SSL_CA,        MYSQL_OPT_SSL_CAPATH,
		MYSQL_OPT_SSL_CERT,      MYSQL_OPT_SSL_KEY,
		MYSQL_OPT_SSL_CIPHER,    MYSQL_OPT_SSL_CRL,
		MYSQL_OPT_SSL_CRLPATH,   MARIADB_OPT_SSL_FP,
		MARIADB_OPT_SSL_FP_LIST,
	};
	my_bool enforced = 0;

	mysql_get_optionv(conn->mysql, MYSQL_OPT_SSL_ENFORCE, &enforced);
	for (size_t i = 0; i < RLK_ARRAY_SIZE(options); i++)
		enforced = enforced || rlk_login_option(conn, options[i]);
	return enforced;
}

static void learn_wishes(struct rlk_conn *conn)
{
	struct rlk_peer *peer = &conn->peer;

	peer->seen = true;
	mysql_get_optionv(conn->mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT,
			  &peer->verify);
	peer->asks_tls = peer->verify || asks_tls(conn);
	peer->pins_key = rlk_login_option(conn, MARIADB_OPT_SSL_FP) ||
			 rlk_login_option(conn, MARIADB_OPT_SSL_FP_LIST);
}

/* Its own version: MARIADB_CLIENT_VERSION_ID is that of the MariaDB that it
 * came with, 101119 for 3.3.20. */
static bool by_connector_34(void)
{
	return mysql_get_client_version() >= 30400;
}

/* The answer of OpenSSL; NULL if that is not loaded. */
static const char *ask_openssl(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);
	const char *(*answer)(void);

	memcpy(&answer, &symbol, sizeof(symbol));
	return symbol ? answer() : NULL;
}

/* Where it has the authorities that it trusts: a file, NULL if there is none,
 * and a directory. */
static const char *trusted_file(void)
{
	const char *file = ask_openssl("X509_get_default_cert_file");

	return file && access(file, R_OK) == 0 ? file : NULL;
}

static const char *trusted_directory(void)
{
	const char *directory = ask_openssl("X509_get_default_cert_dir");

	return directory ? directory : "/etc/ssl/certs";
}

/* Connector/C 3.4 lets a server without a trusted certificate prove by the hash
 * of the password who it is, and believes it at 127.0.0.1 and ::1 at once; but
 * not if an authority is named (plugins/auth/my_auth.c). So those that OpenSSL
 * trusts are named, if the user has named none. */
static void name_authorities(const struct rlk_conn *conn)
{
	const char *file = trusted_file();

	if (rlk_login_option(conn, MYSQL_OPT_SSL_CA) ||
	    rlk_login_option(conn, MYSQL_OPT_SSL_CAPATH))
		return;
	if (file)
		mysql_optionsv(conn->mysql, MYSQL_OPT_SSL_CA, file);
	mysql_optionsv(conn->mysql, MYSQL_OPT_SSL_CAPATH, trusted_directory());
}

void rlk_peer_decide(struct rlk_conn *conn)
{
	struct rlk_peer *peer = &conn->peer;
	MYSQL *mysql = conn->mysql;
	bool unverified = conn->target->flags & ROWLOCK_TLS_UNVERIFIED;
	enum kind kind = find_kind(mysql_get_socket(mysql));
	bool verify;

	if (kind == PEER_NONE)
		return;
	if (!peer->seen)
		learn_wishes(conn);
	/* Each host of a list is decided anew. */
	peer->local = kind == PEER_FILE ||
		      (kind == PEER_LOOPBACK && is_named_local(conn));
	verify = peer->verify || (!peer->local && !unverified);
	peer->needs_tls = kind != PEER_FILE && peer->asks_tls;
	peer->blinded = false;
	peer->certificate = (struct rlk_certificate){ 0 };
	if (verify && by_connector_34()) {
		peer->blinded = kind != PEER_FILE &&
				getenv("MARIADB_TLS_DISABLE_PEER_VERIFICATION");
		if (!peer->pins_key)
			name_authorities(conn);
	}
	peer->verified = kind == PEER_FILE || peer->pins_key || verify;
	set_bool(mysql, MYSQL_OPT_SSL_ENFORCE, !peer->local || peer->asks_tls);
	set_bool(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, verify);
}

int rlk_peer_check(struct rlk_conn *conn, struct rowlock_errinfo *reterr)
{
	struct rlk_peer *peer = &conn->peer;
	int fd = mysql_get_socket(conn->mysql);

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	peer->tls = mysql_get_ssl_cipher(conn->mysql) != NULL;
	if (peer->tls ||
	    (!peer->needs_tls &&
	     (peer->local || conn->target->flags & ROWLOCK_TLS_UNVERIFIED)))
		return 0;
	return rlk_fail_db(reterr, ROWLOCK_ECONNECT, CR_SSL_CONNECTION_ERROR,
			   "connect: %s is on another host and the connection "
			   "has no TLS; give the server a certificate",
			   conn->where);
}

static void set_int(int fd, int level, int name, int value)
{
	/* A socket file knows none of these; nothing is lost then. */
	if (setsockopt(fd, level, name, &value, sizeof(value)) < 0)
		return;
}

void rlk_peer_keep(struct rlk_conn *conn)
{
	int fd = mysql_get_socket(conn->mysql);
	unsigned int idle_s =
	    conn->profile.peer_s ? conn->profile.peer_s : conn->profile.idle_s;
	int third;

	if (idle_s > 3600)
		idle_s = 3600;
	third = idle_s < 3 ? 1 : (int) idle_s / 3;
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, third);
	set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, third);
	set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
	set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int) idle_s * 1000);
}
