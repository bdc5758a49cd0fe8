/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_NEIGHBOURS_H
#define ROWLOCK_SIM_NEIGHBOURS_H

/** Let a process hold many rows, far from the server or beside connections that
 *  go dead, and judge that it loses no more than these. To be called when all
 *  is healed, by a fiber of no process. */
void sim_neighbours_play(void);

#endif
