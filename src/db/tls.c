/* SPDX-License-Identifier: MIT */
/*
 * What OpenSSL reads without telling anybody.
 *
 * Under TLS a peer may send what is no data: tickets for later sessions, new
 * keys, wishes to shake hands again. SSL_read() takes each of them and reads on
 * until there is data, or nothing: a peer that never pauses would have its
 * caller for ever, past each deadline. So OpenSSL tells of each as it comes,
 * from the handshake's first wait on, and it is counted as what is read is
 * (intake.c). And hands are shaken once only (SSL_set_msg_callback(3);
 * SSL_CTX_set_options(3), SSL_OP_NO_RENEGOTIATION).
 *
 * To let SSL_read() come back after each of them (SSL_MODE_AUTO_RETRY) is no
 * way: Connector/C 3.4 takes that for the end of the stream.
 *
 * Failure modes: if Connector/C uses another library than OpenSSL, nothing is
 * known of it here, and nothing is done.
 */
#include "db/conn_private.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* The one way from a connection to OpenSSL's. The header of what is below is
 * not to be had alone (in Connector/C 3.4 it includes one that is not
 * installed), so here is how that begins, in 3.3 and 3.4. */
typedef unsigned char uchar;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <ma_pvio.h>
#pragma GCC diagnostic pop

struct tls {
	void *data;
	const MARIADB_PVIO *pvio;
	void *ssl;
};

/* OpenSSL's, which we are not linked with (openssl/ssl.h, openssl/ssl3.h). */
#define NO_RENEGOTIATION (1u << 30)
#define RECORD_HEADER 256 /* its first byte is the record's kind */
#define INNER_KIND 257    /* the same, of an encrypted one of TLS 1.3 */
#define KIND_DATA 23

typedef void on_message_fn(int written, int version, int what,
			   const void *bytes, size_t size, void *ssl,
			   void *arg);

static void (*set_on_message)(void *ssl, on_message_fn *fn);
static uint64_t (*set_options)(void *ssl, uint64_t options);

static bool find(const char *name, void *ret_function)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	memcpy(ret_function, &symbol, sizeof(symbol));
	return symbol;
}

void rlk_tls_init(void)
{
	const char *library = NULL;

	mariadb_get_infov(NULL, MARIADB_TLS_LIBRARY, &library);
	if (!library || strncmp(library, "OpenSSL", strlen("OpenSSL")) != 0 ||
	    !find("SSL_set_msg_callback", &set_on_message) ||
	    !find("SSL_set_options", &set_options))
		set_on_message = NULL;
}

static const char *ask(const char *name)
{
	const char *(*answer)(void);

	return find(name, &answer) ? answer() : NULL;
}

const char *rlk_tls_trusted_file(void)
{
	const char *file = ask("X509_get_default_cert_file");

	return file && access(file, R_OK) == 0 ? file : NULL;
}

const char *rlk_tls_trusted_directory(void)
{
	const char *directory = ask("X509_get_default_cert_dir");

	return directory ? directory : "/etc/ssl/certs";
}

static void on_message(int written, int version, int what, const void *bytes,
		       size_t size, void *ssl, void *arg)
{
	struct rlk_conn *conn = rlk_io_current();
	const unsigned char *kind = bytes;

	(void) version;
	(void) arg;
	if (written || !conn || ssl != rlk_tls_session(conn))
		return;
	if ((what == RECORD_HEADER || what == INNER_KIND) && size > 0 &&
	    *kind == KIND_DATA)
		return;
	rlk_intake_no_data(conn);
}

void *rlk_tls_session(const struct rlk_conn *conn)
{
	const MARIADB_PVIO *pvio = conn->mysql->net.pvio;
	const struct tls *tls = pvio ? (const void *) pvio->ctls : NULL;

	return tls && tls->pvio == pvio ? tls->ssl : NULL;
}

void rlk_tls_watch(const struct rlk_conn *conn)
{
	void *ssl = set_on_message ? rlk_tls_session(conn) : NULL;

	if (!ssl)
		return;
	set_on_message(ssl, on_message);
	set_options(ssl, NO_RENEGOTIATION);
}
