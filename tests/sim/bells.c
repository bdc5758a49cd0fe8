/* SPDX-License-Identifier: MIT */
/*
 * User-level locks: a session has one as often as it has got it, the others
 * stand in line, and are served in their order. No transaction knows of them;
 * they end with their session. Who is interrupted in the moment in which it
 * gets one has it all the same.
 */
#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "judge.h"
#include "sim.h"
#include "tables_private.h"

struct sim_bell {
	char text[40];
	struct sim_session *owner;
	unsigned int depth;
	struct rlk_list line;
};

struct sim_bell_counts sim_bell_counts;

/* Leases, rows, read/write locks and semaphores have bells of their own. */
#define BELLS (4 * SIM_NAMES)
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

static void tell(struct sim_session *session, const struct sim_bell *bell)
{
	sim_answer_row(&session->answer, 1)[0] =
	    sim_signed(bell->owner == session);
}

static void leave_line(struct sim_session *session)
{
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

bool sim_bell_wait(struct sim_session *session)
{
	struct sim_bell *bell = param(session, 0);
	int64_t us = (int64_t) session->request.params[1].u64;

	if (take(session, bell) || us == 0) {
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

	if (verb != SIM_BELL_WAIT && verb != SIM_ACQUIRE_RINGING)
		return;
	bell = param(session, verb == SIM_BELL_WAIT ? 0 : 7);
	if (sim_below(2) && take(session, bell))
		sim_bell_counts.slipped++;
}

void sim_bells_leave(struct sim_session *session)
{
	if (session->wants_bell)
		leave_line(session);
	for (unsigned int i = 0; i < BELLS; i++) {
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
