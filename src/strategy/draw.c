/* SPDX-License-Identifier: MIT */
/*
 * Explains why a token could not be drawn, where the server's words do not
 * help: no clock gets to the bound of tokens before the year 2255, and a
 * migration makes the floor's row, which is never deleted. So it was done by
 * hand. Collected tokens are long past by their own time, so a floor of now is
 * above them.
 *
 * Failure modes: if a KILL QUERY meets the read of the floor, both servers may
 * report the NULL that it ends with, as if there were no floor.
 */
#include "strategy/draw.h"

#include "base/error.h"
#include "db/token_sql.h"

/* A CHECK that is not met: MariaDB, MySQL. The sum that is too large: a table
 * without it. And a NULL: the floor is not there. */
#define ERROR_CHECK_MARIADB 4025
#define ERROR_CHECK_MYSQL 3819
#define ERROR_OUT_OF_RANGE 1690
#define ERROR_NULL 1048

static const struct rlk_stmt_def read_floor = {
	"token",
	"SELECT id FROM lock_token_floor WHERE id = 1",
	.once = true,
};

static bool has_floor(struct rlk_conn *conn)
{
	struct rowlock_errinfo error;
	struct rlk_reply reply;

	return rlk_stmt_run(conn, &read_floor, NULL, &reply, &error) ==
		   RLK_DONE &&
	       reply.has_row;
}

static void explain(const struct rlk_conn *conn, enum rlk_fault fault,
		    struct rowlock_errinfo *reterr)
{
	const char *where = rlk_conn_server(conn)->name;

	if (fault == RLK_PENDING)
		return;
	switch (reterr->mysql) {
	case ERROR_CHECK_MARIADB:
	case ERROR_CHECK_MYSQL:
	case ERROR_OUT_OF_RANGE:
		rlk_fail_db(reterr, reterr->code, reterr->mysql,
			    "it has reached the bound, 2^53: somebody has "
			    "written it into lock_token or lock_token_floor "
			    "of %.100s; have all that has seen it forget it, "
			    "then DELETE FROM lock_token WHERE token > %llu; "
			    "UPDATE lock_token_floor SET token = 1000000 * "
			    "UNIX_TIMESTAMP() WHERE token > %llu",
			    where, RLK_TOKEN_BOUND - 2, RLK_TOKEN_BOUND - 2);
		break;
	case ERROR_NULL:
		rlk_fail_db(reterr, reterr->code, reterr->mysql,
			    "somebody has deleted the row of lock_token_floor "
			    "of %.100s: INSERT INTO lock_token_floor (id, "
			    "token) SELECT 1, COALESCE(MAX(token), 0) FROM "
			    "lock_token",
			    where);
		break;
	default:
		break;
	}
}

enum rlk_fault rlk_draw_run(struct rlk_conn *conn,
			    const struct rlk_stmt_def *def,
			    const struct rlk_value *params,
			    struct rlk_reply *ret_reply,
			    struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo error = { 0 };
	enum rlk_fault fault =
	    rlk_stmt_run(conn, def, params, ret_reply, &error);

	if (fault == RLK_REFUSED && error.mysql == ERROR_NULL &&
	    has_floor(conn))
		fault = RLK_KILLED;
	else if (fault)
		explain(conn, fault, &error);
	if (fault && reterr)
		*reterr = error;
	return fault;
}
