/* SPDX-License-Identifier: MIT */
/*
 * Sessions: what happens to a request between the client's end of a connection
 * and its answer. A request is executed whatever has become of who sent it,
 * unless its session is over by then: that is what makes a lost answer hard.
 */
#include "server.h"

#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "judge.h"
#include "locks.h"
#include "net.h"
#include "sim.h"
#include "tables.h"
#include "trace.h"

#define EPOCH_US 1700000000000000
#define SECOND_US 1000000

struct sim_server sim_server;

static struct rlk_list spare = RLK_LIST_INIT(spare);
static unsigned int sessions; /* alive */

int64_t sim_server_us(void)
{
	return EPOCH_US + sim_now + sim_now * sim_server.ppm / 1000000 +
	       sim_server.clock_us;
}

void sim_request_begin(struct sim_request *request)
{
	request->started_us = sim_server_us();
	request->began_us = sim_now;
}

/* ------------------------------------------------------------- sessions */

static void maybe_free(struct sim_session *session)
{
	if (session->alive || session->conn ||
	    sim_event_is_set(&session->step) ||
	    sim_event_is_set(&session->bye) ||
	    sim_event_is_set(&session->notice))
		return;
	rlk_list_append(&spare, &session->node);
}

static struct sim_proc *peer(const struct sim_session *session)
{
	return session->conn ? session->conn->proc : NULL;
}

static void notify_client(struct sim_session *session)
{
	int64_t at = sim_now + sim_latency(peer(session));

	if (!session->conn || session->silent)
		return;
	if (session->phase == SIM_REPLYING && session->step.at >= at)
		at = session->step.at + 1;
	sim_event_set(&session->notice, at);
}

static void notice(struct sim_event *event)
{
	struct sim_session *session =
	    container_of(event, struct sim_session, notice);

	if (session->conn) {
		session->told_us = sim_now;
		session->told_delay_us = sim_proc_delay(session->conn->proc);
		sim_conn_ended(session->conn);
	}
	maybe_free(session);
}

void sim_session_end(struct sim_session *session, enum sim_end why)
{
	if (!session->alive)
		return;
	sim_trace_session(session, "ended", (uint64_t) why);
	session->alive = false;
	session->meets = NULL;
	session->why = why;
	session->ended_us = sim_now;
	sessions--;
	rlk_list_remove(&session->node);
	sim_event_clear(&session->end);
	if (session->phase == SIM_EXECUTING || session->phase == SIM_WAITING) {
		sim_event_clear(&session->step);
		session->phase = SIM_RESTING;
	}
	sim_rows_leave(session);
	sim_bells_leave(session);
	sim_job_roll_back(session);
	sim_work_roll_back(session);
	notify_client(session);
	maybe_free(session);
}

int64_t sim_session_idle_until(const struct sim_session *session)
{
	int64_t us = (int64_t) session->idle_s * SECOND_US;

	return session->active_us + us - us * sim_server.ppm / 1000000;
}

static void end(struct sim_event *event)
{
	struct sim_session *session =
	    container_of(event, struct sim_session, end);

	if (sim_server.frozen_until > sim_now)
		sim_event_set(event,
			      sim_server.frozen_until + sim_between(0, 5000));
	else if (session->killed)
		sim_session_end(session, SIM_END_KILL);
	else if (session->phase == SIM_EXECUTING ||
		 session->phase == SIM_WAITING)
		sim_event_set(event, sim_now + SECOND_US);
	else if (sim_now < sim_session_idle_until(session))
		sim_event_set(event, sim_session_idle_until(session));
	else
		sim_session_end(session, SIM_END_IDLE);
}

static void bye(struct sim_event *event)
{
	struct sim_session *session =
	    container_of(event, struct sim_session, bye);

	if (sim_server.frozen_until > sim_now)
		sim_event_set(event,
			      sim_server.frozen_until + sim_between(0, 5000));
	else if (!session->alive)
		maybe_free(session);
	else if (session->phase == SIM_EXECUTING ||
		 session->phase == SIM_WAITING)
		session->hung_up = true; /* it is noticed afterwards */
	else
		sim_session_end(session, SIM_END_QUIT);
}

void sim_session_close(struct sim_session *session, bool silent)
{
	int64_t at = sim_now + sim_latency(peer(session));

	session->conn = NULL;
	sim_event_clear(&session->notice);
	if (session->phase == SIM_TRAVELLING &&
	    sim_event_is_set(&session->step) && session->step.at >= at)
		at = session->step.at + 1;
	if (session->alive && !silent && !session->silent)
		sim_event_set(&session->bye, at);
	maybe_free(session);
}

/* --------------------------------------------------------------- replies */

void sim_answer_reserve(struct sim_answer *answer, size_t cells)
{
	if (cells <= answer->room)
		return;
	answer->room = cells * 2;
	answer->cells =
	    realloc(answer->cells, answer->room * sizeof(*answer->cells));
	if (!answer->cells)
		abort();
}

static void break_client(struct sim_session *session)
{
	if (session->conn)
		sim_event_set(&session->notice,
			      sim_now + sim_latency(peer(session)));
	session->silent = true;
}

void sim_session_finish(struct sim_session *session)
{
	struct sim_request *request = &session->request;

	session->meets = NULL;
	session->phase = SIM_REPLYING;
	session->active_us = sim_now;
	sim_trace_statement(session);
	if (session->autocommit && !session->work.open)
		sim_rows_release(session);
	if (session->hung_up) {
		sim_session_end(session, SIM_END_QUIT);
		return;
	}
	if (request->break_after) {
		break_client(session);
		if (sim_below(2))
			sim_session_end(session, SIM_END_BROKEN);
		return;
	}
	if (request->reply_lost)
		session->silent = true;
	if (session->silent || !session->conn)
		return;
	sim_event_set(
	    &session->step,
	    sim_now + sim_latency(peer(session)) +
		(sim_happens(SIM_SLOW_REPLY) ? sim_between(1000, 2000000) : 0));
}

void sim_session_go_on(struct sim_session *session, unsigned int error)
{
	sim_event_clear(&session->step);
	if (session->borrowed) {
		sim_script_go_on(session, error);
		return;
	}
	session->answer.error = error;
	sim_session_finish(session);
}

static bool writes(const struct sim_session *session)
{
	const struct sim_op *op = session->request.op;

	return op->writes || (op->verb == SIM_COMMIT && session->job.run);
}

static void execute(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_answer *answer = &session->answer;

	if (request->packet) {
		sim_packet_execute(session);
		return;
	}
	if (session->borrowed) {
		sim_script_execute(session);
		return;
	}
	session->phase = SIM_EXECUTING;
	answer->error = request->refuse;
	answer->affected = 0;
	answer->insert_id = 0;
	answer->rows = 0;
	answer->columns = 0;
	/* The interruption may come when the row is locked already. */
	if (answer->error == 1317)
		sim_rows_slip(session);
	if (answer->error)
		sim_bells_slip(session);
	if (!answer->error && writes(session) &&
	    sim_server.read_only_until > sim_now)
		answer->error = 1290;
	if (!answer->error &&
	    (sim_tokens_hold_up(session) || sim_job_holds_up(session) ||
	     sim_locks_hold_up(session)))
		return;
	if (answer->error)
		sim_job_refuse(session);
	if (!answer->error) {
		sim_check_open(session, request->op);
		sim_verb_counts[request->op->verb]++;
		if (!sim_execute(session))
			return; /* it waits */
	}
	/* It may have ended itself. */
	if (session->alive)
		sim_session_finish(session);
	else
		maybe_free(session);
}

static void arrive(struct sim_session *session)
{
	struct sim_request *request = &session->request;

	if (!session->alive) {
		session->phase = SIM_RESTING;
		notify_client(session);
		maybe_free(session);
		return;
	}
	if (sim_server.frozen_until > sim_now) {
		sim_event_set(&session->step,
			      sim_server.frozen_until + sim_between(0, 5000));
		return;
	}
	session->active_us = sim_now;
	sim_request_begin(request);
	if (request->block_us) {
		session->phase = SIM_EXECUTING;
		sim_event_set(&session->step, sim_now + request->block_us);
		return;
	}
	execute(session);
}

static void step(struct sim_event *event)
{
	struct sim_session *session =
	    container_of(event, struct sim_session, step);

	switch (session->phase) {
	case SIM_TRAVELLING:
		arrive(session);
		break;
	case SIM_EXECUTING:
		if (sim_server.frozen_until > sim_now)
			sim_event_set(event, sim_server.frozen_until +
						 sim_between(0, 5000));
		else
			execute(session);
		break;
	case SIM_WAITING:
		sim_rows_give_up(session);
		sim_session_go_on(session,
				  sim_bell_give_up(session) ? 0 : 1205);
		break;
	default:
		session->phase = SIM_RESTING;
		if (session->conn)
			sim_conn_answered(session->conn);
		maybe_free(session);
	}
}

/* ------------------------------------------------------------- requests */

static bool touches_rows(enum sim_verb verb)
{
	return verb >= SIM_ROW_TRY && verb != SIM_DRAW_ROW &&
	       verb != SIM_RAISE_ROW;
}

/* What will become of it, but for its way. */
/* Is it answered as if it had found nothing, now and then, if it is
 * interrupted? */
static bool may_lie(enum sim_verb verb)
{
	return verb == SIM_DELETE_LEASE || verb == SIM_DELETE_SESSION ||
	       verb == SIM_BEAT || verb == SIM_KEEP_BEAT ||
	       verb == SIM_KEEP_BEAT_WHOLE || verb == SIM_OVERTAKE ||
	       verb == SIM_OFFER_ADOPT || verb == SIM_GUARD_COUNT ||
	       verb == SIM_RUN_CLAIM || verb == SIM_RUN_END ||
	       verb == SIM_RUN_UNDO;
}

void sim_draw_fate(struct sim_request *request)
{
	enum sim_verb verb = request->op->verb;

	request->refuse = 0;
	request->block_us = 0;
	request->reply_lost = sim_happens(SIM_LOST_REPLY);
	request->break_after = sim_happens(SIM_BREAK_AFTER);
	if (touches_rows(verb) && sim_happens(SIM_BLOCKED_STATEMENT))
		request->block_us = sim_between(100, 900000);
	if (touches_rows(verb) && sim_happens(SIM_LOCK_TIMEOUT)) {
		request->block_us = SECOND_US;
		request->refuse = 1205;
	}
	if (request->op->nowait && request->block_us) {
		request->block_us = 0;
		request->refuse = 1205;
	}
	if (touches_rows(verb) && sim_happens(SIM_DEADLOCK))
		request->refuse = 1213;
	/* That is nobody's fault. */
	if (verb == SIM_ACQUIRE_SET && sim_below(32) == 0)
		request->refuse = 1242;
	if (verb != SIM_COMMIT && sim_happens(SIM_INTERRUPTED))
		request->refuse = 1317;
	/* MariaDB, while it optimizes an UPDATE or a DELETE. */
	request->lies = request->refuse == 1317 && !sim_world.mysql &&
			may_lie(verb) && sim_below(2);
	if (request->lies)
		request->refuse = 0;
}

void sim_session_send(struct sim_session *session)
{
	int64_t at = sim_now + sim_latency(peer(session));

	session->phase = SIM_TRAVELLING;
	if (session->silent)
		return;
	if (session->borrowed)
		session->request = (struct sim_request){
			.op = session->request.op,
		};
	else if (session->request.packet)
		sim_packet_draw_fate(session);
	else
		sim_draw_fate(&session->request);
	/* Before it has happened, or after. */
	if (session->job.open && session->request.op->verb == SIM_COMMIT &&
	    sim_happens(SIM_INTERRUPTED))
		session->request.refuse = 1317;
	if (sim_happens(SIM_LOST_REQUEST)) {
		session->silent = true;
		return;
	}
	if (sim_happens(SIM_BREAK_BEFORE)) {
		break_client(session);
		if (sim_below(2))
			sim_session_end(session, SIM_END_BROKEN);
		return;
	}
	if (sim_happens(SIM_SLOW_REQUEST))
		at += sim_between(1000, 2000000);
	if (sim_happens(SIM_LATE_EXECUTION)) {
		at += sim_between(1000, (int64_t) sim_world.ttl_ms * 3000);
		if (sim_below(2))
			break_client(session);
	}
	sim_event_set(&session->step, at);
}

struct sim_session *sim_session_new(struct sim_conn *conn, const char *mark)
{
	struct rlk_list *node = rlk_list_first(&spare);
	struct sim_session *session;
	struct sim_answer answer = { 0 };
	struct sim_packet packet = { 0 };

	if (node) {
		rlk_list_remove(node);
		session = container_of(node, struct sim_session, node);
		answer = session->answer;
		packet = session->packet;
	} else {
		session = malloc(sizeof(*session));
		if (!session)
			abort();
	}
	sim_observe(session);
	*session = (struct sim_session){
		.id = ++sim_server.last_id,
		.proc = conn->proc->number,
		.conn = conn,
		.alive = true,
		.autocommit = conn->base.profile.autocommit,
		.lock_wait_s = conn->base.profile.lock_wait_s,
		.idle_s = conn->base.profile.idle_s,
		.answer = answer,
		.packet = packet,
		.step.fire = step,
		.bye.fire = bye,
		.notice.fire = notice,
		.end.fire = end,
		.active_us = sim_now,
	};
	memcpy(session->mark, mark, sizeof(session->mark));
	rlk_list_init(&session->node);
	rlk_list_init(&session->in_line);
	rlk_list_append(&sim_server.sessions, &session->node);
	sessions++;
	sim_event_set(&session->end, sim_session_idle_until(session));
	sim_publish(session);
	return session;
}

/* ----------------------------------------------------------------- kills */

void sim_session_kill(struct sim_session *session)
{
	int64_t us = sim_between(0, 300);

	if (session->killed)
		return;
	if (sim_happens(SIM_SLOW_KILL))
		us = sim_between(1000, 200000);
	session->killed = true;
	sim_event_set(&session->end, sim_now + us);
}

void sim_session_interrupt(struct sim_session *session)
{
	if (session->borrowed) {
		sim_script_interrupt(session);
		return;
	}
	if (session->phase == SIM_WAITING) {
		sim_rows_give_up(session);
		sim_bell_give_up(session);
	} else if (session->phase != SIM_EXECUTING) {
		return;
	}
	sim_rows_slip(session);
	if (session->request.op->verb == SIM_BEGIN)
		sim_packet_slip(session, session->packet.last);
	else
		sim_bells_slip(session);
	session->open |= session->request.op->verb == SIM_BEGIN;
	sim_session_go_on(session, 1317);
}

struct sim_session *sim_session_find(uint64_t id)
{
	struct rlk_list *node;

	for (node = sim_server.sessions.next; node != &sim_server.sessions;
	     node = node->next) {
		struct sim_session *session =
		    container_of(node, struct sim_session, node);

		if (session->id == id)
			return session;
	}
	return NULL;
}

struct sim_session *sim_session_any(void)
{
	struct rlk_list *node = sim_server.sessions.next;

	if (!sessions)
		return NULL;
	for (uint64_t n = sim_below(sessions); n; n--)
		node = node->next;
	return container_of(node, struct sim_session, node);
}

unsigned int sim_session_count(void)
{
	return sessions;
}

/* --------------------------------------------------------------- server */

void sim_server_begin(void)
{
	sim_server = (struct sim_server){
		.ppm = sim_between(-20000, 20000),
		.starts = 1,
	};
	rlk_list_init(&sim_server.sessions);
	sessions = 0;
}

void sim_server_restart(int64_t down_us, bool crash)
{
	struct rlk_list *node;

	while ((node = rlk_list_first(&sim_server.sessions))) {
		struct sim_session *session =
		    container_of(node, struct sim_session, node);

		/* It may be in its commit when the power goes. */
		if (crash && session->phase == SIM_EXECUTING && sim_below(2)) {
			session->hung_up = true;
			sim_event_clear(&session->step);
			execute(session);
		}
		sim_session_end(session, SIM_END_RESTART);
	}
	sim_server.starts++;
	sim_server.last_id = 0;
	sim_server.frozen_until = 0;
	sim_server.down_until = sim_now + down_us;
}
