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

#endif
