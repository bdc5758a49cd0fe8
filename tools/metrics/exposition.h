/* SPDX-License-Identifier: MIT */
#ifndef METRICS_EXPOSITION_H
#define METRICS_EXPOSITION_H

/*
 * The text format of Prometheus ("Exposition formats", version 0.0.4). Labels
 * are strategy, kind, state, result and class, and no value needs quotes.
 */

#include <stdio.h>

#include "metrics/look.h"

/** The head of a metric; its lines follow. */
void exposition_head(FILE *out, const char *name, const char *type,
		     const char *help);

/** A metric of one line, which is a time. */
void exposition_seconds(FILE *out, const char *name, const char *help,
			int64_t us);

/** All of @look: with an error nothing but rowlock_up 0 and how long it took.
 */
void exposition_put(FILE *out, const struct look *look,
		    const struct classes *classes);

#endif
