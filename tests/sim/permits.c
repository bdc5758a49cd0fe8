/* SPDX-License-Identifier: MIT */
/*
 * The statements on lock_permits, and those that make permits. Between a look
 * and the INSERT that follows it others come in.
 */
#include "judge.h"
#include "sim.h"
#include "tables_private.h"

unsigned int sim_permits_used(unsigned int name, uint64_t attempt)
{
	unsigned int used = 0;

	for (unsigned int i = SIM_SINGLES; i < sim_tables.lease_places; i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];

		used += lease->there && lease->name == name &&
			sim_kind_of(lease) == SIM_KIND_PERMITS &&
			(!attempt || lease->attempt == attempt);
	}
	return used;
}

/* ------------------------------------------------------------------ look */

/* What a look tells of the semaphore, behind the seven cells of a lease. */
static void tell_semaphore(struct rlk_value *cells,
			   const struct sim_session *session, unsigned int name)
{
	const struct rlk_value *bell = &session->request.params[0];
	uint64_t owner =
	    bell->type == RLK_TEXT ? sim_bell_owner(session, 0) : 0;

	cells[8] = rlk_u64(sim_tables.permits[name]);
	cells[9] = owner ? rlk_u64(owner) : sim_null();
}

void sim_permits_look(struct sim_session *session)
{
	unsigned int name = sim_param_name(&session->request, 1);
	struct rlk_value *cells;

	if (!sim_tables.permits[name])
		return;
	for (unsigned int i = SIM_SINGLES; i < sim_tables.lease_places; i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];

		if (!lease->there || lease->name != name ||
		    sim_kind_of(lease) != SIM_KIND_PERMITS)
			continue;
		cells = sim_answer_row(&session->answer, 10);
		sim_tell_look(cells, lease, session->request.started_us);
		cells[7] = rlk_u64(lease->slot);
		tell_semaphore(cells, session, name);
	}
	if (session->answer.rows)
		return;
	cells = sim_answer_row(&session->answer, 10);
	for (int i = 0; i < 8; i++)
		cells[i] = sim_null();
	tell_semaphore(cells, session, name);
}

/* ---------------------------------------------------------------- acquire */

static unsigned int used_above(unsigned int name, uint64_t slot)
{
	unsigned int used = 0;

	for (unsigned int i = SIM_SINGLES; i < sim_tables.lease_places; i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];

		used += lease->there && lease->name == name &&
			sim_kind_of(lease) == SIM_KIND_PERMITS &&
			lease->slot > slot;
	}
	return used;
}

static bool is_taken(const struct sim_part *part)
{
	const struct sim_request request = {
		.op = part->op,
		.params = { part->params[0], part->params[1] },
	};

	return sim_lease_meant(&request) != NULL;
}

void sim_permits_meet(struct sim_session *session, size_t first)
{
	struct sim_packet *packet = &session->packet;
	unsigned int statement = packet->parts[first].statement;
	const struct sim_request request = {
		.op = packet->parts[first].op,
		.params = { packet->parts[first].params[0] },
	};
	const struct rlk_value *params = packet->parts[first].params;
	unsigned int name = sim_param_name(&request, 0);
	bool same =
	    sim_tables.permits[name] == params[6].u64 &&
	    used_above(name, params[7].u64) <= params[6].u64 - params[7].u64;
	bool race = false;
	size_t i;

	for (i = first; i < packet->count; i++)
		race |= packet->parts[i].statement == statement &&
			is_taken(&packet->parts[i]);
	for (i = first; i < packet->count; i++)
		if (packet->parts[i].statement == statement)
			packet->parts[i].left_out = race || !same;
	if (race && same)
		session->answer.error = 1242;
}

void sim_permits_acquire(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	unsigned int name = sim_param_name(request, 0);
	struct sim_lease *lease =
	    sim_lease_insert(session, ++sim_tables.permits_made[name]);

	if (request->params[4].type != RLK_NULL)
		lease->expires_us =
		    request->started_us + request->params[4].i64;
	sim_tables.permits_us[name] = sim_now;
	session->answer.affected = 1;
}

static bool is_lowered(unsigned int name)
{
	return used_above(name, sim_tables.permits[name]) > 0;
}

void sim_permits_guess(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	unsigned int name = sim_param_name(request, 0);
	uint64_t owner = sim_bell_owner(session, 8);

	if (sim_tables.permits[name] == request->params[7].u64 &&
	    (!owner || owner == session->id) && !is_lowered(name) &&
	    !sim_lease_meant(request))
		sim_permits_acquire(session);
}

void sim_permits_count(struct sim_session *session)
{
	unsigned int name = sim_param_name(&session->request, 0);
	struct rlk_value *cells;

	if (!sim_tables.permits[name])
		return;
	cells = sim_answer_row(&session->answer, 2);
	cells[0] = rlk_u64(sim_tables.permits[name]);
	cells[1] = rlk_u64(sim_permits_used(name, 0));
}

/* ------------------------------------------------------------- the number */

static void change(unsigned int name, uint64_t permits)
{
	sim_tables.permits[name] = (unsigned int) permits;
	sim_tables.permits_us[name] = sim_now;
}

void sim_permits_make(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	unsigned int name = sim_param_name(request, 0);

	if (sim_tables.permits[name])
		return;
	change(name, request->params[1].u64);
	session->answer.affected = 1;
}

void sim_permits_set(struct sim_session *session)
{
	const struct sim_request *request = &session->request;

	change(sim_param_name(request, 0), request->params[1].u64);
	session->answer.affected = 1;
}
