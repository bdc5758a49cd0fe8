/* SPDX-License-Identifier: MIT */
/*
 * Makes, leaves and fails tickets; see ticket.h.
 */
#include "group/ticket.h"

#include "core/call.h"

#include <stdlib.h>
#include <string.h>

void rlk_ticket_init(struct rlk_ticket *ticket, struct rlk_hold *hold,
		     enum rlk_act act, const struct rlk_request *request)
{
	ticket->part = (struct rlk_part){ .act = act,
					  .request = *request,
					  .ask = RLK_ASK_FIRST };
	ticket->hold = hold;
	ticket->fault = RLK_DONE;
	ticket->mark.id = 0;
	ticket->error.code = 0;
	ticket->unsure = false;
	ticket->alone = false;
	ticket->left = false;
	ticket->sent = false;
}

struct rlk_ticket *rlk_ticket_new(struct rlk_hold *hold, enum rlk_act act,
				  const struct rlk_request *request)
{
	size_t name = strlen(request->name) + 1;
	size_t info = request->info ? strlen(request->info) + 1 : 0;
	struct rlk_ticket *ticket = malloc(sizeof(*ticket) + name + info);
	char *text;

	if (!ticket)
		return NULL;
	text = (char *) (ticket + 1);
	rlk_ticket_init(ticket, hold, act, request);
	ticket->part.request.name = memcpy(text, request->name, name);
	if (info)
		ticket->part.request.info =
		    memcpy(text + name, request->info, info);
	rlk_member_init(&ticket->member);
	return ticket;
}

struct rlk_ticket *rlk_ticket_free(struct rlk_ticket *ticket)
{
	rlk_member_fini(&ticket->member);
	free(ticket);
	return NULL;
}

/* ----------------------------------------------------------- left alone */

/* Clean up after a request whose caller has left: abandon an acquire. The
 * chores repeat a release; a draw does no harm. */
static void settle_locked(struct rlk_ticket *ticket)
{
	const struct rlk_part *part = &ticket->part;
	bool unclear = ticket->fault == RLK_UNKNOWN;
	bool granted = part->answered && part->verdict == RLK_DONE;

	if (part->act == RLK_ACT_ACQUIRE &&
	    (unclear || granted || ticket->unsure))
		rlk_hold_abandon_locked(ticket->hold,
					unclear ? &ticket->mark : NULL);
}

void rlk_ticket_leave(struct rlk_ticket *ticket, bool caller)
{
	struct rowlock_client *client = ticket->hold->name->client;
	bool second;

	rlk_mutex_lock(&client->mutex);
	second = ticket->left;
	ticket->left = true;
	if (second)
		settle_locked(ticket);
	if (second && !caller)
		rlk_hold_put_locked(ticket->hold);
	if (!second && caller)
		rlk_hold_get_locked(ticket->hold);
	rlk_mutex_unlock(&client->mutex);
	if (second)
		rlk_ticket_free(ticket);
}

void rlk_ticket_fail(struct rlk_ticket *ticket, enum rlk_fault fault,
		     const struct rowlock_errinfo *error)
{
	ticket->fault = fault;
	ticket->error = *error;
}

void rlk_ticket_fail_unclear(struct rlk_ticket *ticket,
			     const struct rlk_mark *mark,
			     const struct rowlock_errinfo *error)
{
	rlk_ticket_fail(ticket, RLK_UNKNOWN, error);
	ticket->mark = *mark;
	/* A timeout has set no error so far. */
	if (!error->code)
		rlk_fail_no_answer(ticket->hold->name->client, 0,
				   &ticket->error);
}
