/* SPDX-License-Identifier: MIT */
/*
 * Breaking a row hold. See row_break.h for the way.
 *
 * The kill is by connection number, as the hold is another client's, whose mark
 * we do not know. Between the look and the KILL the holder may release, and its
 * connection lock something else. So the KILL looks once more, in the same
 * text, whether that connection is in the way of ours. A KILL that is delivered
 * late finds ours gone, and kills nothing. A gap of 100 ms remains, by which
 * MariaDB's tables may be behind. Breaking is for people, who have decided that
 * this holder must go.
 *
 * A KILL that kills nothing proves nothing: ours may have stopped waiting, as
 * it does after a second, or by another's KILL QUERY. Then only our own lock of
 * the row proves that the hold is over.
 */
#include "strategy/row_break.h"

#include <inttypes.h>

#include "base/error.h"
#include "db/packet.h"
#include "db/server.h"

/* The lock tables are a copy that is at most 100 ms old (MariaDB manual,
 * "Information Schema INNODB_LOCK_WAITS Table"), so look some times. */
#define LOOKS 5

static enum rlk_fault bait_row(struct rlk_conn *bait, const char *name,
			       const struct rlk_stmt_def *def, bool *ret_free,
			       struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_text(name) };
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_stmt_run(bait, def, params, &reply, reterr);

	*ret_free = fault == RLK_DONE;
	return fault == RLK_BUSY ? RLK_DONE : fault;
}

/* @holder: the connection that has it; 0: this account is not told. */
static enum rlk_fault explain(enum rlk_fault fault, const struct rlk_conn *conn,
			      uint64_t holder, struct rowlock_errinfo *reterr)
{
	const char *server = rlk_conn_server(conn)->name;

	if (fault != RLK_REFUSED || !reterr)
		return fault;
	if (holder)
		rlk_fail_db(reterr, ROWLOCK_EUNSUPPORTED, reterr->mysql,
			    "connection %" PRIu64 " of %s holds it, which this "
			    "account may not end (error %u). A DBA can: "
			    "KILL %" PRIu64,
			    holder, server, reterr->mysql, holder);
	else
		rlk_fail_db(reterr, ROWLOCK_EUNSUPPORTED, reterr->mysql,
			    "which connection of %s holds it this account is "
			    "not told (error %u). One that is, and may end it "
			    "(sql/grants.sql), can break it: "
			    "rowlock break -s row",
			    server, reterr->mysql);
	return fault;
}

static enum rlk_fault renumbered(const struct rlk_conn *conn, uint64_t holder,
				 struct rowlock_errinfo *reterr)
{
	rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
		 "connection %" PRIu64 " of %s holds it, and what is between "
		 "here and there has its own numbers for connections, so none "
		 "is ended by its number. Connect to the server itself, or "
		 "there: KILL %" PRIu64,
		 holder, rlk_conn_server(conn)->name, holder);
	return RLK_REFUSED;
}

/* The connection to kill, and the one that waits for it. */
struct blocked {
	uint64_t bait;
	uint64_t holder;
};

static void write_blocked(const void *rows, size_t row,
			  struct rlk_value *ret_values)
{
	const struct blocked *blocked = (const struct blocked *) rows + row;

	ret_values[0] = rlk_u64(blocked->bait);
	ret_values[1] = rlk_u64(blocked->holder);
}

/* Was there a connection in the way of ours, when the KILL looked? */
static enum rlk_fault was_chosen(struct rlk_conn *conn, bool *ret_chosen,
				 struct rowlock_errinfo *reterr)
{
	static const struct rlk_stmt_def chosen = {
		"look who was in the way",
		"SELECT CAST(@rowlock_holder AS UNSIGNED)",
		.once = true,
	};
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &chosen, NULL, &reply, reterr);

	if (!fault)
		*ret_chosen = reply.has_row && reply.columns[0].u64;
	return fault;
}

/* *@ret_ended: it is ended, or has ended by itself. */
static enum rlk_fault kill(struct rlk_conn *conn, const struct blocked *blocked,
			   bool *ret_ended, struct rowlock_errinfo *reterr)
{
	static const struct rlk_many_def kill_it = {
		"kill",
		"KILL CONNECTION @rowlock_holder",
	};
	const struct rlk_dialect *dialect = rlk_conn_dialect(conn);
	struct rlk_packet *packet = rlk_packet_begin(conn);
	enum rlk_fault fault;

	if (!packet ||
	    rlk_packet_add(packet, dialect->row_choose_blocker, write_blocked,
			   blocked, 1) < 0 ||
	    rlk_packet_add(packet, &kill_it, NULL, NULL, 0) < 0)
		return rlk_fail_memory(reterr);
	fault = rlk_packet_run(packet, reterr);
	*ret_ended = !fault;
	/* 1094: it went by itself meanwhile, and the hold with it; or none was
	 * chosen. */
	return fault == RLK_REFUSED && reterr->mysql == 1094
		   ? was_chosen(conn, ret_ended, reterr)
		   : fault;
}

/* The answer of @bait, if it comes soon. */
static enum rlk_fault hear(struct rlk_conn *bait, bool *ret_free,
			   struct rowlock_errinfo *reterr)
{
	struct rlk_reply reply;
	enum rlk_fault fault;

	rlk_conn_set_until(bait, rlk_conn_now(bait) + 110);
	fault = rlk_stmt_resume(bait, &reply, reterr);
	*ret_free = fault == RLK_DONE;
	return fault;
}

/* Who is in the way of @bait, which waits? 0: not seen. */
static enum rlk_fault find(struct rlk_conn *conn, uint64_t bait,
			   uint64_t *ret_id, struct rowlock_errinfo *reterr)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(conn);
	const struct rlk_value params[] = { rlk_u64(bait) };
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, dialect->row_blocker, params, &reply, reterr);

	if (!fault)
		*ret_id = reply.has_row ? reply.columns[0].u64 : 0;
	return fault;
}

enum rlk_fault rlk_row_break(struct rlk_conn *conn, struct rlk_conn *bait,
			     const char *name, bool *ret_found,
			     struct rowlock_errinfo *reterr)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(conn);
	struct blocked blocked = { .bait = rlk_conn_id(bait) };
	enum rlk_fault fault;
	bool ended, free;

	fault = bait_row(bait, name, dialect->row_try, &free, reterr);
	if (fault)
		return fault;
	*ret_found = !free;
	if (free)
		return RLK_DONE;
	/* It waits; we look meanwhile, and leave its answer alone. */
	rlk_conn_interrupt(bait);
	fault = bait_row(bait, name, dialect->row_wait, &free, reterr);
	for (int i = 0; fault == RLK_PENDING && !blocked.holder && i < LOOKS;
	     i++) {
		enum rlk_fault looked =
		    find(conn, blocked.bait, &blocked.holder, reterr);

		if (looked)
			return explain(looked, conn, 0, reterr);
		if (!blocked.holder)
			fault = hear(bait, &free, reterr);
	}
	if (blocked.holder && !rlk_conn_may_kill(conn))
		return renumbered(conn, blocked.holder, reterr);
	if (blocked.holder) {
		fault = kill(conn, &blocked, &ended, reterr);
		if (fault || ended)
			return explain(fault, conn, blocked.holder, reterr);
		fault = hear(bait, &free, reterr);
	}
	if (fault == RLK_DONE && free)
		return RLK_DONE; /* it was released meanwhile */
	if (fault != RLK_DONE && fault != RLK_PENDING && fault != RLK_BUSY)
		return fault; /* and @reterr says why */
	rlk_fail(reterr, ROWLOCK_EDB,
		 "%s does not show who holds it; try again",
		 rlk_conn_server(conn)->name);
	return RLK_REFUSED;
}
