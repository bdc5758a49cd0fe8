/* SPDX-License-Identifier: MIT */
#ifndef TLS_RELAY_H
#define TLS_RELAY_H

/*
 * A peer under TLS: it has the certificate and the key of the sandbox of
 * db_main_tls(), and so sees, and may say, each record. Between client and
 * server it passes on what they say. It speaks by the OpenSSL that Connector/C
 * has; where that has another library it cannot be.
 */

#include <stddef.h>

#include "db_test.h"

extern struct db_need need_tls_relay;

struct tls_relay;

/** On 127.0.0.1, for one client. */
struct tls_relay *tls_relay_start(void);
void tls_relay_end(struct tls_relay *relay);

/** db_dsn() by way of it. */
const char *tls_relay_dsn(const struct tls_relay *relay);

/** Answer what the client says next by @bytes, again and again, each byte in a
 *  record of its own, until it ends the stream. */
void tls_relay_flood(struct tls_relay *relay, const char *bytes, size_t size);

/** Answer it by tickets for later sessions, which are no data, @count of them,
 * and end the stream. */
void tls_relay_tickets(struct tls_relay *relay, size_t count);

/** Records that were sent to the client: of the server's, one for each of its
 *  own; and of a flood, or tickets. */
size_t tls_relay_records(const struct tls_relay *relay);

#endif
