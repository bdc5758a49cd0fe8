/* SPDX-License-Identifier: MIT */
/*
 * Packets as the simulated server executes them: one statement after the other,
 * each commits; the first that fails is the last. Where the connection breaks
 * in the middle, the server may see that or not.
 *
 * What is between BEGIN and COMMIT is done at one instant, or not at all: while
 * it goes on, nobody else would see anything of it. What fails in it leaves a
 * transaction open, in which nobody may say anything but ROLLBACK.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "locks.h"
#include "server.h"
#include "sim.h"
#include "tables_private.h"
#include "trace.h"

struct sim_part *sim_packet_grow(struct sim_packet *packet)
{
	struct sim_part *part;

	if (packet->count == packet->room) {
		packet->room = packet->room ? packet->room * 2 : 8;
		packet->parts = realloc(packet->parts,
					packet->room * sizeof(*packet->parts));
		if (!packet->parts)
			abort();
	}
	part = &packet->parts[packet->count++];
	*part = (struct sim_part){ .statement = packet->statements };
	return part;
}

static const struct sim_op *op_of(const struct sim_packet *packet,
				  unsigned int statement)
{
	size_t i = 0;

	while (packet->parts[i].statement != statement)
		i++;
	return packet->parts[i].op;
}

/* ----------------------------------------------------------------- fate */

/* From behind BEGIN up to COMMIT. */
static void draw_transaction(struct sim_session *session)
{
	struct sim_request *request = &session->request;
	struct sim_packet *packet = &session->packet;
	struct sim_request fate;

	do {
		fate.op = op_of(packet, ++packet->last);
		sim_draw_fate(&fate);
		/* Before it has happened, or after. */
		if (fate.op->verb == SIM_COMMIT && sim_happens(SIM_INTERRUPTED))
			fate.refuse = 1317;
		if (fate.lies)
			packet->lies_at = packet->last;
		request->block_us += fate.block_us;
		request->reply_lost |= fate.reply_lost;
		request->break_after |= fate.break_after;
		if (request->refuse || !fate.refuse)
			continue;
		request->refuse = fate.refuse;
		packet->fails_at = packet->last;
	} while (fate.op->verb != SIM_COMMIT);
}

void sim_packet_draw_fate(struct sim_session *session)
{
	struct sim_request *request = &session->request;
	struct sim_packet *packet = &session->packet;

	request->op = op_of(packet, packet->executed);
	packet->last = packet->executed;
	packet->fails_at = packet->executed;
	sim_draw_fate(request);
	packet->lies_at = request->lies ? packet->executed : UINT_MAX;
	if (request->op->verb == SIM_BEGIN && !request->refuse)
		draw_transaction(session);
}

/* ------------------------------------------------------------ statements */

void sim_check_open(struct sim_session *session, const struct sim_op *op)
{
	if (op->verb == SIM_ROLLBACK)
		session->open = false;
	if (session->open)
		sim_violation("%s is said in a transaction that was left open",
			      op->label);
}

/* What comes back instead of a count: an attempt, or name and token. */
static void tell_row(struct sim_part *part)
{
	bool draws = part->op->verb == SIM_DRAW_LEASE;

	part->has_row = part->affected > 0;
	part->affected = 0;
	part->cells[0] = part->params[draws ? 0 : 2];
	part->cells[1] = rlk_u64(part->insert_id);
}

static void execute_part(struct sim_session *session, struct sim_part *part)
{
	struct sim_answer *answer = &session->answer;

	session->request.op = part->op;
	memcpy(session->request.params, part->params, sizeof(part->params));
	answer->affected = 0;
	answer->insert_id = 0;
	answer->rows = 0;
	answer->columns = 0;
	sim_check_open(session, part->op);
	if (!part->left_out)
		sim_execute(session);
	sim_trace_statement(session);
	part->affected = answer->affected;
	part->insert_id = part->returns ? session->last_id : answer->insert_id;
	part->has_row = answer->rows > 0;
	if (part->has_row)
		memcpy(part->cells, answer->cells,
		       answer->columns * sizeof(*answer->cells));
	if (part->returns)
		tell_row(part);
}

/* All rows of one statement, at one instant. */
static void execute_statement(struct sim_session *session)
{
	struct sim_packet *packet = &session->packet;

	sim_verb_counts[packet->parts[packet->next].op->verb]++;
	session->request.lies = packet->executed == packet->lies_at;
	if (packet->parts[packet->next].op->verb == SIM_ACQUIRE_SET)
		sim_sets_look(packet, packet->next);
	if (packet->parts[packet->next].op->verb == SIM_ACQUIRE_PERMITS)
		sim_permits_meet(session, packet->next);
	while (packet->next < packet->count &&
	       packet->parts[packet->next].statement == packet->executed)
		execute_part(session, &packet->parts[packet->next++]);
	packet->executed++;
}

/* ----------------------------------------------------------------- steps */

/* A step is a statement, or a transaction. */
static bool is_refused(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_packet *packet = &session->packet;
	unsigned int end =
	    request->refuse ? packet->fails_at : packet->last + 1;

	session->answer.error = request->refuse;
	if (sim_server.read_only_until <= sim_now)
		return request->refuse != 0;
	for (unsigned int i = packet->executed; i < end; i++) {
		if (!op_of(packet, i)->writes)
			continue;
		session->answer.error = 1290;
		packet->fails_at = i;
		break;
	}
	return session->answer.error != 0;
}

/* It was answered as if it had been done. */
static void pretend_step(struct sim_session *session)
{
	struct sim_packet *packet = &session->packet;

	for (; packet->parts[packet->next].statement < packet->fails_at;
	     packet->next++) {
		struct sim_part *part = &packet->parts[packet->next];

		memcpy(session->request.params, part->params,
		       sizeof(part->params));
		session->request.op = part->op;
		part->affected = sim_lease_would(session);
		if (part->returns)
			tell_row(part);
	}
}

void sim_packet_slip(struct sim_session *session, unsigned int statement)
{
	struct sim_packet *packet = &session->packet;
	struct sim_request *request = &session->request;
	const struct sim_op *op = request->op;

	for (size_t i = packet->next; i < packet->count; i++) {
		struct sim_part *part = &packet->parts[i];

		if (part->op->verb != SIM_ACQUIRE_RINGING ||
		    part->statement > statement)
			continue;
		memcpy(request->params, part->params, sizeof(part->params));
		request->op = part->op;
		sim_bells_slip(session);
	}
	request->op = op;
}

/* What came before in a transaction is as if it had not been, unless it was in
 * its COMMIT already. */
static void refuse(struct sim_session *session)
{
	struct sim_packet *packet = &session->packet;
	bool commits =
	    op_of(packet, packet->fails_at)->verb == SIM_COMMIT && sim_below(2);

	session->open = packet->fails_at > packet->executed && !commits &&
			session->answer.error != 1213;
	while (commits && packet->executed < packet->fails_at)
		execute_statement(session);
	if (!commits) {
		/* Who waits for a row has not got to the bell. */
		sim_packet_slip(session, packet->fails_at -
					     (session->answer.error == 1205));
		pretend_step(session);
	}
	packet->executed = packet->fails_at;
}

static void execute_step(struct sim_session *session)
{
	struct sim_packet *packet = &session->packet;

	while (packet->executed <= packet->last)
		execute_statement(session);
}

/* The next one begins; what was to become of the packet's end stays. */
static void begin_step(struct sim_session *session)
{
	struct sim_request *request = &session->request;
	bool reply_lost = request->reply_lost;
	bool break_after = request->break_after;

	sim_packet_draw_fate(session);
	request->reply_lost |= reply_lost;
	request->break_after |= break_after;
	sim_request_begin(request);
}

void sim_packet_execute(struct sim_session *session)
{
	struct sim_request *request = &session->request;
	const struct sim_packet *packet = &session->packet;

	session->phase = SIM_EXECUTING;
	while (!is_refused(session)) {
		if (sim_locks_hold_up_packet(session))
			return;
		if (session->answer.error)
			break;
		execute_step(session);
		if (session->answer.error) {
			/* It was refused by itself: a KILL of nobody. */
			session->packet.executed--;
			sim_session_finish(session);
			return;
		}
		if (packet->executed == packet->statements ||
		    (request->break_after && sim_below(2)))
			break;
		begin_step(session);
		if (request->block_us) {
			sim_event_set(&session->step,
				      sim_now + request->block_us);
			request->block_us = 0;
			return;
		}
	}
	if (session->answer.error)
		refuse(session);
	sim_session_finish(session);
}
