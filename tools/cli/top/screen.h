/* SPDX-License-Identifier: MIT */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

/*
 * rowlock top on a terminal.
 */

#include "command.h"
#include "top/rows.h"

/** Is there a screen in this build? */
extern const bool screen_is_built;

/** Show what @what finds, again each @interval_ms, until a key or a signal ends
 *  it. Returns the exit code, or EXIT_KILLED and the signal. */
int screen_run(const struct common *common,
	       const struct rowlock_list_options *what, bool all,
	       const struct rows_view *view, uint64_t interval_ms);

#endif
