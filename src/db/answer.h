/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_ANSWER_H
#define RLK_DB_ANSWER_H

/* Answers of a server, looked at before Connector/C reads them. */

#include "db/conn_private.h"

/** conn->io.call is about to ask for one, or goes on to its next one. */
void rlk_answer_begin(struct rlk_conn *conn);

/** As rlk_login_judge(), of a packet of an answer. */
const char *rlk_answer_judge(struct rlk_conn *conn,
			     const struct rlk_frame *frame);

/** Can Connector/C read this OK packet? */
bool rlk_answer_is_ok(const struct rlk_conn *conn,
		      const struct rlk_frame *frame, unsigned int *ret_status);

/** This error, and is it one? (It may be a report of progress.) */
bool rlk_answer_is_error(const struct rlk_frame *frame);

#endif
