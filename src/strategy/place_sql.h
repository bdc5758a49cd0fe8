/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_PLACE_SQL_H
#define RLK_STRATEGY_PLACE_SQL_H

/*
 * The place of a client's tables, for statements on a connection that is not
 * the client's: it may have another database, and be to another server.
 */

#include <stdbool.h>

#include "db/borrowed.h"
#include "db/sql.h"

struct rlk_catch_up;
struct rlk_conn;

struct rlk_place {
	char schema[260]; /* "": not learned yet */
	const char
	    *identity; /* an expression, static: which server it is; NULL:
			  other nodes of its cluster will do as well */
	const struct rlk_catch_up *catch_up;
	char server[96]; /* which one it was that told this */
};

/** Learn it from a connection of the client's. */
void rlk_place_learn(const struct rlk_conn *conn, struct rlk_place *ret_place);

/** Does a begin have to ask for something, to wait for what its node lacks? */
bool rlk_place_asks_to_catch_up(const struct rlk_place *place);

/** A condition: true on @server, or on any of its cluster. */
void rlk_place_put_is_here(struct rlk_script *script,
			   const struct rlk_place *place, const char *server);

/** *@ret_numbered: is @on to @server, and has its thread there the number that
 *  the driver knows? A proxy may number threads itself. A round trip; fails as
 *  rlk_borrowed_run(). */
enum rlk_fault rlk_place_ask_number(const struct rlk_place *place,
				    const char *server,
				    const struct rlk_borrowed *on,
				    bool *ret_numbered,
				    struct rowlock_errinfo *reterr);

/** Behind the name of a table that is read or changed: fails (1176) where the
 *  application has a TEMPORARY table of that name, which hides rowlock's own,
 *  unless that has the same keys. A copy (CREATE ... SELECT) has none. */
#define RLK_PLACE_OWN " FORCE INDEX (PRIMARY)"
#define RLK_PLACE_LEASES "business_lease" RLK_PLACE_OWN

/** The table @name of it. */
void rlk_place_put_table(struct rlk_script *script,
			 const struct rlk_place *place, const char *name);

#endif
