/* SPDX-License-Identifier: MIT */
/*
 * The statements on business_lease, and which rows there ever were.
 */
#include <stdio.h>
#include <string.h>

#include "judge.h"
#include "sim.h"
#include "strategy/sides.h"
#include "tables_private.h"

/* Attempts that made a row of each name, by some of their bits. */
#define SETS 64
#define WAYS 32

struct made {
	uint64_t attempt;
	uint64_t serial;
};

static struct made made[SIM_KINDS][SIM_NAMES][SETS][WAYS];

void sim_leases_begin(void)
{
	memset(made, 0, sizeof(made));
}

uint64_t sim_lease_serial(enum sim_kind kind, unsigned int name,
			  uint64_t attempt)
{
	const struct made *set = made[kind][name][attempt % SETS];
	uint64_t serial = 0;

	for (int i = 0; i < WAYS; i++)
		if (set[i].attempt == attempt && set[i].serial > serial)
			serial = set[i].serial;
	return serial;
}

/* In the place of the oldest. */
static void remember(const struct sim_lease *lease)
{
	struct made *set =
	    made[sim_kind_of(lease)][lease->name][lease->attempt % SETS];
	struct made *oldest = set;

	for (int i = 1; i < WAYS; i++)
		if (set[i].serial < oldest->serial)
			oldest = &set[i];
	/* Of several permits the last. */
	for (int i = 0; i < WAYS; i++)
		if (sim_kind_of(lease) == SIM_KIND_PERMITS &&
		    set[i].attempt == lease->attempt)
			oldest = &set[i];
	*oldest = (struct made){ lease->attempt, lease->serial };
}

/* attempt, session, left of the session, left of the maximum. */
static void tell_holder(struct rlk_value *cells, const struct sim_lease *lease,
			int64_t now_us)
{
	const struct sim_session_row *row = sim_session_row(lease->session);

	cells[0] = rlk_u64(lease->attempt);
	cells[1] = rlk_u64(lease->session);
	cells[2] = row ? sim_signed(row->expires_us - now_us) : sim_null();
	cells[3] = lease->expires_us ? sim_signed(lease->expires_us - now_us)
				     : sim_null();
}

struct sim_lease *sim_writer_of(unsigned int name)
{
	return &sim_tables.leases[SIM_NAMES + name];
}

struct sim_lease *sim_lease_meant(const struct sim_request *request)
{
	uint64_t slot = request->params[1].u64;
	unsigned int name;

	if (sim_receipt_of(request->params[0].text))
		return NULL;
	name = sim_param_name(request, 0);
	if (slot == 0)
		return &sim_tables.leases[name];
	if (slot == RLK_SLOT_WRITER)
		return sim_writer_of(name);
	for (unsigned int i = SIM_SINGLES; i < sim_tables.lease_places; i++) {
		struct sim_lease *lease = &sim_tables.leases[i];

		if (lease->there && lease->name == name && lease->slot == slot)
			return lease;
	}
	return NULL;
}

const struct sim_lease *sim_lease_by(enum sim_kind kind, unsigned int name,
				     uint64_t attempt)
{
	for (unsigned int i = 0; i < sim_tables.lease_places; i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];

		if (lease->there && lease->name == name &&
		    lease->attempt == attempt && sim_kind_of(lease) == kind)
			return lease;
	}
	return NULL;
}

bool sim_is_leased(unsigned int name)
{
	for (unsigned int i = 0; i < sim_tables.lease_places; i++)
		if (sim_tables.leases[i].there &&
		    sim_tables.leases[i].name == name)
			return true;
	return false;
}

/* Where a reader's row comes, or a permit's. */
static struct sim_lease *free_place(const struct sim_request *request)
{
	unsigned int i = SIM_SINGLES;

	while (i < sim_tables.lease_places && sim_tables.leases[i].there)
		i++;
	if (i == SIM_LEASES)
		sim_violation("%d readers and permits are left in the table",
			      SIM_OTHERS);
	if (i == sim_tables.lease_places)
		sim_tables.lease_places++;
	sim_tables.leases[i].name = sim_param_name(request, 0);
	sim_tables.leases[i].slot = (unsigned int) request->params[1].u64;
	return &sim_tables.leases[i];
}

static void insert_lease(struct sim_session *session, struct sim_lease *lease,
			 uint64_t serial)
{
	const struct sim_request *request = &session->request;

	*lease = (struct sim_lease){
		.there = true,
		.name = lease->name,
		.slot = lease->slot,
		.session = request->params[2].u64,
		.attempt = request->params[3].u64,
		.acquired_us = request->started_us,
		.began_us = request->began_us,
		.serial = serial,
		.born_us = sim_now,
		.proc = session->proc,
	};
	remember(lease);
	sim_judge_lease_made(session, lease);
}

void sim_lease_hand_over(struct sim_session *session, struct sim_lease *lease,
			 uint64_t to, uint64_t attempt)
{
	lease->session = to;
	lease->attempt = attempt;
	lease->acquired_us = session->request.started_us;
	lease->began_us = session->request.began_us;
	lease->guards = 0;
	lease->serial++;
	lease->born_us = sim_now;
	lease->proc = session->proc;
	remember(lease);
	sim_judge_lease_made(session, lease);
}

struct sim_lease *sim_lease_insert(struct sim_session *session, uint64_t serial)
{
	struct sim_lease *lease = free_place(&session->request);

	insert_lease(session, lease, serial);
	return lease;
}

void sim_lease_acquire(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_lease *lease = sim_lease_meant(request);
	bool rings = request->op->verb == SIM_ACQUIRE_RINGING;
	struct rlk_value *cells;

	if (!lease) {
		lease = sim_lease_insert(session, 1);
		snprintf(lease->info, sizeof(lease->info), "%.15s",
			 request->text);
		session->answer.affected = 1;
	} else if (!lease->there) {
		insert_lease(session, lease, lease->serial + 1);
		if (request->params[4].type != RLK_NULL)
			lease->expires_us =
			    request->started_us + request->params[4].i64;
		session->answer.affected = 1;
	}
	if (request->op->verb == SIM_ACQUIRE_SEEING && session->answer.affected)
		session->answer.insert_id = sim_bell_owner(session, 6);
	if (request->op->verb == SIM_ACQUIRE_LOOKING ||
	    request->op->verb == SIM_ACQUIRE_SET ||
	    request->op->verb == SIM_ACQUIRE_SEEING)
		return;
	cells = sim_answer_row(&session->answer, rings ? 2 : 1);
	cells[0] = rlk_u64(lease->attempt);
	if (rings)
		cells[1] =
		    sim_signed(lease->attempt == request->params[3].u64 &&
			       sim_bell_take(session));
}

void sim_tell_look(struct rlk_value *cells, const struct sim_lease *lease,
		   int64_t now_us)
{
	const struct sim_session_row *row = sim_session_row(lease->session);

	tell_holder(cells, lease, now_us);
	cells[4] = row ? rlk_u64(row->beat) : sim_null();
	cells[5] = row ? rlk_u64(row->ttl_ms) : sim_null();
	cells[6] =
	    lease->expires_us
		? sim_signed((lease->expires_us - lease->acquired_us) / 1000)
		: sim_null();
}

void sim_lease_look(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	const struct sim_lease *lease = sim_lease_meant(request);

	if (lease && lease->there)
		sim_tell_look(sim_answer_row(&session->answer, 7), lease,
			      request->started_us);
}

/* ---------------------------------------------------------------- readers */

/* The picture that an INSERT has of the writer's row may be so old. */
#define PICTURE_US 1000

static bool keeps_out(const struct sim_request *request)
{
	const struct sim_lease *writer =
	    sim_writer_of(sim_param_name(request, 0));
	int64_t age = sim_below(4) ? 0 : sim_between(0, PICTURE_US);

	return writer->there && writer->attempt != request->params[4].u64 &&
	       sim_now - writer->born_us >= age;
}

void sim_reader_acquire(struct sim_session *session)
{
	const struct sim_request *request = &session->request;

	if (keeps_out(request) || sim_lease_meant(request))
		return;
	sim_lease_insert(session,
			 sim_writer_of(sim_param_name(request, 0))->serial);
	session->answer.affected = 1;
}

void sim_reader_look(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	const struct sim_lease *seen[] = {
		sim_writer_of(sim_param_name(request, 0)),
		sim_lease_meant(request),
	};
	struct sim_answer *answer = &session->answer;
	struct rlk_value *cells = sim_answer_row(answer, 16);

	for (size_t i = 0; i < RLK_ARRAY_SIZE(seen); i++) {
		if (!seen[i] || !seen[i]->there)
			continue;
		sim_tell_look(&cells[8 * answer->affected], seen[i],
			      request->started_us);
		cells[8 * answer->affected++ + 7] = rlk_u64(seen[i]->slot);
	}
}

static void tell_row(struct sim_session *session, const struct sim_lease *lease)
{
	struct rlk_value *cells = sim_answer_row(&session->answer, 8);

	sim_tell_look(cells, lease, session->request.started_us);
	cells[7] = rlk_u64(lease->slot);
}

/* The writer's first; readers' in any order, as nobody asks for theirs. */
void sim_rwlock_look(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	unsigned int name = sim_param_name(request, 0);

	if (sim_writer_of(name)->there)
		tell_row(session, sim_writer_of(name));
	for (unsigned int i = SIM_SINGLES;
	     i < sim_tables.lease_places &&
	     session->answer.rows < request->params[1].u64;
	     i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];

		if (lease->there && lease->name == name &&
		    sim_kind_of(lease) == SIM_KIND_RWLOCK)
			tell_row(session, lease);
	}
}

void sim_candidates_look(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	unsigned int name = sim_param_name(request, 0);

	for (unsigned int i = SIM_SINGLES; i < sim_tables.lease_places; i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];
		const struct sim_session_row *row =
		    sim_session_row(lease->session);
		struct rlk_value *cells;

		if (!lease->there || lease->name != name || !row ||
		    sim_kind_of(lease) != SIM_KIND_CANDIDATE)
			continue;
		cells = sim_answer_row(&session->answer, 3);
		cells[0] = rlk_text(lease->info);
		cells[1] = sim_signed(request->started_us - lease->acquired_us);
		cells[2] = sim_signed(row->expires_us - request->started_us);
	}
}

/* ------------------------------------------------------------------- all */

void sim_lease_confirm(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	const struct sim_lease *lease = sim_lease_meant(request);

	if (lease && lease->there && lease->attempt == request->params[2].u64 &&
	    sim_session_row(lease->session))
		sim_answer_row(&session->answer, 1)[0] =
		    rlk_u64(lease->session);
}

void sim_lease_list(struct sim_session *session)
{
	int64_t now_us = session->request.started_us;

	for (unsigned int i = 0; i < sim_tables.lease_places; i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];
		uint64_t token = sim_tables.tokens[0][lease->name];
		struct rlk_value holder[4];
		struct rlk_value *cells;

		if (!lease->there)
			continue;
		tell_holder(holder, lease, now_us);
		cells = sim_answer_row(&session->answer, 16);
		cells[15] = sim_signed(sim_is_kept(lease));
		cells[0] = rlk_text(sim_names[lease->name]);
		cells[1] = rlk_u64(lease->slot);
		cells[2] = sim_null();
		cells[3] = holder[1];
		cells[4] = holder[0];
		cells[5] = rlk_text("2026-11-20 12:00:00.000000");
		cells[6] = sim_signed(now_us - lease->acquired_us);
		cells[7] = holder[2];
		cells[8] = holder[3];
		cells[9] = rlk_text("host");
		cells[10] = rlk_u64(lease->proc);
		cells[11] = rlk_text("sim");
		cells[12] = token ? rlk_u64(token) : sim_null();
		cells[13] =
		    token ? rlk_text("2026-11-20 12:00:00.000000") : sim_null();
		cells[14] = token ? rlk_u64(sim_tables.drawn_by[lease->name])
				  : sim_null();
	}
}

void sim_leases_of_name(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	unsigned int name = sim_param_name(request, 0);

	for (unsigned int i = 0; i < sim_tables.lease_places; i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];
		struct rlk_value *cells;

		if (!lease->there || lease->name != name ||
		    lease->slot < request->params[1].u64)
			continue;
		cells = sim_answer_row(&session->answer, 3);
		cells[0] = rlk_u64(lease->slot);
		cells[1] = rlk_u64(lease->attempt);
		cells[2] = rlk_u64(lease->session);
	}
}

void sim_leases_of(struct sim_session *session)
{
	for (unsigned int i = 0; i < sim_tables.lease_places; i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];
		const struct sim_session_row *row =
		    sim_session_row(lease->session);
		struct rlk_value *cells;

		if (!lease->there ||
		    (lease->session != session->request.params[0].u64 &&
		     !(row && row->breaks == session->request.params[0].u64)))
			continue;
		cells = sim_answer_row(&session->answer, 3);
		cells[0] = rlk_u64(lease->attempt);
		cells[1] = rlk_text(sim_names[lease->name]);
		cells[2] = rlk_u64(lease->slot);
	}
}

/* In the order of the primary key. */
static bool is_behind(const struct sim_lease *lease, const char *name,
		      uint64_t slot)
{
	int order = strcmp(sim_names[lease->name], name);

	return order > 0 || (order == 0 && lease->slot > slot);
}

static bool is_over(const struct sim_lease *lease, int64_t now_us, bool all)
{
	return !sim_session_row(lease->session) ||
	       (lease->expires_us && (all || lease->expires_us <= now_us));
}

/* The next one that is over behind this key; NULL: none. */
static const struct sim_lease *next_over(const struct sim_request *request,
					 const char *name, uint64_t slot)
{
	bool all = request->params[3].u64 == 1;
	const struct sim_lease *next = NULL;

	for (unsigned int i = 0; i < sim_tables.lease_places; i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];

		if (lease->there && is_behind(lease, name, slot) &&
		    is_over(lease, request->started_us, all) &&
		    !(next &&
		      is_behind(lease, sim_names[next->name], next->slot)))
			next = lease;
	}
	return next;
}

void sim_leases_dead(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	const char *name = request->params[0].text;
	uint64_t slot = request->params[2].u64;

	while (session->answer.rows < request->params[4].u64) {
		const struct sim_lease *lease = next_over(request, name, slot);
		struct rlk_value *cells;

		if (!lease)
			return;
		cells = sim_answer_row(&session->answer, 7);
		tell_holder(cells, lease, request->started_us);
		cells[2] = sim_signed(!sim_session_row(lease->session));
		cells[4] =
		    sim_signed((lease->expires_us - lease->acquired_us) / 1000);
		name = sim_names[lease->name];
		slot = lease->slot;
		cells[5] = rlk_text(name);
		cells[6] = rlk_u64(slot);
	}
}

void sim_leases_dead_of(struct sim_session *session)
{
	unsigned int name = sim_param_name(&session->request, 0);

	for (unsigned int i = 0; i < sim_tables.lease_places; i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];
		struct rlk_value *cells;

		if (!lease->there || lease->name != name ||
		    sim_session_row(lease->session))
			continue;
		cells = sim_answer_row(&session->answer, 2);
		cells[0] = rlk_u64(lease->slot);
		cells[1] = rlk_u64(lease->attempt);
	}
}

/* Name and attempt of each, side by side in one row. */
void sim_leases_ahead(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_answer *answer = &session->answer;
	struct rlk_value *cells = sim_answer_row(answer, 2 * SIM_NAMES);

	for (unsigned int i = 0; i < SIM_NAMES; i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];
		const struct sim_session_row *row =
		    sim_session_row(lease->session);

		if (!lease->there ||
		    strcmp(sim_names[i], request->params[0].text) <= 0 ||
		    (row && row->expires_us > request->started_us))
			continue;
		cells[2 * answer->affected] = rlk_text(sim_names[i]);
		cells[2 * answer->affected++ + 1] = rlk_u64(lease->attempt);
	}
}

static bool lease_matches(const struct sim_request *request,
			  const struct sim_condition *condition,
			  const struct sim_lease *lease)
{
	const struct rlk_value *param = &request->params[condition->param];

	switch (condition->test) {
	case SIM_IF_NAME:
		return sim_param_name(request, condition->param) == lease->name;
	case SIM_IF_SLOT:
		return param->u64 == lease->slot;
	case SIM_IF_ATTEMPT:
		return lease->attempt == param->u64;
	case SIM_IF_SESSION:
		return lease->session == param->u64;
	case SIM_IF_EXPIRED:
		return lease->expires_us &&
		       lease->expires_us <= request->started_us;
	case SIM_IF_NO_SESSION:
		return !sim_session_row(lease->session);
	case SIM_IF_NOBODY_PLEADS:
		return !sim_bell_is_used(param->text);
	default:
		sim_violation("a DELETE of leases by a column that they do "
			      "not have");
	}
}

static bool is_meant(const struct sim_request *request,
		     const struct sim_lease *lease)
{
	if (sim_receipt_of(request->params[0].text))
		return false;
	for (unsigned int i = 0; i < request->op->conditions; i++)
		if (!lease_matches(request, &request->op->condition[i], lease))
			return false;
	return lease->there;
}

void sim_lease_present(struct sim_session *session)
{
	for (unsigned int i = 0; i < sim_tables.lease_places; i++)
		if (is_meant(&session->request, &sim_tables.leases[i]))
			sim_answer_row(&session->answer, 1)[0] =
			    rlk_u64(sim_tables.leases[i].attempt);
}

void sim_lease_count(struct sim_session *session)
{
	for (unsigned int i = 0; i < sim_tables.lease_places; i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];

		if (is_meant(&session->request, lease) &&
		    (session->request.op->verb == SIM_COUNT ||
		     sim_session_row(lease->session)))
			session->answer.affected++;
	}
}

/* Of each set all rows are made, or none; it is an attempt's. */
void sim_sets_look(struct sim_packet *packet, size_t first)
{
	unsigned int statement = packet->parts[first].statement;
	size_t end = first;

	while (end < packet->count && packet->parts[end].statement == statement)
		packet->parts[end++].left_out = false;
	for (size_t i = first; i < end; i++) {
		const struct sim_request request = {
			.op = packet->parts[i].op,
			.params = { packet->parts[i].params[0] },
		};
		uint64_t attempt = packet->parts[i].params[3].u64;

		if (!sim_tables.leases[sim_param_name(&request, 0)].there)
			continue;
		for (size_t other = first; other < end; other++)
			if (packet->parts[other].params[3].u64 == attempt)
				packet->parts[other].left_out = true;
	}
}

uint64_t sim_lease_would(const struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	uint64_t rows = 0;

	if (request->op->verb == SIM_ACQUIRE_LOOKING ||
	    request->op->verb == SIM_ACQUIRE_SEEING ||
	    request->op->verb == SIM_ACQUIRE_RINGING)
		return !sim_lease_meant(request)->there;
	if (request->op->verb == SIM_ACQUIRE_READER)
		return !keeps_out(request) && !sim_lease_meant(request);
	if (request->op->verb == SIM_ACQUIRE_PERMITS)
		return 1;
	if (request->op->verb == SIM_DELETE_LEASE)
		for (unsigned int i = 0; i < sim_tables.lease_places; i++)
			rows += is_meant(request, &sim_tables.leases[i]);
	return rows;
}

void sim_lease_remove(struct sim_session *session, struct sim_lease *lease)
{
	sim_judge_lease_removed(session, lease);
	lease->there = false;
	lease->gone_us = sim_now;
}

void sim_lease_delete(struct sim_session *session)
{
	if (session->request.lies)
		return;
	if (sim_receipt_of(session->request.params[0].text)) {
		sim_receipt_delete(session);
		return;
	}
	for (unsigned int i = 0; i < sim_tables.lease_places; i++) {
		struct sim_lease *lease = &sim_tables.leases[i];

		if (!is_meant(&session->request, lease))
			continue;
		session->answer.affected++;
		if (sim_job_deletes(session, lease))
			continue;
		sim_lease_remove(session, lease);
		if (sim_kind_of(lease) == SIM_KIND_PERMITS)
			sim_tables.permits_us[lease->name] = sim_now;
		if (session->request.op->rings)
			sim_bell_ring_after(session);
	}
}
