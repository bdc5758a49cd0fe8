/* SPDX-License-Identifier: MIT */
/*
 * The statements on leases that are handed over (strategy/offer.c), and:
 *
 *   A1  an exported lease is not free before it is adopted: its exporter ends
 *       neither its row, unless it takes it back, nor, as it leaves, the
 * session A2  an adopter is refused only if the lease is not there any more
 *
 * That the two never both hold it is S3's.
 */
#include <string.h>

#include "core/client.h"
#include "judge_private.h"
#include "sim.h"
#include "tables_private.h"

/* For what a call may be late. */
#define GRACE_MS 200

/* The last lease of each name that was exported. */
static struct sim_offer offers[SIM_NAMES];

void sim_offers_begin(void)
{
	memset(offers, 0, sizeof(offers));
}

struct sim_offer *sim_offer_of(unsigned int name)
{
	return &offers[name];
}

/* As it was exported. */
static bool is_offered(const struct sim_lease *lease,
		       const struct sim_offer *offer)
{
	return offer->text[0] && lease->there &&
	       lease->attempt == offer->attempt &&
	       lease->session == offer->session;
}

bool sim_offer_stands(unsigned int name, const struct sim_offer *offer)
{
	return is_offered(&sim_tables.leases[name], offer) &&
	       sim_session_row(offer->session);
}

void sim_judge_offer_removed(const struct sim_lease *lease)
{
	const struct sim_offer *offer = &offers[lease->name];

	if (lease->slot == 0 && is_offered(lease, offer) && !offer->taken_back)
		sim_violation("A1: process %u removed its exported lease of "
			      "'%s'",
			      lease->proc, sim_names[lease->name]);
}

/* It stays alive for as long as the call may take. */
void sim_judge_offers_leave(const struct rowlock_client *client)
{
	const struct rlk_session *session = &client->session;
	int64_t until = sim_proc_ms(sim_self->proc) +
			2 * (int64_t) (sim_world.call_ms + GRACE_MS);

	for (unsigned int name = 0; name < SIM_NAMES; name++)
		if (session->state == RLK_SESSION_ALIVE &&
		    offers[name].session == session->id &&
		    session->valid_until_ms > until)
			offers[name].left = true;
}

void sim_judge_offers_left(const struct sim_session_row *row)
{
	for (unsigned int name = 0; name < SIM_NAMES; name++)
		if (offers[name].left && offers[name].session == row->id &&
		    is_offered(&sim_tables.leases[name], &offers[name]))
			sim_violation("A1: process %u has ended, and with it "
				      "its exported lease of '%s'",
				      row->proc, sim_names[name]);
}

/* The lease of the parameter @name, and the slot behind that. */
static struct sim_lease *lease_at(const struct sim_request *request,
				  unsigned int name)
{
	if (request->params[name + 1].u64 != 0)
		sim_violation("a lease is adopted that is no lock");
	return &sim_tables.leases[sim_param_name(request, name)];
}

struct sim_lease *sim_lease_adopted(const struct sim_request *request)
{
	return lease_at(request, 5);
}

void sim_offer_adopt(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	const struct rlk_value *params = request->params;
	struct sim_lease *lease = sim_lease_adopted(request);
	struct sim_session_row *from = sim_session_row(params[8].u64);
	struct sim_session_row *to = sim_session_row(params[0].u64);

	if (request->lies || !from || !to || !lease->there ||
	    lease->attempt != params[7].u64 || lease->session != from->id)
		return;
	if (params[3].u64 != params[4].u64 || params[2].u64 != params[7].u64)
		sim_violation("the request for a lease goes to another hold");
	if (to->proc != session->proc)
		sim_violation("S5: process %u adopts for process %u",
			      session->proc, to->proc);
	from->breaks++;
	to->breaks++;
	sim_lease_hand_over(session, lease, to->id, params[4].u64);
	session->answer.affected = from == to ? 2 : 3;
}

void sim_offer_look(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	const struct sim_lease *lease = lease_at(request, 1);
	struct rlk_value *cells;

	if (!lease->there)
		return;
	cells = sim_answer_row(&session->answer, 4);
	cells[0] = rlk_u64(lease->attempt);
	cells[1] = rlk_u64(lease->session);
	cells[2] = rlk_u64(!sim_session_row(lease->session));
	cells[3] = rlk_u64(!sim_session_row(request->params[0].u64));
}

void sim_offer_holder(struct sim_session *session)
{
	const struct sim_lease *lease = lease_at(&session->request, 0);
	struct rlk_value *cells;

	if (!lease->there || !sim_session_row(lease->session))
		return;
	cells = sim_answer_row(&session->answer, 4);
	cells[0] = rlk_text("host");
	cells[1] = rlk_u64(lease->proc);
	cells[2] = rlk_text("sim");
	cells[3] = rlk_text("2026-11-20 12:00:00.000000");
}
