// SPDX-License-Identifier: MIT
/*
 * Finding the rule for a message, and carrying it out.
 *
 * The first rule that fits is carried out, the others do not see the message.
 * A message that no rule is for is passed on as it is.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* splitmix64: small, and the same everywhere. */
static uint64_t draw(struct proxy *proxy)
{
	uint64_t z = proxy->random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static struct rule *find(struct proxy *proxy, const struct spot *spot)
{
	struct rule *rule = proxy->rules;

	while (rule && !rule_fits(rule, spot, draw(proxy)))
		rule = rule->next;
	return rule;
}

static void acted(struct proxy *proxy, const struct rule *rule,
		  const struct link *link, const struct message *message)
{
	static const char *const places[] = { "connect", "request", "reply" };
	char kind[32];

	snprintf(kind, sizeof(kind), "%s-%s", rule_act_name(rule->act),
		 places[rule->place]);
	record_fault(proxy, kind, rule_then_name(rule->then), link, message);
	proxy->counts.acts++;
	proxy->counts.harms += rule->act != ACT_PASS;
	pthread_cond_broadcast(&proxy->acted);
}

/* ------------------------------------------------------------- messages */

static struct chunk *pass(struct link *link, const struct message *message)
{
	if (message->side == REQUEST && !wire_sent(&link->wire, message))
		abort();
	return link_push(link, message->side, message->bytes, message->size);
}

/* What ends a connection waits until the client has got what came before. */
static void then(struct link *link, enum then how)
{
	if (link->out[REPLY])
		link_push(link, REPLY, NULL, 0)->then = how;
	else
		link_then(link, how);
}

static void cut(struct link *link, const struct message *message,
		const struct rule *rule)
{
	struct message part = *message;

	if (rule->byte < part.size)
		part.size = rule->byte;
	pass(link, &part)->then = rule->then;
}

static void hold(struct link *link, const struct message *message,
		 const struct rule *rule)
{
	struct chunk *chunk = pass(link, message);

	chunk->due_ms = rule->ms < 0 ? LINK_NEVER : link_now() + rule->ms;
	link->zombie = true;
	then(link, rule->then);
}

static void garble(struct proxy *proxy, struct link *link,
		   const struct message *message, const struct rule *rule)
{
	struct chunk *chunk = pass(link, message);
	size_t from = rule->header ? 0 : WIRE_HEADER;
	unsigned long bytes = rule->bytes ? rule->bytes : 1;

	while (bytes-- > 0 && chunk->size > from) {
		uint64_t random = draw(proxy);

		chunk->bytes[from + random % (chunk->size - from)] ^=
		    (uint8_t) (1 + (random >> 32) % 255);
	}
}

static void duplicate(struct link *link, const struct message *message)
{
	struct message copy = *message;

	pass(link, message);
	/* It is executed, but the client does not know of it. */
	copy.copy = message->side == REQUEST;
	pass(link, &copy);
}

static void error(struct link *link, const struct message *message,
		  const struct rule *rule)
{
	uint8_t packet[512];
	size_t size =
	    wire_error(message, rule->code, rule->state ? rule->state : "HY000",
		       rule->text ? rule->text : "by the proxy's rule", packet,
		       sizeof(packet));

	link_push(link, REPLY, packet, size)->then = rule->then;
}

static void carry_out(struct proxy *proxy, const struct rule *rule,
		      struct link *link, const struct message *message)
{
	struct chunk *chunk;

	switch (rule->act) {
	case ACT_PASS:
		pass(link, message);
		break;
	case ACT_DELAY:
		pass(link, message)->due_ms = link_now() + rule->ms;
		break;
	case ACT_DROP:
		then(link, rule->then);
		break;
	case ACT_HOLD:
		hold(link, message, rule);
		break;
	case ACT_CUT:
		cut(link, message, rule);
		break;
	case ACT_DRIBBLE:
		chunk = pass(link, message);
		chunk->pace_ms = rule->ms;
		chunk->step = rule->bytes ? rule->bytes : 1;
		break;
	case ACT_GARBLE:
		garble(proxy, link, message, rule);
		break;
	case ACT_DUPLICATE:
		duplicate(link, message);
		break;
	case ACT_ERROR:
		error(link, message, rule);
		break;
	case ACT_SWITCH:
		pass(link, message);
		act_switch(proxy, rule->server, rule->keep);
	}
}

/* Replies that never reach the client; true: it is done with. */
static bool is_ours(struct link *link, const struct message *message)
{
	if (message->side != REPLY)
		return false;
	if (link->zombie) {
		/* The held request has been answered. A client that is there,
		 * in silence, keeps its session until it ends it. */
		link->zombie = link->wire.pending;
		if (!link->zombie && link->fd[REQUEST] < 0)
			link_close(link, REPLY, false);
		return true;
	}
	return message->copy;
}

static void look_for_beat(struct proxy *proxy, const struct link *link,
			  const struct message *message)
{
	if (strncmp(message->sql, "UPDATE lease_session SET expires_at",
		    strlen("UPDATE lease_session SET expires_at")) == 0 &&
	    strcmp(message->command, "execute") == 0)
		record_beat(proxy,
			    !link->wire.failed && link->wire.affected == 1);
}

void act_on_message(struct proxy *proxy, struct link *link,
		    const struct message *message)
{
	const struct rule *rule;
	struct spot spot = {
		.conn = link->number,
		.at = ++link->at[message->side],
		.command = message->command,
		.sql = message->sql,
	};

	if (message->side == REQUEST) {
		spot.place = AT_REQUEST;
		spot.all = ++proxy->counts.requests;
		record_request(proxy, link, message);
	} else {
		spot.place = AT_REPLY;
		spot.all = ++proxy->counts.replies;
		look_for_beat(proxy, link, message);
	}
	if (is_ours(link, message))
		return;
	rule = find(proxy, &spot);
	if (!rule) {
		pass(link, message);
		return;
	}
	acted(proxy, rule, link, message);
	carry_out(proxy, rule, link, message);
}

/* ---------------------------------------------------------- connections */

static void greet_badly(struct proxy *proxy, const struct rule *rule,
			struct link *link)
{
	switch (rule->act) {
	case ACT_DELAY:
		link->greet_ms = link_now() + rule->ms;
		break;
	case ACT_DROP:
		link_close(link, REPLY, false);
		link_then(link, rule->then);
		break;
	case ACT_ERROR:
		link_close(link, REPLY, false);
		error(link, NULL, rule);
		link_push(link, REPLY, NULL, 0)->then = THEN_FIN;
		break;
	default:
		break;
	}
	(void) proxy;
}

void act_on_connect(struct proxy *proxy, int client)
{
	struct link *link = link_new(client, -1);
	const struct rule *rule;
	struct spot spot = { .place = AT_CONNECT, .command = "", .sql = "" };

	spot.conn = link->number = ++proxy->next_link;
	spot.at = 1;
	spot.all = ++proxy->counts.connections;
	rule = find(proxy, &spot);
	if (rule) {
		acted(proxy, rule, link, NULL);
		if (rule->act == ACT_SWITCH)
			act_switch(proxy, rule->server, rule->keep);
	}
	link->next = proxy->links;
	proxy->links = link;
	proxy->counts.links++;
	link->fd[REPLY] = address_connect(&proxy->server_at);
	if (rule)
		greet_badly(proxy, rule, link);
	else if (link->fd[REPLY] < 0)
		link_then(link, THEN_RST);
}

void act_end_all(struct proxy *proxy, enum then how)
{
	struct link *link;

	for (link = proxy->links; link; link = link->next) {
		link->zombie = false;
		link_then(link, how);
	}
}

bool act_switch(struct proxy *proxy, const char *text, bool keep)
{
	struct address address;

	if (!address_parse(text, &address))
		return false;
	proxy->server_at = address;
	snprintf(proxy->server, sizeof(proxy->server), "%s", text);
	if (!keep)
		act_end_all(proxy, THEN_RST);
	return true;
}
