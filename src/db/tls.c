/* SPDX-License-Identifier: MIT */
/*
 * What OpenSSL reads without telling anybody.
 *
 * Under TLS a peer may send what is no data: tickets for later sessions, new
 * keys, wishes to shake hands again. SSL_read() takes each of them and reads on
 * until there is data, or nothing: a peer that never pauses would have its
 * caller for ever, past each deadline; and SSL_connect() does so with what
 * means nothing there. So OpenSSL tells of each as it comes, and it is counted
 * as what is read is (intake.c). And hands are shaken once only
 * (SSL_CTX_set_msg_callback(3); SSL_CTX_set_options(3),
 * SSL_OP_NO_RENEGOTIATION).
 *
 * Connector/C makes a context of its own for each connection and gives nobody a
 * chance to change it. But OpenSSL tells whoever has asked for a place in all
 * contexts of each that is made (CRYPTO_get_ex_new_index(3)): those that are
 * made on a thread that connects are ours. The place is kept for ever, as the
 * library is (-z nodelete).
 *
 * To let SSL_read() come back after each of them (SSL_MODE_AUTO_RETRY) is no
 * way: Connector/C 3.4 takes that for the end of the stream.
 *
 * Failure modes: if Connector/C uses another library than OpenSSL, nothing is
 * known of it here, and nothing is done.
 */
#include "db/tls.h"

#include "db/intake.h"
#include "db/io.h"

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

#define OF_CONTEXTS 1 /* CRYPTO_EX_INDEX_SSL_CTX (openssl/crypto.h) */

typedef void on_message_fn(int written, int version, int what,
			   const void *bytes, size_t size, void *ssl,
			   void *arg);
typedef void on_new_fn(void *context, void *unused, void *data, int place,
		       long number, void *arg);

static void (*set_on_message)(void *context, on_message_fn *fn);
static uint64_t (*set_options)(void *context, uint64_t options);

static bool find(const char *name, void *ret_function)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	memcpy(ret_function, &symbol, sizeof(symbol));
	return symbol;
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

/* Of any context of the process. */
static void on_new_context(void *context, void *unused, void *data, int place,
			   long number, void *arg)
{
	(void) unused;
	(void) data;
	(void) place;
	(void) number;
	(void) arg;
	if (!rlk_io_current())
		return;
	set_on_message(context, on_message);
	set_options(context, NO_RENEGOTIATION);
}

void rlk_tls_init(void)
{
	int (*get_place)(int kind, long number, void *arg, on_new_fn *made,
			 void *copied, void *freed);
	const char *library = NULL;

	mariadb_get_infov(NULL, MARIADB_TLS_LIBRARY, &library);
	if (library && strncmp(library, "OpenSSL", strlen("OpenSSL")) == 0 &&
	    find("SSL_CTX_set_msg_callback", &set_on_message) &&
	    find("SSL_CTX_set_options", &set_options) &&
	    find("CRYPTO_get_ex_new_index", &get_place))
		get_place(OF_CONTEXTS, 0, NULL, on_new_context, NULL, NULL);
}
