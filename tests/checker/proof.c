// SPDX-License-Identifier: MIT
/*
 * For how long a hold stood, from what its own process saw; a part of that is
 * taken back where the process could not know better.
 */
#include <string.h>

#include "proof.h"

/* row: how late held() may know that its connection has ended, which others (a
 * proxy, a DBA) may have done by @vouched. While packets are lost, so may be
 * the news, again and again, until the idle bound tells. */
static uint64_t unnoticed(const struct run *run, const struct hold *hold,
			  uint64_t vouched)
{
	const struct client *client = run_client(run, hold->process);
	const uint64_t notice = PROOF_NOTICE;

	if (!client->row ||
	    !faults_find(&run->faults, FAULT_ENDS, hold->process,
			 hold->acquire_call, vouched, notice))
		return 0;
	if (faults_find(&run->faults, FAULT_SPARSE, hold->process,
			hold->acquire_call, vouched, client->ttl))
		return later_of(client->ttl, notice);
	return notice;
}

/* row: a connection that others end (a proxy, a DBA) while no packet reaches
 * its holder is to him that of a vanished host: the idle bound tells him. */
static uint64_t heard(const struct run *run, const struct hold *hold,
		      uint64_t vouched)
{
	const struct client *client = run_client(run, hold->process);
	const uint64_t notice = PROOF_NOTICE;
	const struct fault *deaf =
	    faults_find_own(&run->faults, FAULT_DEAFENS, hold->process,
			    hold->acquire_call, vouched, notice);

	if (!deaf || vouched > deaf->begin + client->ttl ||
	    !faults_find(&run->faults, FAULT_ENDS, hold->process,
			 hold->acquire_call, vouched, notice))
		return vouched;
	return vouched < deaf->begin ? vouched : deaf->begin;
}

/* When held() spoke for a hold whose end it could not know yet, it counts up
 * to that end only: a break, or the server's clock jumping ahead. */
static uint64_t bounded(const struct run *run, const struct hold *hold,
			uint64_t vouched)
{
	const struct client *client = run_client(run, hold->process);
	struct history_word name = run_name(run, hold->name);
	const struct fault *clock;
	size_t i;

	for (i = 0; i < run->broke.n; i++) {
		const struct history_line *broke = &run->broke.all[i];

		if (broke->name.length == name.length &&
		    !memcmp(broke->name.at, name.at, name.length) &&
		    broke->time >= hold->acquire_call && broke->time < vouched)
			vouched = broke->time;
	}
	if (client->row)
		return heard(run, hold, vouched);
	if (client->observe)
		return vouched;
	clock = faults_find(&run->faults, FAULT_CLOCK, hold->process,
			    hold->acquire_call, vouched, 0);
	return clock ? later_of(clock->begin, hold->acquired) : vouched;
}

struct proof proof_of(const struct run *run, const struct hold *hold)
{
	uint64_t vouched = hold->vouched, slack = 0;

	if (vouched)
		vouched = bounded(run, hold, vouched);
	if (vouched)
		slack = unnoticed(run, hold, vouched);
	vouched = vouched > slack ? vouched - slack : 0;
	return (struct proof){
		hold->acquire_call, hold->acquired,
		later_of(hold->acquired, later_of(vouched, hold->proved)), slack
	};
}
