/* SPDX-License-Identifier: MIT */
/*
 * Permits, which are counted instead of compared.
 *
 *   S3  never more of them are held than there are, but for those that were
 *       taken before their number was lowered; who believes to hold some has
 *       all of them in the database
 *   L1  what is free is not left lying while all who wait could have it
 */
#include "judge_private.h"

#include "sim.h"

void sim_judge_permit_made(const struct sim_session *by, unsigned int name)
{
	unsigned int used = sim_permits_used(name, 0);

	if (used > sim_tables.permits[name])
		sim_violation("S3: process %u took one of %u permits of '%s', "
			      "and %u are in use",
			      by->proc, sim_tables.permits[name],
			      sim_names[name], used);
}

void sim_judge_count(const struct rlk_list *list, unsigned int name)
{
	const struct rlk_list *node;
	unsigned int held = 0;
	unsigned int used;

	for (node = list->next; node != list; node = node->next) {
		const struct sim_grant *grant =
		    container_of(node, const struct sim_grant, node);

		if (sim_grant_held(grant) && !sim_grant_excused(grant))
			held += grant->count;
	}
	if (held <= sim_tables.permits[name])
		return;
	used = sim_permits_used(name, 0);
	if (held > used)
		sim_violation("S3: %u permits of '%s' are held, of %u, and %u "
			      "are in use in the database",
			      held, sim_names[name], sim_tables.permits[name],
			      used);
}

void sim_judge_rows(const struct sim_grant *grant)
{
	unsigned int used;

	if (grant->kind != SIM_KIND_PERMITS || !sim_grant_held(grant) ||
	    sim_grant_excused(grant))
		return;
	used = sim_permits_used(grant->name, grant->attempt);
	if (used != grant->count)
		sim_violation("S3: process %u believes to hold %u permits of "
			      "'%s', and %u are in the database",
			      grant->proc->number, grant->count,
			      sim_names[grant->name], used);
}

static bool waits_for(const struct sim_call *call, unsigned int name)
{
	const struct rowlock *lock = call->fiber->acquiring;

	return lock && sim_kind_of_lock(lock) == SIM_KIND_PERMITS &&
	       call->fiber->acquiring_names == 1u << name;
}

/* Somebody who waits for more than is free is not overtaken. */
static bool fits_all(unsigned int name, unsigned int free)
{
	const struct rlk_list *node;

	for (node = sim_calls.next; node != &sim_calls; node = node->next) {
		const struct sim_call *call =
		    container_of(node, const struct sim_call, node);

		if (waits_for(call, name) &&
		    call->fiber->acquiring_count > free)
			return false;
	}
	return true;
}

/* How many may be taken now? */
static unsigned int count_free(unsigned int name)
{
	unsigned int used = sim_permits_used(name, 0);
	unsigned int all = sim_tables.permits[name];

	return used < all ? all - used : 0;
}

/* It was perhaps in the way of the others. */
void sim_judge_permits_asked(void)
{
	unsigned int name =
	    (unsigned int) __builtin_ctz(sim_self->acquiring_names);

	if (sim_self->acquiring_count > count_free(name))
		sim_tables.permits_us[name] = sim_now;
}

bool sim_judge_permits_lie(const struct sim_call *call, unsigned int name,
			   int64_t *since)
{
	unsigned int free = count_free(name);

	if (!waits_for(call, name) || !free || !fits_all(name, free))
		return false;
	if (sim_tables.permits_us[name] > *since)
		*since = sim_tables.permits_us[name];
	return true;
}
