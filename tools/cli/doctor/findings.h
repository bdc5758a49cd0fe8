/* SPDX-License-Identifier: MIT */
#ifndef CLI_DOCTOR_FINDINGS_H
#define CLI_DOCTOR_FINDINGS_H

/*
 * The findings of an examination: by section, each with a verdict, the reason,
 * and what to do.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/macro.h"

/** From the best to the worst: a section's verdict is the worst of its own. */
enum verdict {
	VERDICT_OK,
	VERDICT_UNKNOWN, /* could not be found out */
	VERDICT_ADVICE,  /* locks work; something should be otherwise */
	VERDICT_WRONG,   /* locks do not work, or not safely */
};

enum section {
	SECTION_SERVER,
	SECTION_ENGINE,
	SECTION_DURABILITY,
	SECTION_CLOCK,
	SECTION_SCHEMA,
	SECTION_RIGHTS,
	SECTION_TIMEOUTS,
	SECTION_CLUSTER,
	SECTION_TLS,
	SECTION_LOAD,
	SECTION_LIVE,
	SECTIONS,
};

struct finding {
	enum section section;
	enum verdict verdict;
	char reason[640];
	char next[320]; /* what to do; "": nothing */
};

/** All zero at first. */
struct findings {
	struct finding list[64];
	size_t count;
};

/** Add one. @next may be NULL. */
void findings_add(struct findings *findings, enum section section,
		  enum verdict verdict, const char *next, const char *format,
		  ...) RLK_PRINTF(5, 6);

/** The worst of @section; VERDICT_OK if there is none. */
enum verdict findings_verdict(const struct findings *findings,
			      enum section section);

/** Does @section have any? */
bool findings_has(const struct findings *findings, enum section section);

/** The worst of all. */
enum verdict findings_worst(const struct findings *findings);

/** Is all known of the sections that decide whether locks work? */
bool findings_decided(const struct findings *findings);

/** Print them in the order of the sections: for people, or as one object of
 *  JSON. */
void findings_put(const struct findings *findings, bool json);

#endif
