/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_DEATH_H
#define ROWLOCK_SIM_DEATH_H

/** Let a holder die, and judge when its name can be had again. To be called
 *  when all is healed, by a fiber of no process. */
void sim_death_play(void);

#endif
