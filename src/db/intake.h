/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_INTAKE_H
#define RLK_DB_INTAKE_H

/* Packets that a server sends. */

#include "db/conn_private.h"

/** Once per process, before the first connection. */
void rlk_intake_init(void);

/** False: there was no memory for that. */
bool rlk_intake_ready(void);

/** A call begins. */
void rlk_intake_begin(struct rlk_conn *conn);

/** It is about to talk to another peer. */
void rlk_intake_another(struct rlk_conn *conn);

/** Something has come that is no data; it counts, and may be too much. */
void rlk_intake_no_data(struct rlk_conn *conn);

/* login.c */

/** Look at a packet of a login; @more: of the same read is behind it. Returns
 *  NULL, or why it has to end: static. Connector/C must not see it then. */
const char *rlk_login_judge(struct rlk_conn *conn,
			    const struct rlk_frame *frame, bool more);

/** @bytes were sent. */
void rlk_login_wrote(struct rlk_conn *conn, const unsigned char *bytes,
		     size_t count);

/* answer.c */

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
