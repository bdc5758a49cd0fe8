/* SPDX-License-Identifier: MIT */
/*
 * A build without ncursesw has no screen: cmd_top.c says so.
 */
#include "top/screen.h"

const bool screen_is_built = false;

int screen_run(const struct common *common,
	       const struct rowlock_list_options *what, bool all,
	       const struct rows_view *view, uint64_t interval_ms)
{
	(void) common;
	(void) what;
	(void) all;
	(void) view;
	(void) interval_ms;
	return EXIT_FAILED;
}
