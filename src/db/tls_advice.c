/* SPDX-License-Identifier: MIT */
/*
 * Messages for a TLS that fails, and the way out.
 *
 * OpenSSL reports what is wrong, but neither with which certificate, nor which
 * line of which file asked for the check. An advice that was taken already is
 * not given again: a connection string or an option file asks for TLS even
 * where the program does without.
 *
 * Failure modes: where nothing is known of the certificate (tls.c) the advice
 * is a general one.
 */
#include "db/tls_advice.h"

#include <errmsg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* Options that ask for a certificate that can be trusted, then those that ask
 * for TLS only. */
static const enum mysql_option wishes[] = {
	MYSQL_OPT_SSL_VERIFY_SERVER_CERT,
	MYSQL_OPT_SSL_CA,
	MYSQL_OPT_SSL_CAPATH,
	MYSQL_OPT_SSL_CRL,
	MYSQL_OPT_SSL_CRLPATH,
	MARIADB_OPT_SSL_FP,
	MARIADB_OPT_SSL_FP_LIST,
	MYSQL_OPT_SSL_ENFORCE,
	MYSQL_OPT_SSL_CERT,
	MYSQL_OPT_SSL_KEY,
	MYSQL_OPT_SSL_CIPHER,
};
#define WISHES_FOR_TRUST 7

static bool is_said(const struct rlk_where *where, size_t number)
{
	const struct rlk_setting *key = rlk_setting_at(number);

	return rlk_where_says(where, number) && where->places[number] &&
	       (key->kind != RLK_SETTING_BOOLEAN ||
		rlk_where_number(where, number));
}

/* The number of the key that sets @option, if given; else RLK_SETTINGS. */
static size_t find(const struct rlk_where *where, enum mysql_option option)
{
	for (size_t number = 0; number < RLK_SETTINGS; number++) {
		const struct rlk_setting *key = rlk_setting_at(number);

		if (key && key->option == (int) option &&
		    is_said(where, number))
			return number;
	}
	return RLK_SETTINGS;
}

/* The first @count that are given, with their places: "ssl-ca (my.cnf:3: group
 * [rowlock])"; "" if none is. */
static const char *put_wishes(const struct rlk_where *where, size_t count,
			      char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < count; i++) {
		size_t number = find(where, wishes[i]);

		if (number < RLK_SETTINGS && used < size)
			used += (size_t) snprintf(text + used, size - used,
						  "%s%s (%s)", used ? ", " : "",
						  rlk_setting_at(number)->name,
						  where->places[number]);
	}
	return text;
}

/* Does the program itself ask for it? */
static bool is_strict(const struct rlk_conn *conn)
{
	return !conn->peer.local &&
	       !(conn->target->flags & ROWLOCK_TLS_UNVERIFIED);
}

int rlk_fail_no_tls(const struct rlk_conn *conn, const struct rlk_where *where,
		    struct rowlock_errinfo *reterr)
{
	char keys[256];

	return rlk_fail_db(
	    reterr, ROWLOCK_ECONNECT, CR_SSL_CONNECTION_ERROR,
	    "connect to %s: it has no TLS, which is asked for by %s; give the "
	    "server a certificate (rowlock-connect(7) says how), or %sleave "
	    "that out",
	    conn->where,
	    put_wishes(where, RLK_ARRAY_SIZE(wishes), keys, sizeof(keys)),
	    is_strict(conn) ? "set ROWLOCK_TLS_UNVERIFIED and " : "");
}

/* Returns how much was written. */
static int put_problem(const struct rlk_conn *conn,
		       const struct rlk_where *where, char *text, size_t size)
{
	const struct rlk_certificate *its = &conn->peer.certificate;

	if (conn->peer.pins_key)
		return snprintf(text, size,
				"; compare the fingerprint of its certificate "
				"with the one that is asked for");
	if (its->expired)
		return snprintf(text, size, "; it expired on %s: renew it",
				its->until);
	if (its->trusted && *its->names)
		return snprintf(text, size,
				"; it is for %s, and not for '%s': connect by "
				"a name that it has, or give the server one "
				"for this name",
				its->names, rlk_peer_host(conn));
	if (*its->names && find(where, MYSQL_OPT_SSL_CA) < RLK_SETTINGS)
		return snprintf(text, size,
				"; it is for %s, and the authority of ssl-ca "
				"has not signed it: name the one that has",
				its->names);
	return snprintf(text, size,
			"; give the server a certificate for this name and its "
			"CA as ssl-ca (rowlock-connect(7) says how)");
}

const char *rlk_tls_advice(const struct rlk_conn *conn,
			   const struct rlk_where *where, char *text,
			   size_t size)
{
	char keys[256];
	size_t used = (size_t) put_problem(conn, where, text, size);

	if (used < size && is_strict(conn))
		used += (size_t) snprintf(text + used, size - used,
					  ", or set ROWLOCK_TLS_UNVERIFIED");
	if (used < size &&
	    *put_wishes(where, WISHES_FOR_TRUST, keys, sizeof(keys)))
		snprintf(text + used, size - used, "%s leave out %s",
			 is_strict(conn) ? " and" : ", or", keys);
	return text;
}
