/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_ROW_LINE_H
#define RLK_WAIT_ROW_LINE_H

/* Waiting for a row: in its own queue, and in the server's line. */

#include "wait/step.h"

/** The asking begins: how to ask first, and whether to join the line at once.
 */
void rlk_row_begin(struct rlk_asking *asking);

/** The row is locked, and the asking may wait: join the line if there is one,
 *  else wait for a slice. */
enum rlk_step rlk_row_held(struct rlk_asking *asking);

/** Stand in line on asking->conn, whose transaction is ended first: its own
 * last question has left one, or a try that was refused. It would keep others
 * from altering the table for the whole wait. */
enum rlk_step rlk_row_stand(struct rlk_asking *asking);

/** A slice in the queue of the row is over: join the line. */
enum rlk_step rlk_row_waited(struct rlk_asking *asking);

/** The row is granted: let go of the bell. Returns 0, or a code with
 *  asking->error: the connection is closed, and the row is not ours. */
int rlk_row_granted(struct rlk_asking *asking);

#endif
