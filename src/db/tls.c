/* SPDX-License-Identifier: MIT */
/*
 * Counts what OpenSSL reads without returning.
 *
 * Under TLS a peer may send more than data: tickets for later sessions, new
 * keys, requests to shake hands again. SSL_read() takes each of them and reads
 * on until there is data, or nothing: a peer that never pauses would hold its
 * caller for ever, past each deadline. SSL_connect() does so with messages that
 * mean nothing there. So OpenSSL reports each as it comes, and it counts as a
 * read does (intake.c). Hands are shaken only once
 * (SSL_CTX_set_msg_callback(3); SSL_CTX_set_options(3),
 * SSL_OP_NO_RENEGOTIATION).
 *
 * Connector/C makes a context of its own for each connection and gives nobody a
 * chance to change it. But code that has reserved a place in all contexts is
 * called for each that is made (CRYPTO_get_ex_new_index(3)): those that are
 * made on a thread that connects are ours. The place is kept for ever, as the
 * library is (-z nodelete).
 *
 * Making SSL_read() return after each of them (SSL_MODE_AUTO_RETRY) does not
 * work: Connector/C 3.4 takes that for the end of the stream.
 *
 * Failure modes: if Connector/C uses another library than OpenSSL, this file
 * does nothing.
 */
#include "db/tls.h"

#include "db/intake.h"
#include "db/io.h"

#include <dlfcn.h>
#include <string.h>
#include <time.h>

/* The only way from a connection to OpenSSL's. The header of struct tls cannot
 * be included alone (in Connector/C 3.4 it includes one that is not installed),
 * so here is how the struct begins, in 3.3 and 3.4. */
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

/* A message of the handshake, whose first byte is one of these. Behind a
 * certificate comes the second, and in TLS 1.3 the third. */
#define HANDSHAKE 22
#define CERTIFICATE 11
#define SERVER_DONE 14
#define CERTIFICATE_VERIFY 15
#define TLS_1_3 0x0304

#define OF_CONTEXTS 1       /* CRYPTO_EX_INDEX_SSL_CTX (openssl/crypto.h) */
#define COMMON_NAME 13      /* NID_commonName (openssl/obj_mac.h) */
#define SUBJECT_ALT_NAME 85 /* NID_subject_alt_name */

typedef void on_message_fn(int written, int version, int what,
			   const void *bytes, size_t size, void *ssl,
			   void *arg);
typedef void on_new_fn(void *context, void *unused, void *data, int place,
		       long number, void *arg);

static void (*set_on_message)(void *context, on_message_fn *fn);
static uint64_t (*set_options)(void *context, uint64_t options);

/* The calls by which a certificate is read. */
static struct {
	void *(*parse)(void *unused, const unsigned char **at, long size);
	long (*verdict)(const void *ssl);
	const void *(*end)(const void *certificate);
	int (*is_over)(const void *end);
	int (*to_tm)(const void *end, struct tm *ret_time);
	int (*find_extension)(const void *certificate, int kind, int from);
	void *(*extension)(const void *certificate, int place);
	int (*print)(void *out, void *extension, unsigned long flags,
		     int indent);
	void *(*subject)(const void *certificate);
	int (*entry)(void *subject, int kind, char *ret_text, int size);
	const void *(*memory)(void);
	void *(*new_out)(const void *memory);
	int (*read)(void *out, void *ret_bytes, int size);
	int (*free_out)(void *out);
	void (*free)(void *certificate);
} x509;

static bool find(const char *name, void *ret_function)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	memcpy(ret_function, &symbol, sizeof(symbol));
	return symbol;
}

/* The names of its extension, or else the common one. Anybody may have written
 * them: only what is plain is kept. */
static void read_names(const void *certificate, char *ret_names, int size)
{
	int place = x509.find_extension(certificate, SUBJECT_ALT_NAME, -1);
	void *out = x509.new_out(x509.memory());
	int n = 0;

	if (out && place >= 0 &&
	    x509.print(out, x509.extension(certificate, place), 0, 0) > 0)
		n = x509.read(out, ret_names, size - 1);
	else if (place < 0)
		n = x509.entry(x509.subject(certificate), COMMON_NAME,
			       ret_names, size);
	x509.free_out(out);
	ret_names[n > 0 ? n : 0] = '\0';
	for (; *ret_names; ret_names++)
		if (*ret_names < ' ' || *ret_names > '~')
			*ret_names = '?';
}

/* The first of a message: behind the lengths of message and list, and in
 * TLS 1.3 a context between them. Returns NULL if there is none. */
static void *parse_certificate(int version, const unsigned char *message,
			       size_t size)
{
	size_t at = 4, length;
	const unsigned char *from;

	if (version == TLS_1_3 && size > at)
		at += 1u + message[at];
	at += 3 + 3;
	if (size < at)
		return NULL;
	from = message + at;
	length = from[-1] | (size_t) from[-2] << 8 | (size_t) from[-3] << 16;
	return length <= size - at ? x509.parse(NULL, &from, (long) length)
				   : NULL;
}

/* When it comes: OpenSSL may end what it does not believe at once. */
static void read_certificate(int version, const unsigned char *message,
			     size_t size, struct rlk_certificate *ret_its)
{
	void *certificate = parse_certificate(version, message, size);
	struct rlk_certificate its = { 0 };
	struct tm end = { 0 };

	if (!certificate)
		return;
	if (x509.to_tm(x509.end(certificate), &end))
		strftime(its.until, sizeof(its.until), "%Y-%m-%d", &end);
	its.expired = x509.is_over(x509.end(certificate)) < 0;
	read_names(certificate, its.names, sizeof(its.names));
	x509.free(certificate);
	*ret_its = its;
}

static void on_handshake(struct rlk_certificate *its, int version,
			 const unsigned char *message, size_t size,
			 const void *ssl)
{
	if (!x509.free || !size)
		return;
	if (*message == CERTIFICATE)
		read_certificate(version, message, size, its);
	else if (*message == SERVER_DONE || *message == CERTIFICATE_VERIFY)
		its->trusted = x509.verdict(ssl) == 0;
}

static void on_message(int written, int version, int what, const void *bytes,
		       size_t size, void *ssl, void *arg)
{
	struct rlk_conn *conn = rlk_io_current();
	const unsigned char *kind = bytes;

	(void) arg;
	if (written || !conn || ssl != rlk_tls_session(conn))
		return;
	if (what == HANDSHAKE)
		on_handshake(&conn->peer.certificate, version, bytes, size,
			     ssl);
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

/* Called for any context of the process. */
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

/* Without one of them certificates stay unknown. */
static void find_x509(void)
{
	if (find("d2i_X509", &x509.parse) &&
	    find("SSL_get_verify_result", &x509.verdict) &&
	    find("X509_get0_notAfter", &x509.end) &&
	    find("X509_cmp_current_time", &x509.is_over) &&
	    find("ASN1_TIME_to_tm", &x509.to_tm) &&
	    find("X509_get_ext_by_NID", &x509.find_extension) &&
	    find("X509_get_ext", &x509.extension) &&
	    find("X509V3_EXT_print", &x509.print) &&
	    find("X509_get_subject_name", &x509.subject) &&
	    find("X509_NAME_get_text_by_NID", &x509.entry) &&
	    find("BIO_s_mem", &x509.memory) && find("BIO_new", &x509.new_out) &&
	    find("BIO_read", &x509.read) && find("BIO_free", &x509.free_out))
		find("X509_free", &x509.free);
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
	    find("CRYPTO_get_ex_new_index", &get_place)) {
		find_x509();
		get_place(OF_CONTEXTS, 0, NULL, on_new_context, NULL, NULL);
	}
}
