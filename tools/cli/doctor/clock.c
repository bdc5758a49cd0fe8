/* SPDX-License-Identifier: MIT */
/*
 * The server's clock against this host's: how far apart the times of day are,
 * and whether a second of the server takes a second.
 *
 * A look is as exact as its round trip is short: half of it may be before the
 * server has read its clock, or behind. All that is judged leaves this out, so
 * a busy machine raises no alarm. Failure modes: no answer is unknown.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "common/pace.h"
#include "doctor/patient.h"

#define SECOND_US INT64_C(1000000)

/* Leases have more in hand. */
#define OFFSET_MOST_US (5 * SECOND_US)
#define RATE_MOST_PERCENT 2
#define LOOK_US (5 * SECOND_US)

static int64_t now_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t) now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

/* *@ret_at_us is in the middle of the round trip, by CLOCK_BOOTTIME. */
static bool look(struct patient *patient, int64_t *ret_server_us,
		 int64_t *ret_at_us, int64_t *ret_rtt_us)
{
	struct rowlock_errinfo error;
	int64_t before = now_us(CLOCK_BOOTTIME);

	patient_more_time(patient->conn);
	if (rlk_conn_server_time(patient->conn, ret_server_us, &error)) {
		findings_add(&patient->findings, SECTION_CLOCK, VERDICT_UNKNOWN,
			     NULL, "%s", error.message);
		return false;
	}
	*ret_rtt_us = now_us(CLOCK_BOOTTIME) - before;
	*ret_at_us = before + *ret_rtt_us / 2;
	return true;
}

void examine_clock_begin(struct patient *patient)
{
	int64_t offset, here;

	if (!look(patient, &patient->server_us, &patient->began_us,
		  &patient->rtt_us))
		return;
	here = now_us(CLOCK_REALTIME) -
	       (now_us(CLOCK_BOOTTIME) - patient->began_us);
	offset = patient->server_us - here;
	if (llabs(offset) > OFFSET_MOST_US + patient->rtt_us)
		findings_add(&patient->findings, SECTION_CLOCK, VERDICT_ADVICE,
			     "set both hosts' clocks by NTP",
			     "the server's time of day is %.1f s %s this "
			     "host's: leases do not mind, but people who "
			     "compare logs do, and so do tokens after a "
			     "failover",
			     (double) llabs(offset) / SECOND_US,
			     offset > 0 ? "ahead of" : "behind");
}

void examine_clock_end(struct patient *patient)
{
	int64_t server, at, rtt, passed, told, left;

	if (findings_verdict(&patient->findings, SECTION_CLOCK) ==
	    VERDICT_UNKNOWN)
		return;
	left = patient->began_us + LOOK_US - now_us(CLOCK_BOOTTIME);
	if (left > 0)
		pace_rest((uint64_t) left / 1000 + 1);
	if (!look(patient, &server, &at, &rtt))
		return;
	passed = at - patient->began_us;
	told = server - patient->server_us;
	if (llabs(told - passed) >
	    passed * RATE_MOST_PERCENT / 100 + rtt + patient->rtt_us)
		findings_add(&patient->findings, SECTION_CLOCK, VERDICT_ADVICE,
			     "let the server's clock be slewed, not set; until "
			     "then give --observe-beats to all clients",
			     "while %.2f s passed here, the server's clock "
			     "went on by %.2f s: it jumps, or has another "
			     "rate, and may take a lease from its holder",
			     (double) passed / SECOND_US,
			     (double) told / SECOND_US);
	else if (!findings_has(&patient->findings, SECTION_CLOCK))
		findings_add(&patient->findings, SECTION_CLOCK, VERDICT_OK,
			     NULL, "as this host's, and as fast, within %.1f s",
			     (double) passed / SECOND_US);
}
