/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_TOKEN_SQL_H
#define RLK_DB_TOKEN_SQL_H

/*
 * Values of the statements that draw a token. A token is the server's clock in
 * microseconds, so that it does not go back where commits were lost. It is also
 * larger than what is in the tables, whatever that clock says:
 *
 *   the name has a row    one more than its token, at least
 *   it has none           one more than the floor, at least: the largest token
 *                         of any row that was ever collected (strategy/reap.c)
 *
 * The floor is locked in share mode until the draw is committed. A statement
 * that raises it waits for that: no row of a name is collected while a draw of
 * the name counts on the old floor. The floor is locked first, then the token's
 * row. If the floor has lost its row, NULL is refused (STRICT_ALL_TABLES).
 */

/* 2^53: no token is as large (a CHECK in sql/schema/0002.sql). */
#define RLK_TOKEN_BOUND 9007199254740992ull

#define RLK_TOKEN_US(time) "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', " time ")"
#define RLK_TOKEN_NOW RLK_TOKEN_US("UTC_TIMESTAMP(6)")

#define RLK_TOKEN_ABOVE_FLOOR                                                  \
	"(SELECT f.token + 1 FROM lock_token_floor f WHERE f.id = 1 "          \
	"LOCK IN SHARE MODE)"

#define RLK_TOKEN_OF_NEW                                                       \
	"GREATEST(" RLK_TOKEN_NOW ", " RLK_TOKEN_ABOVE_FLOOR ")"

/* Not VALUES(token): a floor that is ahead of the clock is no reason to take
 * every name away from it. */
#define RLK_TOKEN_OF_NEXT                                                      \
	"GREATEST(token + 1, " RLK_TOKEN_US("VALUES(drawn_at)") ")"

#endif
