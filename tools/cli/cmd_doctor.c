/* SPDX-License-Identifier: MIT */
/*
 * rowlock doctor: what of this server, this account and the way there is not as
 * it should be, and what to do about it.
 *
 * The library refuses what is unsafe when it opens; the doctor says that, too,
 * and advises where locks work and something could be better. Failure modes: a
 * server that is not reached is a finding, and all else is unknown.
 */
#include <getopt.h>

#include "command.h"
#include "doctor/patient.h"

static const char help[] =
    "usage: rowlock doctor [OPTIONS]\n"
    "Examine the server, the account and the way there: each finding has a\n"
    "verdict (ok, advice, wrong, or unknown), the reason, and what to do.\n"
    "Takes some seconds; takes a lock of a name of its own, and ends\n"
    "connections of its own. Exits with 0; 1 if there is advice, or if it is\n"
    "not known whether locks work; 2 if they cannot.\n\n"
    "  -j, --json                 as one JSON object\n"
    "\nExamples:\n"
    "  rowlock doctor\n"
    "  rowlock doctor --json --defaults-group-suffix=-test\n";

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },
	COMMON_OPTIONS,
};

enum { DOCTOR_WELL = 0, DOCTOR_ADVICE = 1, DOCTOR_WRONG = 2 };

static int doctor(const struct common *common, bool json)
{
	struct findings findings;

	patient_examine(common, &findings);
	findings_put(&findings, json);
	switch (findings_worst(&findings)) {
	case VERDICT_WRONG:
		return DOCTOR_WRONG;
	case VERDICT_ADVICE:
		return DOCTOR_ADVICE;
	default:
		return findings_decided(&findings) ? DOCTOR_WELL
						   : DOCTOR_ADVICE;
	}
}

int cmd_doctor(int argc, char **argv, struct common *common)
{
	bool json = false;
	int option;

	while ((option = suggest_getopt(argc, argv, "jvhV", options, NULL)) !=
	       -1) {
		int code = -1;

		if (option == 'j')
			json = true;
		else
			code = common_option(common, option, optarg, help);
		if (code >= 0)
			return code;
	}
	if (argc > optind)
		return command_misused("doctor", "give no name");
	return doctor(common, json);
}
