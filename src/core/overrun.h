/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_OVERRUN_H
#define RLK_CORE_OVERRUN_H

/*
 * A call may overrun its deadline by 100 ms. They are spent so, counted from
 * the deadline:
 *
 *    0     20    30   40    50    60    70    80             100
 *    |-----|-----|----|-----|-----|-----|-----|---------------|
 *    bell  |          |     |     |     |     the server      for a busy
 *    question         look  grace |     refresh               machine
 *                                 take back
 */

/** The server ends a wait for a bell this much before our deadline for it. */
#define RLK_OVERRUN_BELL_MS 20
/** A question and its answer usually take less: one that begins closer to the
 *  end of the caller's time could be cut off, and look like a server that is
 *  out of reach. */
#define RLK_OVERRUN_QUESTION_MS 20
/** A look that decides: of a writer for readers, of a campaign for the heaviest
 *  candidate; and the part behind it for giving a row back. */
#define RLK_OVERRUN_LOOK_MS 40
#define RLK_OVERRUN_GIVE_BACK_MS 30
/** A short statement under way at the deadline may end: giving it up costs a
 *  connection. */
#define RLK_OVERRUN_GRACE_MS 50
/** The answer of a question that is taken back. */
#define RLK_OVERRUN_TAKE_BACK_MS 60
/** The new statement behind it that tells how long a row is kept. */
#define RLK_OVERRUN_REFRESH_MS 70
/** A call stops waiting for the server; a client stops waiting for its openers.
 *  The rest is for a busy machine. */
#define RLK_OVERRUN_MS 80

#endif
