/* SPDX-License-Identifier: MIT */
/*
 * What OpenSSL reads without telling anybody.
 *
 * Under TLS a peer may send what is no data: tickets for later sessions, new
 * keys, wishes to shake hands again. SSL_read() takes each of them and reads on
 * until there is data, or nothing: a peer that never pauses would have its
 * caller for ever, past each deadline. So it is made to come back after each of
 * them. Connector/C takes that for "nothing there", and asks us whether to wait
 * (io.c). And hands are shaken once only (SSL_CTX_set_mode(3),
 * SSL_MODE_AUTO_RETRY; SSL_CTX_set_options(3), SSL_OP_NO_RENEGOTIATION).
 *
 * Failure modes: if Connector/C uses another library than OpenSSL, nothing is
 * known of it here, and nothing is done.
 */
#include "db/conn_private.h"

#include <dlfcn.h>
#include <string.h>

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

/* OpenSSL's, which we are not linked with (openssl/ssl.h). */
#define CLEAR_MODE 78
#define MODE_AUTO_RETRY 4L
#define NO_RENEGOTIATION (1u << 30)

static long (*control)(void *ssl, int what, long number, void *rest);
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
	    !find("SSL_ctrl", &control) ||
	    !find("SSL_set_options", &set_options))
		control = NULL;
}

void *rlk_tls_session(const struct rlk_conn *conn)
{
	const MARIADB_PVIO *pvio = conn->mysql->net.pvio;
	const struct tls *tls = pvio ? (const void *) pvio->ctls : NULL;

	return tls && tls->pvio == pvio ? tls->ssl : NULL;
}

void rlk_tls_calm(const struct rlk_conn *conn)
{
	void *ssl = control ? rlk_tls_session(conn) : NULL;

	if (!ssl)
		return;
	control(ssl, CLEAR_MODE, MODE_AUTO_RETRY, NULL);
	set_options(ssl, NO_RENEGOTIATION);
}
