/* SPDX-License-Identifier: MIT */
/*
 * User-level locks: a session has one as often as it has got it, the others
 * stand in line, and are served in their order. No transaction knows of them;
 * they end with their session. Who is interrupted in the moment in which it
 * gets one has it all the same.
 *
 * Gates and lanes are user-level locks too. A reader that gets a bell while its
 * gate is open lets it go by and has a lane; a writer gets its answer when no
 * lane of it is in use any more.
 */
#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "judge.h"
#include "sim.h"
#include "tables_private.h"

#define LANES 16
#define DRAIN_US (3600 * INT64_C(1000000))

struct sim_bell {
	char text[40];
	struct sim_session *owner;
	unsigned int depth;
	struct rlk_list line;
	struct sim_session *gate;
	struct sim_session *lanes[LANES];
	struct sim_session *drains; /* the owner, waiting for their end */
};

struct sim_bell_counts sim_bell_counts;

/* Leases, rows, read/write locks and semaphores have bells of their own, and
 * the last the lock that tells of a plea. */
#define BELLS (5 * SIM_NAMES)
static struct sim_bell bells[BELLS];

void sim_bells_begin(void)
{
	memset(bells, 0, sizeof(bells));
}

/* By hand: ThreadSanitizer takes the calls of string.h for accesses of the
 * simulated thread. */
static void copy_text(char *to, const char *from)
{
	size_t i = 0;

	for (; from[i] && i < sizeof(bells[0].text) - 1; i++)
		to[i] = from[i];
	to[i] = '\0';
}

static bool is_text(const char *one, const char *other)
{
	size_t i = 0;

	while (one[i] && one[i] == other[i])
		i++;
	return one[i] == other[i];
}

static struct sim_bell *bell_of(const char *text)
{
	for (unsigned int i = 0; i < BELLS; i++) {
		struct sim_bell *bell = &bells[i];

		if (!*bell->text) {
			copy_text(bell->text, text);
			rlk_list_init(&bell->line);
		}
		if (is_text(bell->text, text))
			return bell;
	}
	sim_violation("there are more bells than names: '%s'", text);
}

const char *sim_bell_text(const char *text)
{
	return strncmp(text, "rlb:", 4) ? NULL : bell_of(text)->text;
}

static struct sim_bell *param(const struct sim_session *session,
			      unsigned int number)
{
	return bell_of(session->request.params[number].text);
}

static bool take(struct sim_session *session, struct sim_bell *bell)
{
	if (bell->owner && bell->owner != session)
		return false;
	if (sim_world.no_marks)
		sim_violation("a bell is taken on a server that has none");
	bell->owner = session;
	bell->depth++;
	return true;
}

static bool ring(struct sim_session *session, struct sim_bell *bell);

static void tell_lane(struct sim_session *session, bool got, unsigned int lane)
{
	struct rlk_value *cells = sim_answer_row(&session->answer, 2);

	cells[0] = sim_signed(got);
	cells[1] = sim_signed(lane);
}

/* Its number, from 1; 0: none is free. */
static unsigned int take_lane(struct sim_session *session,
			      struct sim_bell *bell)
{
	for (unsigned int i = 0; i < LANES; i++) {
		if (bell->lanes[i])
			continue;
		bell->lanes[i] = session;
		sim_bell_counts.passed++;
		return i + 1;
	}
	return 0;
}

static bool has_lanes(const struct sim_bell *bell)
{
	for (unsigned int i = 0; i < LANES; i++)
		if (bell->lanes[i])
			return true;
	return false;
}

static void tell(struct sim_session *session, struct sim_bell *bell)
{
	bool reads = session->request.op->verb == SIM_BELL_WAIT_READING;
	bool got = bell->owner == session;
	unsigned int lane =
	    reads && got && bell->gate ? take_lane(session, bell) : 0;

	tell_lane(session, got, lane);
	if (lane)
		ring(session, bell);
}

/* A writer that has got the bell: has it to wait for lanes? */
static bool begin_drain(struct sim_session *session, struct sim_bell *bell)
{
	if (session->request.op->verb != SIM_BELL_WAIT_WRITING ||
	    !has_lanes(bell))
		return false;
	sim_bell_counts.drained++;
	bell->drains = session;
	session->phase = SIM_WAITING;
	session->wants_bell = bell;
	sim_event_set(&session->step, sim_now + DRAIN_US);
	return true;
}

static void end_drain(struct sim_bell *bell)
{
	struct sim_session *session = bell->drains;

	if (!session || has_lanes(bell))
		return;
	bell->drains = NULL;
	session->wants_bell = NULL;
	tell(session, bell);
	sim_session_go_on(session, 0);
}

static void leave_line(struct sim_session *session)
{
	if (session->wants_bell->drains == session)
		session->wants_bell->drains = NULL;
	else
		rlk_list_remove(&session->in_line);
	session->wants_bell = NULL;
}

static void give_to_next(struct sim_bell *bell)
{
	struct rlk_list *node = rlk_list_first(&bell->line);
	struct sim_session *next;

	if (!node)
		return;
	next = container_of(node, struct sim_session, in_line);
	leave_line(next);
	take(next, bell);
	sim_bell_counts.woken++;
	sim_bell_counts.ghosts += !next->conn || next->silent;
	if (sim_happens(SIM_INTERRUPTED)) {
		sim_bell_counts.slipped++;
		sim_session_go_on(next, 1317);
		return;
	}
	if (begin_drain(next, bell))
		return;
	tell(next, bell);
	sim_session_go_on(next, 0);
}

static bool ring(struct sim_session *session, struct sim_bell *bell)
{
	if (bell->owner != session)
		return false;
	if (--bell->depth == 0) {
		bell->owner = NULL;
		give_to_next(bell);
	}
	return true;
}

void sim_bell_ring(struct sim_session *session)
{
	ring(session, param(session, 0));
}

void sim_gate_open(struct sim_session *session)
{
	struct sim_bell *bell = param(session, 0);
	struct rlk_value *cells = sim_answer_row(&session->answer, 3);

	if (!bell->gate)
		bell->gate = session;
	cells[0] = sim_signed(bell->gate == session);
	cells[1] = sim_signed(ring(session, bell));
	cells[2] = rlk_u64(bell->owner ? bell->owner->id : 0);
}

void sim_gate_close(struct sim_session *session)
{
	struct sim_bell *bell = param(session, 0);

	if (bell->gate == session)
		bell->gate = NULL;
}

static void leave_lane(struct sim_session *session, struct sim_bell *bell,
		       unsigned int lane)
{
	if (lane < 1 || lane > LANES || bell->lanes[lane - 1] != session)
		return;
	bell->lanes[lane - 1] = NULL;
	end_drain(bell);
}

void sim_gate_look(struct sim_session *session)
{
	struct sim_bell *bell = param(session, 0);
	uint64_t owner = bell->owner ? bell->owner->id : 0;

	sim_answer_row(&session->answer, 1)[0] =
	    rlk_u64(has_lanes(bell) ? UINT64_MAX >> 1 : owner);
}

void sim_gate_leave(struct sim_session *session)
{
	struct sim_bell *bell = param(session, 0);
	struct rlk_value *cells = sim_answer_row(&session->answer, 2);

	cells[0] = sim_signed(ring(session, bell));
	cells[1] = rlk_u64(bell->owner ? bell->owner->id : 0);
	for (unsigned int lane = 1; lane <= LANES; lane++)
		leave_lane(session, bell, lane);
}

void sim_lane_leave(struct sim_session *session)
{
	leave_lane(session, param(session, 0),
		   (unsigned int) session->request.params[1].u64);
}

void sim_bell_ring_after(struct sim_session *session)
{
	bool rung = ring(session, param(session, 3));

	sim_answer_row(&session->answer, 1)[0] = sim_signed(rung);
}

bool sim_bell_take(struct sim_session *session)
{
	return take(session, param(session, 7));
}

uint64_t sim_bell_owner(const struct sim_session *session, unsigned int number)
{
	const struct sim_bell *bell = param(session, number);

	return bell->owner ? bell->owner->id : 0;
}

bool sim_bell_is_used(const char *text)
{
	return bell_of(text)->owner != NULL;
}

unsigned int sim_bell_ghosts(void)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < BELLS; i++) {
		const struct rlk_list *node;

		if (!*bells[i].text)
			continue;
		count += bells[i].owner && !bells[i].owner->conn;
		for (node = bells[i].line.next; node != &bells[i].line;
		     node = node->next)
			count +=
			    !container_of(node, struct sim_session, in_line)
				 ->conn;
	}
	return count;
}

bool sim_bell_is_wait(enum sim_verb verb)
{
	return verb == SIM_BELL_WAIT || verb == SIM_BELL_WAIT_READING ||
	       verb == SIM_BELL_WAIT_WRITING;
}

bool sim_bell_wait(struct sim_session *session)
{
	struct sim_bell *bell = param(session, 0);
	int64_t us = (int64_t) session->request.params[1].u64;

	if (take(session, bell) || us == 0) {
		if (bell->owner == session && begin_drain(session, bell))
			return false;
		tell(session, bell);
		return true;
	}
	sim_bell_counts.waits++;
	session->phase = SIM_WAITING;
	session->wants_bell = bell;
	rlk_list_append(&bell->line, &session->in_line);
	sim_event_set(&session->step, sim_now + us);
	return false;
}

bool sim_bell_give_up(struct sim_session *session)
{
	struct sim_bell *bell = session->wants_bell;

	if (!bell)
		return false;
	sim_bell_counts.ended++;
	leave_line(session);
	tell(session, bell);
	return true;
}

void sim_bells_slip(struct sim_session *session)
{
	enum sim_verb verb = session->request.op->verb;
	struct sim_bell *bell;

	if (!sim_bell_is_wait(verb) && verb != SIM_ACQUIRE_RINGING)
		return;
	bell = param(session, verb == SIM_ACQUIRE_RINGING ? 7 : 0);
	if (sim_below(2) && take(session, bell))
		sim_bell_counts.slipped++;
}

void sim_bells_leave(struct sim_session *session)
{
	if (session->wants_bell)
		leave_line(session);
	for (unsigned int i = 0; i < BELLS; i++) {
		if (bells[i].gate == session)
			bells[i].gate = NULL;
		for (unsigned int lane = 1; lane <= LANES; lane++)
			leave_lane(session, &bells[i], lane);
		if (bells[i].owner != session)
			continue;
		sim_bell_counts.lost++;
		bells[i].depth = 1;
		ring(session, &bells[i]);
	}
}

/* Of connections that live and have nothing to do: of whom nobody will ring. */
void sim_bells_check(void)
{
	for (unsigned int i = 0; i < BELLS; i++) {
		const struct sim_session *owner = bells[i].owner;

		if (owner && owner->conn && !owner->silent &&
		    owner->phase == SIM_RESTING)
			sim_violation("process %u left the bell %s on "
				      "connection %llu",
				      owner->proc, bells[i].text,
				      (unsigned long long) owner->id);
	}
}
