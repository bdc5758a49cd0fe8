/* SPDX-License-Identifier: MIT */
/*
 * Packets as the library sends them. Linked instead of db/packet.c: each row of
 * each statement is a statement that the simulated server knows.
 *
 * Answers come one by one: who does not wait for the end of a packet, or does
 * not live to see it, may have seen some of what was executed by then.
 */
#include "packet.h"

#include <string.h>

#include "db/packet.h"
#include "net.h"
#include "sim.h"

/* A release may need two, and a reaper has all sessions. */
#define MOST 256

void *sim_calloc(size_t count, size_t size);
void sim_free(void *block);

struct sim_packet_counts sim_packet_counts;

struct rlk_packet {
	struct rlk_conn *conn;
	const char *label;
	struct sim_packet parts;
	unsigned int answered; /* statements */
	/* Of the library's memory, which goes with a process that is killed. */
	struct sim_part room[MOST];
};

static struct sim_conn *of(struct rlk_conn *conn)
{
	return container_of(conn, struct sim_conn, base);
}

struct rlk_packet *rlk_packet_begin(struct rlk_conn *conn)
{
	if (!conn->packet)
		conn->packet = sim_calloc(1, sizeof(*conn->packet));
	conn->packet->conn = conn;
	conn->packet->parts = (struct sim_packet){
		.parts = conn->packet->room,
		.room = MOST,
	};
	conn->packet->answered = 0;
	return conn->packet;
}

void rlk_packet_drop(struct rlk_conn *conn)
{
	if (conn->packet)
		sim_free(TAKE_PTR(conn->packet));
}

/* Sets may meet in a packet, but not in a statement. */
static void check_twins(const struct sim_packet *packet,
			const struct sim_part *part)
{
	for (size_t i = 0; &packet->parts[i] < part; i++)
		if (packet->parts[i].op == part->op &&
		    (part->op->verb == SIM_ACQUIRE_LOOKING ||
		     packet->parts[i].statement == part->statement) &&
		    packet->parts[i].params[0].text == part->params[0].text)
			sim_violation("two acquires of '%s' in one packet",
				      part->params[0].text);
}

int rlk_packet_add(struct rlk_packet *packet, const struct rlk_many_def *def,
		   rlk_values_fn fn, const void *rows, size_t count)
{
	const struct sim_many *many = sim_many_of(def);

	if (packet->parts.statements == RLK_PACKET_STATEMENTS || !count != !fn)
		sim_violation("a packet has too many statements, or an empty "
			      "one");
	if (!count)
		sim_packet_grow(&packet->parts)->op = &many->each;
	sim_packet_counts.rows += count;
	for (size_t row = 0; row < count; row++) {
		struct rlk_value values[RLK_PACKET_VALUES] = { { 0 } };
		struct sim_part *part;

		if (packet->parts.count == MOST)
			sim_violation("a packet has more rows than threads");
		part = sim_packet_grow(&packet->parts);
		fn(rows, row, values);
		part->op = &many->each;
		part->returns = many->returns;
		for (size_t i = 0; i < RLK_ARRAY_SIZE(part->params); i++)
			part->params[i] =
			    many->at[i] == SIM_ZERO
				? rlk_u64(0)
				: sim_stmt_param(&values[many->at[i]]);
		if (part->op->verb == SIM_ACQUIRE_LOOKING ||
		    part->op->verb == SIM_ACQUIRE_SET)
			check_twins(&packet->parts, part);
	}
	packet->label = def->label;
	return (int) packet->parts.statements++;
}

static void count(const struct sim_packet *parts)
{
	sim_packet_counts.packets++;
	sim_packet_counts.statements += parts->statements;
	sim_packet_counts.mixed += parts->statements > 1;
	if (parts->count > sim_packet_counts.largest)
		sim_packet_counts.largest = parts->count;
}

/* The answers that are here now. */
static void see(struct rlk_packet *packet, enum rlk_fault fault)
{
	const struct sim_packet *there = &of(packet->conn)->session->packet;
	unsigned int seen = there->executed;

	/* It was not sent, or what came was not waited for. */
	if (fault == RLK_FAILED)
		return;
	if (fault == RLK_PENDING || fault == RLK_UNKNOWN) {
		seen = (unsigned int) sim_between(packet->answered,
						  there->executed);
		sim_packet_counts.halves += seen > packet->answered;
	}
	packet->answered = seen;
	for (size_t i = 0; i < packet->parts.count; i++)
		if (packet->parts.parts[i].statement < seen)
			packet->parts.parts[i] = there->parts[i];
}

enum rlk_fault rlk_packet_run(struct rlk_packet *packet,
			      struct rowlock_errinfo *reterr)
{
	struct rlk_conn *conn = packet->conn;
	struct sim_packet *there = &of(conn)->session->packet;
	enum rlk_fault fault = sim_stmt_begin(conn, packet->label, reterr);

	if (fault)
		return fault;
	if (!packet->parts.count)
		sim_violation("an empty packet is sent");
	there->count = 0;
	for (size_t i = 0; i < packet->parts.count; i++)
		*sim_packet_grow(there) = packet->parts.parts[i];
	there->statements = packet->parts.statements;
	there->executed = 0;
	there->next = 0;
	count(there);
	sim_publish(of(conn)->session);
	fault = sim_stmt_send(conn, there->parts[0].op, true, reterr);
	see(packet, fault);
	return fault;
}

enum rlk_fault rlk_packet_resume(struct rlk_packet *packet,
				 struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = sim_stmt_await(of(packet->conn), reterr);

	see(packet, fault);
	return fault;
}

size_t rlk_packet_answered(const struct rlk_packet *packet)
{
	return packet->answered;
}

/* No row that is met is changed. */
uint64_t rlk_packet_made(const struct rlk_packet *packet, int statement)
{
	return rlk_packet_affected(packet, statement);
}

uint64_t rlk_packet_affected(const struct rlk_packet *packet, int statement)
{
	uint64_t affected = 0;

	for (size_t i = 0; i < packet->parts.count; i++)
		if (packet->parts.parts[i].statement == (unsigned) statement)
			affected += packet->parts.parts[i].affected;
	return affected;
}

uint64_t rlk_packet_insert_id(const struct rlk_packet *packet, int statement)
{
	uint64_t id = 0;

	for (size_t i = 0; i < packet->parts.count; i++)
		if (packet->parts.parts[i].statement == (unsigned) statement)
			id = packet->parts.parts[i].insert_id;
	return id;
}

/* One row for all of them. */
static bool tell_count(struct rlk_packet *packet, int statement, rlk_row_fn fn,
		       void *arg)
{
	struct rlk_value sum = rlk_u64(0);
	bool counts = false;

	for (size_t i = 0; i < packet->parts.count; i++) {
		const struct sim_part *part = &packet->parts.parts[i];

		if (part->statement != (unsigned) statement ||
		    (part->op->verb != SIM_COUNT &&
		     part->op->verb != SIM_COUNT_LIVE))
			continue;
		counts = true;
		sum.u64 += part->affected;
	}
	if (counts)
		fn(&sum, arg);
	return counts;
}

/* Of some statements several, side by side. */
static void tell_rows(const struct sim_part *part, rlk_row_fn fn, void *arg)
{
	enum sim_verb verb = part->op->verb;
	uint64_t columns = verb == SIM_AHEAD         ? 2
			   : verb == SIM_LOOK_READER ? 8
						     : 0;

	if (!columns)
		fn(part->cells, arg);
	for (uint64_t row = 0; columns && row < part->affected; row++)
		fn(&part->cells[columns * row], arg);
}

void rlk_packet_each(struct rlk_packet *packet, int statement, rlk_row_fn fn,
		     void *arg)
{
	if (tell_count(packet, statement, fn, arg))
		return;
	for (size_t i = 0; i < packet->parts.count; i++) {
		struct sim_part *part = &packet->parts.parts[i];

		if (part->statement != (unsigned) statement || !part->has_row)
			continue;
		if (part->op->verb == SIM_LOOK)
			part->cells[7] = part->params[0];
		tell_rows(part, fn, arg);
	}
}
