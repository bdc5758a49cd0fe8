/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_PEER_H
#define RLK_DB_PEER_H

/* The peer of a connection. */

#include <mysql.h>
#include <stdbool.h>

struct rlk_conn;
struct rowlock_errinfo;

/** The certificate that a peer has shown, as far as OpenSSL tells of it. */
struct rlk_certificate {
	bool trusted; /* by its authority; its name is another matter */
	bool expired;
	char until[16];  /* "2021-01-01" */
	char names[120]; /* "DNS:db1, IP Address:10.0.0.1"; "": not known */
};

/** The peer, and the TLS that it gets. */
struct rlk_peer {
	bool seen;      /* the options were read, for the next three */
	bool asks_tls;  /* they ask for TLS in any way */
	bool pins_key;  /* they name a fingerprint */
	my_bool verify; /* they ask for a verified certificate */

	bool tls;       /* the connection has it */
	bool local;     /* a socket file, or a local address that was named */
	bool needs_tls; /* the options ask for it, and it is no socket file */
	bool verified;  /* a socket file, a peer that has to prove under TLS
			   who it is before anything is sent, or one whose
			   user was looked up */
	bool blinded;   /* but the environment says that it has not to */
	struct rlk_certificate certificate;
};

/** Look at a socket as soon as it exists: close-on-exec, and short waits. */
void rlk_peer_socket(struct rlk_conn *conn);

/** Decide about TLS and passwords, when a greeting comes: then the peer is
 *  known, and nothing was sent. */
void rlk_peer_decide(struct rlk_conn *conn);

/** After the connect: is the connection as safe as it must be? */
int rlk_peer_check(struct rlk_conn *conn, struct rowlock_errinfo *reterr);

/** Has the connect reached a peer that accepts it? */
bool rlk_peer_is_there(const struct rlk_conn *conn);

/** The hosts of a list after the one that is connected to, with the comma
 *  before them. NULL if there are none. */
const char *rlk_peer_next_hosts(const struct rlk_conn *conn);

/** The name by which the peer was called. */
const char *rlk_peer_host(const struct rlk_conn *conn);

/** Is the peer a socket file, where no port counts? */
bool rlk_peer_is_file(const struct rlk_conn *conn);

/** Keepalive and how long unacknowledged data may stay so. */
void rlk_peer_keep(struct rlk_conn *conn);

#endif
