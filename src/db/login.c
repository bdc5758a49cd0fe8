/* SPDX-License-Identifier: MIT */
/*
 * Checks what a peer asks for before it has let us in.
 *
 * Connector/C does what it is asked: it sends the password as it is
 * (mysql_clear_password), or to any peer that has a key pair (sha256_password,
 * and caching_sha2_password when the server says that it does not know us), or
 * prompts on the terminal for it (dialog). But a process that took the port of
 * a server that is down, or one in between, is not that server. So a peer that
 * was not verified may ask only for a hash or a signature of what it has sent,
 * which tell it nothing. A peer is verified by its certificate, by that one's
 * fingerprint, by a socket file, or, on this host, by the user that it runs as
 * (peer_user.c), which is looked up when it asks for the password.
 *
 * Each packet of the login is checked here before Connector/C sees it
 * (intake.c): the greeting (MySQL Internals, "Protocol::HandshakeV10"), a
 * switch to another plugin ("AuthSwitchRequest"), and data for a plugin
 * ("AuthMoreData"). The login is over with our first command: the one packet of
 * ours that has number 0, since the peer's must count up.
 *
 * Failure modes: a malformed packet ends the connection, with a reason.
 */
#include "db/login.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "db/answer.h"
#include "db/peer_user.h"

#define ITS_ADDRESS "; is that its address?"
#define NO_GREETING                                                            \
	"what answers there does not greet as a server does" ITS_ADDRESS
#define NO_LOGIN                                                               \
	"what answers there does not let in as a server does" ITS_ADDRESS

const char rlk_login_no_tls[] = "it has no TLS, which is asked for";

/* First bytes. */
#define SAYS_OK 0
#define SAYS_DATA 1
#define SAYS_SWITCH 254
#define SAYS_ERROR 255
#define PROTOCOL 10

/* Bits of the greeting, as in mysql_com.h. */
#define SECURE_CONNECTION (1u << 15)
#define PLUGIN_AUTH (1u << 19)

/* Behind the version, in the greeting. */
#define CAPABILITIES_AT 13
#define MORE_CAPABILITIES_AT 18
#define SCRAMBLE_SIZE_AT 20
#define SCRAMBLE_REST_AT 31
#define SCRAMBLE_FIRST 8 /* bytes of it are before */
#define SCRAMBLE_REST 13

/* No login takes this many packets. */
#define NUMBER_MOST 100

/* In the language of caching_sha2_password: the hash was enough, or not. */
#define HASH_IS_ENOUGH 3
#define HASH_IS_UNKNOWN 4

/* The subject of a question of dialog. */
#define ABOUT_PASSWORD 2

static const char dialog[] = "dialog";
static const char caching[] = "caching_sha2_password";

/* Plugins that tell the peer nothing with which it could log in later. */
static const char *const harmless[] = {
	"mysql_native_password", "client_ed25519", "parsec",
	caching, /* as long as the hash is enough */
};

static unsigned int two_bytes(const unsigned char *at)
{
	return at[0] | (unsigned int) at[1] << 8;
}

/* Connector/C 3.3 asks the server's version whether a report of progress may
 * come, which before the greeting it does not know (it ends the process). */
static const char *judge_error(const struct rlk_frame *packet,
			       const char *problem)
{
	return rlk_answer_is_error(packet) ? NULL : problem;
}

/* --------------------------------------------------------------- plugins */

static bool is_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	while (list && *list) {
		size_t word = strcspn(list, ",");

		if (word == length && memcmp(list, name, length) == 0)
			return true;
		list += word + (list[word] != '\0');
	}
	return false;
}

static bool is_harmless(const char *name)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(harmless); i++)
		if (strcmp(harmless[i], name) == 0)
			return true;
	return false;
}

/* May the peer have the password? It is verified, or the user allows it. */
static bool is_trusted(const struct rlk_conn *conn)
{
	return conn->peer.verified ||
	       is_listed(conn->target->unverified_auth, conn->io.login.plugin);
}

/* Unless its user proves who it is. */
static const char *refuse_plugin(struct rlk_conn *conn)
{
	if (rlk_peer_user_is_servers(conn)) {
		conn->peer.verified = true;
		return NULL;
	}
	conn->io.login.reveals = true;
	return NO_LOGIN;
}

/* False: it is no name. */
static bool take_plugin(struct rlk_login *login, const unsigned char *name,
			size_t most)
{
	size_t length = strnlen((const char *) name, most);

	if (length == 0 || length >= sizeof(login->plugin))
		return false;
	memcpy(login->plugin, name, length);
	login->plugin[length] = '\0';
	login->answered = false;
	return strspn(login->plugin, RLK_PLUGIN_LETTERS) == length;
}

static const char *judge_plugin(struct rlk_conn *conn)
{
	return is_trusted(conn) || is_harmless(conn->io.login.plugin)
		   ? NULL
		   : refuse_plugin(conn);
}

/* The one that Connector/C would tell: where nothing names one, it takes that
 * of the environment (MYSQL_PWD), once it has read the greeting. */
static bool has_password(const struct rlk_conn *conn)
{
	const char *password = conn->mysql->passwd;

	if (!password)
		password = conn->mysql->options.password;
	return password && *password;
}

/* The peer may ask for the password, once, and nothing else: for another
 * question Connector/C would read the application's standard input. */
static const char *judge_question(struct rlk_conn *conn,
				  const unsigned char *question, size_t size)
{
	struct rlk_login *login = &conn->io.login;

	if (login->answered || !size || question[0] >> 1 != ABOUT_PASSWORD ||
	    !has_password(conn))
		return "it asks for more than the password, and there is "
		       "nobody to answer";
	login->answered = true;
	return NULL;
}

/* -------------------------------------------------------------- greeting */

static const char *judge_greeting(struct rlk_conn *conn,
				  const struct rlk_frame *packet)
{
	const unsigned char *end =
	    memchr(packet->bytes + 1, 0, packet->size - 1);
	size_t at = end ? (size_t) (end + 1 - packet->bytes) : packet->size;
	const unsigned char *rest = packet->bytes + at;
	struct rlk_login *login = &conn->io.login;
	unsigned int capabilities;
	const char *chosen;
	size_t name;

	if (!end || packet->size < at + SCRAMBLE_REST_AT + SCRAMBLE_REST)
		return NO_GREETING;
	capabilities = two_bytes(rest + CAPABILITIES_AT) |
		       two_bytes(rest + MORE_CAPABILITIES_AT) << 16;
	if (!(capabilities & CLIENT_PROTOCOL_41) ||
	    !(capabilities & SECURE_CONNECTION))
		return "what answers there is older than MySQL 4.1" ITS_ADDRESS;
	if (conn->peer.needs_tls && !(capabilities & CLIENT_SSL))
		return rlk_login_no_tls;
	if (conn->peer.blinded)
		return "its certificate has to be verified, which "
		       "MARIADB_TLS_DISABLE_PEER_VERIFICATION forbids; unset "
		       "it";
	snprintf(login->plugin, sizeof(login->plugin), "mysql_native_password");
	if (!(capabilities & PLUGIN_AUTH))
		return NULL;
	name = SCRAMBLE_REST_AT + (size_t) rest[SCRAMBLE_SIZE_AT];
	if (name < SCRAMBLE_REST_AT + SCRAMBLE_FIRST + 1 ||
	    at + name - SCRAMBLE_FIRST >= packet->size)
		return NO_GREETING;
	name -= SCRAMBLE_FIRST;
	chosen = rlk_login_option(conn, MYSQL_DEFAULT_AUTH);
	if (!(chosen
		  ? take_plugin(login, (const unsigned char *) chosen,
				strlen(chosen))
		  : take_plugin(login, rest + name, packet->size - at - name)))
		return NO_GREETING;
	if (!chosen && strcmp(login->plugin, dialog) == 0)
		return judge_question(conn, rest + 4, 1);
	return judge_plugin(conn);
}

static const char *judge_first(struct rlk_conn *conn,
			       const struct rlk_frame *packet)
{
	if (!packet->size)
		return NO_GREETING;
	if (packet->bytes[0] == SAYS_ERROR)
		return judge_error(packet, NO_GREETING);
	return packet->bytes[0] == PROTOCOL ? judge_greeting(conn, packet)
					    : NO_GREETING;
}

/* --------------------------------------------------------------- answers */

static const char *judge_switch(struct rlk_conn *conn,
				const struct rlk_frame *packet)
{
	static const unsigned char old[] = "mysql_old_password";
	struct rlk_login *login = &conn->io.login;
	const unsigned char *end;
	const char *problem;

	if (packet->size == 1) {
		take_plugin(login, old, sizeof(old));
		return judge_plugin(conn);
	}
	end = memchr(packet->bytes + 1, 0, packet->size - 1);
	if (!end || !take_plugin(login, packet->bytes + 1, packet->size - 1))
		return NO_LOGIN;
	problem = judge_plugin(conn);
	if (problem || strcmp(login->plugin, dialog) != 0)
		return problem;
	end++;
	if (end == packet->bytes + packet->size) {
		/* Connector/C sends the password unasked. */
		login->answered = true;
		return NULL;
	}
	return judge_question(conn, end, 1);
}

/* caching_sha2_password takes all other words for a request of the password: it
 * sends that in clear under TLS, else by a public key, which it asks the peer
 * for if there is no file with it. */
static const char *judge_hash(struct rlk_conn *conn,
			      const struct rlk_frame *packet)
{
	struct rlk_login *login = &conn->io.login;
	bool has_key = rlk_login_option(conn, MYSQL_SERVER_PUBLIC_KEY) &&
		       !mysql_get_ssl_cipher(conn->mysql);
	size_t size = packet->size;
	unsigned char word = size ? packet->bytes[0] : 0;

	if (size == 2 && word == SAYS_DATA) {
		word = packet->bytes[1];
		size = 1;
	}
	if (login->answered)
		return word == SAYS_OK && size ? NULL : refuse_plugin(conn);
	login->by_hash = size == 1 && word == HASH_IS_ENOUGH && !has_key;
	login->answered = login->by_hash ||
			  (size == 1 && has_key &&
			   (word == HASH_IS_ENOUGH || word == HASH_IS_UNKNOWN));
	return login->answered ? NULL : refuse_plugin(conn);
}

static const char *judge_data(struct rlk_conn *conn,
			      const struct rlk_frame *packet)
{
	const struct rlk_login *login = &conn->io.login;
	size_t escape = packet->size && packet->bytes[0] == SAYS_DATA;

	if (strcmp(login->plugin, caching) == 0 && !is_trusted(conn) &&
	    has_password(conn))
		return judge_hash(conn, packet);
	if (strcmp(login->plugin, dialog) != 0 ||
	    (packet->size && packet->bytes[0] == SAYS_OK))
		return NULL;
	return judge_question(conn, packet->bytes + escape,
			      packet->size - escape);
}

static const char *judge_answer(struct rlk_conn *conn,
				const struct rlk_frame *packet, bool more)
{
	unsigned char first = packet->size ? packet->bytes[0] : SAYS_DATA;
	unsigned int status;

	if (first == SAYS_ERROR)
		return judge_error(packet, NO_LOGIN);
	if (first == SAYS_SWITCH)
		return judge_switch(conn, packet);
	/* It would be read as the answer to our first question. */
	if (first == SAYS_OK &&
	    (more || !rlk_answer_is_ok(conn, packet, &status)))
		return NO_LOGIN;
	return judge_data(conn, packet);
}

/* --------------------------------------------------------------- packets */

const char *rlk_login_judge(struct rlk_conn *conn,
			    const struct rlk_frame *packet, bool more)
{
	struct rlk_login *login = &conn->io.login;
	unsigned int number = packet->number;
	const char *problem;

	if (packet->state == RLK_FRAME_LONG)
		return login->greeted ? NO_LOGIN : NO_GREETING;
	if (login->greeted) {
		if (number <= login->number || number > NUMBER_MOST)
			return NO_LOGIN;
		login->number = number;
		return judge_answer(conn, packet, more);
	}
	if (number != 0)
		return NO_GREETING;
	login->greeted = true;
	problem = judge_first(conn, packet);
	/* It would be read as if it had come under TLS. */
	if (!problem && more)
		return "what answers there says more than a "
		       "greeting" ITS_ADDRESS;
	return problem;
}

void rlk_login_wrote(struct rlk_conn *conn, const unsigned char *bytes,
		     size_t count)
{
	struct rlk_login *login = &conn->io.login;
	size_t size;

	if (!login->greeted || count <= RLK_FRAME_HEADER || bytes[3] != 0)
		return;
	size = two_bytes(bytes) | (size_t) bytes[2] << 16;
	if (count == size + RLK_FRAME_HEADER)
		login->over = true;
}

const char *rlk_login_option(const struct rlk_conn *conn,
			     enum mysql_option option)
{
	const char *text = NULL;

	mysql_get_optionv(conn->mysql, option, (void *) &text);
	return text && *text ? text : NULL;
}
