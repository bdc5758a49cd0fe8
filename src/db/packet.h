/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_PACKET_H
#define RLK_DB_PACKET_H

/*
 * A batch: several statements in one round trip, each of them for as many rows
 * as it is given. Group commit sends them (db/group.h).
 *
 * They go as one text and are executed one after the other, each autocommitted
 * unless they say BEGIN and COMMIT. The first that fails is the last that is
 * executed (MySQL C API manual, "Multiple Statement Execution Support"). Needs
 * a connection whose profile allows packets.
 */

#include "db/stmt.h"

struct rlk_packet;

/**
 * A statement for many rows. In its text, {ROW|BETWEEN} is ROW for each row
 * with BETWEEN in between, and in ROW ?0 to ?9 are the row's values:
 * "DELETE FROM t WHERE name IN ({?0|, })".
 */
struct rlk_many_def {
	const char *label; /* for messages */
	const char *sql;
};

/** The packet of @conn, empty; it ends with the connection. NULL: no memory. */
struct rlk_packet *rlk_packet_begin(struct rlk_conn *conn);

#define RLK_PACKET_STATEMENTS 520
#define RLK_PACKET_VALUES 10 /* of one row */

/** Write the values of row @row, at most RLK_PACKET_VALUES. */
typedef void (*rlk_values_fn)(const void *rows, size_t row,
			      struct rlk_value *ret_values);

/**
 * Add @def for @count rows, whose values @fn writes: at least one, or none
 * where @def has no {ROW|BETWEEN}. Texts are copied, and quoted as the
 * connection wants them. Returns the statement's number, from 0, or -1: no
 * memory, or more than RLK_PACKET_STATEMENTS.
 */
int rlk_packet_add(struct rlk_packet *packet, const struct rlk_many_def *def,
		   rlk_values_fn fn, const void *rows, size_t count);

/**
 * Send it and read all answers. RLK_DONE: all statements were executed. Else
 * the fault of the one whose number is rlk_packet_answered(): those before were
 * executed, those after it were not, and it was not, unless RLK_UNKNOWN leaves
 * that open. RLK_PENDING: rlk_packet_resume(), or give the connection up.
 */
enum rlk_fault rlk_packet_run(struct rlk_packet *packet,
			      struct rowlock_errinfo *reterr);
enum rlk_fault rlk_packet_resume(struct rlk_packet *packet,
				 struct rowlock_errinfo *reterr);

/** How many statements were executed and answered. */
size_t rlk_packet_answered(const struct rlk_packet *packet);

/** Counts of an answered statement, as in struct rlk_reply. */
uint64_t rlk_packet_affected(const struct rlk_packet *packet, int statement);
uint64_t rlk_packet_insert_id(const struct rlk_packet *packet, int statement);

/** How many rows an answered INSERT ... ON DUPLICATE KEY UPDATE of several rows
 *  made. A row that was there counts as two affected ones if the update, or a
 *  trigger, changed it (MySQL manual, "INSERT ... ON DUPLICATE KEY UPDATE
 *  Statement"). For an INSERT of one row the server does not tell how many were
 *  there: it has made its row if just one is affected. */
uint64_t rlk_packet_made(const struct rlk_packet *packet, int statement);

/** Call @fn for each row of its result, with up to RLK_STMT_COLUMNS columns
 *  that are valid during the call. Each call begins with the first row. */
void rlk_packet_each(struct rlk_packet *packet, int statement, rlk_row_fn fn,
		     void *arg);

void rlk_packet_drop(struct rlk_conn *conn);

#endif
