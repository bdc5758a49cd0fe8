/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_SPOT_H
#define RLK_WAIT_SPOT_H

#include "strategy/bell.h"

struct rlk_asking;

/**
 * Where it stands in the server's line for the name's bell (doorbell.c).
 *
 *               bell got
 *     JOINS <-------------> STANDS ------> FRONT
 *      ^ |    wait ended       |          |   ^
 *      | |                     v          |   | (a wait that was got at once,
 *      | |                   PASSES       |   |  likewise to PASSES)
 *      | |                     |          |   |
 *      | +---------------------+----------+---+
 *      |        connection lost, or the bell let go or kept with the hold,
 *      |        or the lane left
 *     APART ------> POLLS  (from JOINS and STANDS too: no use of bells)
 *
 * Only STANDS has a statement under way on its connection.
 */
enum rlk_line {
	RLK_LINE_APART,  /* not in it: asks by itself */
	RLK_LINE_JOINS,  /* is to stand in it next */
	RLK_LINE_STANDS, /* conn waits for the bell in the server */
	RLK_LINE_FRONT,  /* conn has the bell: the first in line */
	RLK_LINE_PASSES, /* a reader that let the bell go by, behind another
			    that was let in: conn has a lane */
	RLK_LINE_POLLS,  /* bells are of no use to this one */
};

/** The place of an asking in the line. */
struct rlk_spot {
	enum rlk_line line;
	unsigned int lane;  /* its connection's, if it PASSES */
	unsigned int which; /* of a set: the name in whose line it stands */
	bool skips_line;    /* it may be ours, or free: ask at once */
	int64_t said_ms;    /* when its connection was last used */
};

/** Change where it stands. A step that the drawing does not have ends the
 *  program. */
void rlk_spot_move(struct rlk_asking *asking, enum rlk_line to);

/** A wait has ended so. */
void rlk_spot_take(struct rlk_asking *asking, struct rlk_bell_turn turn);

/** Has its connection the bell, or a lane? */
bool rlk_spot_had(const struct rlk_asking *asking);

/** The request whose bell it waits for. */
struct rlk_request rlk_spot_bell(const struct rlk_asking *asking);

/** asking->conn ends, and its place in line with it. */
void rlk_spot_discard(struct rlk_asking *asking);

/** Let go of the bell, or of the lane, that asking->conn has, or may have. */
void rlk_spot_let_go(struct rlk_asking *asking);

/** The wait has failed. That of a reader or a writer is several steps, and may
 *  have got something. */
void rlk_spot_fail(struct rlk_asking *asking);

/** Leave the line by KILL QUERY. The bell may come first. */
void rlk_spot_withdraw(struct rlk_asking *asking);

/** Leave the line, and let go of the bell or of the lane. */
void rlk_spot_leave(struct rlk_asking *asking);

#endif
