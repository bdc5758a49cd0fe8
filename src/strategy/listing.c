/* SPDX-License-Identifier: MIT */
/*
 * The lists. Leases come with their session and token; a row's holder is known
 * to the server alone.
 */
#include "strategy/listing.h"

#include "db/packet.h"
#include "db/server.h"
#include "strategy/candidate.h"
#include "strategy/page.h"
#include "strategy/sides.h"

/* The columns of a lease behind its name. The last: its session is a keep,
 * which has another one in `breaks`, and that is gone (strategy/keep.c). */
#define LEASE_COLUMNS                                                          \
	" l.slot, l.info, l.session, l.attempt, l.acquired_at,"                \
	" TIMESTAMPDIFF(MICROSECOND, l.acquired_at, UTC_TIMESTAMP(6)),"        \
	" TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), s.expires_at),"         \
	" TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_at),"         \
	" s.host, s.pid, s.program, t.token, t.drawn_at, t.attempt,"           \
	" s.breaks > 4294967295 AND NOT EXISTS (SELECT 1 FROM lease_session c" \
	" WHERE c.id = s.breaks AND c.expires_at > UTC_TIMESTAMP(6))"

/* The first page is of names above ''. Receipts are below it, as the collation
 * pads with blanks (MySQL manual, "Collation Pad Attributes"). */
static const struct rlk_stmt_def leases = {
	"list leases",
	"SELECT l.name," LEASE_COLUMNS
	" FROM business_lease l LEFT JOIN lease_session s ON s.id = l.session"
	" LEFT JOIN lock_token t ON t.strategy = 'lease' AND t.name = l.name"
	" WHERE l.name LIKE ? ESCAPE '!'"
	" AND (l.name > ? OR (l.name = ? AND l.slot >= ?))"
	" ORDER BY l.name, l.slot LIMIT ?",
};

/* The names come from a table of their own, so that a name without any row also
 * makes one. */
static const struct rlk_many_def names_known = {
	"watch",
	"SELECT v.n," LEASE_COLUMNS
	", (SELECT f.token FROM lock_token_floor f WHERE f.id = 1)"
	" FROM ({SELECT ?0 COLLATE utf8mb4_bin AS n| UNION ALL }) v"
	" LEFT JOIN business_lease l ON l.name = v.n AND l.slot = 0"
	" LEFT JOIN lease_session s ON s.id = l.session"
	" LEFT JOIN lock_token t ON t.strategy = 'lease' AND t.name = v.n",
};

static const struct rlk_stmt_def rows = {
	"list rows",
	"SELECT l.name, l.info, t.token FROM business_lock l"
	" LEFT JOIN lock_token t ON t.strategy = 'row' AND t.name = l.name"
	" WHERE l.name LIKE ? ESCAPE '!' AND (l.name > ? OR ? = 1)"
	" ORDER BY l.name LIMIT ?",
};

/* Microseconds, perhaps negative or NULL, as milliseconds from 0. */
static uint64_t ms_of(const struct rlk_value *value)
{
	return value->i64 < 0 ? 0 : (uint64_t) value->i64 / 1000;
}

/* The same before 0, for what is over; a part of one counts. */
static uint64_t ms_over(const struct rlk_value *value)
{
	return value->i64 >= 0 ? 0 : (-(uint64_t) value->i64 + 999) / 1000;
}

/* The lease ends with its session or with its own maximum. */
static uint64_t remaining(const struct rlk_value *session,
			  const struct rlk_value *maximum)
{
	uint64_t left = ms_of(session);

	if (maximum->type != RLK_NULL && ms_of(maximum) < left)
		left = ms_of(maximum);
	return left;
}

/* Since the first of them. For a session whose row is gone it is unknown. */
static uint64_t expired(const struct rlk_value *session,
			const struct rlk_value *maximum)
{
	uint64_t a = ms_over(session), b = ms_over(maximum);

	return a > b ? a : b;
}

/* As in the view lock_status. */
static enum rowlock_kind kind_of(unsigned int slot)
{
	if (slot == 0)
		return ROWLOCK_KIND_LOCK;
	if (slot == RLK_SLOT_WRITER)
		return ROWLOCK_KIND_WRITER;
	if (slot > RLK_SLOT_WRITER)
		return ROWLOCK_KIND_READER;
	return rlk_candidate_has_slot(slot) ? ROWLOCK_KIND_CANDIDATE
					    : ROWLOCK_KIND_PERMIT;
}

static enum rowlock_state state_of(const struct rowlock_entry *entry, bool kept)
{
	if (!entry->remaining_ms)
		return ROWLOCK_STATE_DEAD;
	if (kept)
		return ROWLOCK_STATE_KEPT;
	return entry->kind == ROWLOCK_KIND_CANDIDATE ? ROWLOCK_STATE_WAITING
						     : ROWLOCK_STATE_HELD;
}

/* The token is the hold's if that has drawn it. */
static struct rowlock_entry lease_entry(const struct rlk_value *columns)
{
	const struct rlk_value *attempt = &columns[4];
	const struct rlk_value *drawn_by = &columns[14];
	bool own = attempt->type != RLK_NULL && drawn_by->type != RLK_NULL &&
		   attempt->u64 == drawn_by->u64;
	struct rowlock_entry entry = {
		.size = sizeof(entry),
		.strategy = ROWLOCK_LEASE,
		.name = columns[0].text,
		.slot = (unsigned int) columns[1].u64,
		.info = columns[2].text,
		.session = columns[3].u64,
		.attempt = attempt->u64,
		.acquired_at = columns[5].text,
		.held_ms = ms_of(&columns[6]),
		.remaining_ms = remaining(&columns[7], &columns[8]),
		.expired_ms = expired(&columns[7], &columns[8]),
		.host = columns[9].text,
		.pid = (unsigned int) columns[10].u64,
		.program = columns[11].text,
		.token = own ? columns[12].u64 : 0,
		.drawn_at = own ? columns[13].text : "",
		.last_token = columns[12].u64,
	};

	entry.kind = kind_of(entry.slot);
	entry.state = attempt->type == RLK_NULL
			  ? ROWLOCK_STATE_FREE
			  : state_of(&entry, columns[15].u64 == 1);
	return entry;
}

static void lease_row(const struct rlk_value *columns, void *arg)
{
	struct rlk_listing *listing = arg;
	const struct rowlock_entry entry = lease_entry(columns);

	if (rlk_page_note(&listing->page, entry.name, entry.slot))
		rlk_listing_tell(listing, &entry);
}

enum rlk_fault rlk_list_leases(struct rlk_conn *conn,
			       struct rlk_listing *listing,
			       struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = RLK_DONE;
	struct rlk_page from;

	if (rlk_page_turn(&listing->page, &from)) {
		const struct rlk_value params[] = {
			rlk_text(listing->like), rlk_text(from.name),
			rlk_text(from.name),     rlk_u64(from.slot),
			rlk_u64(from.limit),
		};

		fault = rlk_stmt_each(conn, &leases, params, lease_row, listing,
				      reterr);
	}
	return fault;
}

static void name_row(const struct rlk_value *columns, void *arg)
{
	const struct rlk_listing *listing = arg;
	struct rowlock_entry entry = lease_entry(columns);

	entry.collected = columns[16].u64;
	listing->fn(&entry, listing->arg);
}

static void value_of_name(const void *names, size_t row,
			  struct rlk_value *ret_values)
{
	ret_values[0] = rlk_text(((const char *const *) names)[row]);
}

enum rlk_fault rlk_list_names(struct rlk_conn *conn, const char *const *names,
			      size_t count, rowlock_list_fn fn, void *arg,
			      struct rowlock_errinfo *reterr)
{
	struct rlk_packet *packet = rlk_packet_begin(conn);
	struct rlk_listing listing = {
		.fn = fn,
		.arg = arg,
		.page.limit = (unsigned int) count,
	};
	enum rlk_fault fault;

	if (!packet || rlk_packet_add(packet, &names_known, value_of_name,
				      names, count) < 0)
		return rlk_fail_memory(reterr);
	fault = rlk_packet_run(packet, reterr);
	if (!fault)
		rlk_packet_each(packet, 0, name_row, &listing);
	return fault;
}

static enum rowlock_state state_of_row(const struct rlk_row_holders *holders,
				       const struct rlk_row_holder *holder)
{
	if (holder)
		return ROWLOCK_STATE_HELD;
	return holders && holders->complete ? ROWLOCK_STATE_FREE
					    : ROWLOCK_STATE_UNKNOWN;
}

static void row_row(const struct rlk_value *columns, void *arg)
{
	struct rlk_listing *listing = arg;
	const char *name = columns[0].text;
	const struct rlk_row_holder *holder =
	    listing->holders ? rlk_row_holders_find(listing->holders, name)
			     : NULL;
	const struct rowlock_entry entry = {
		.size = sizeof(entry),
		.strategy = ROWLOCK_ROW,
		.state = state_of_row(listing->holders, holder),
		.name = name,
		.info = columns[1].text,
		.host = holder ? holder->host : "",
		.program = "",
		.acquired_at = holder ? holder->since : "",
		.held_ms = holder ? holder->held_ms : 0,
		.drawn_at = "",
		.token = columns[2].u64,
		.last_token = columns[2].u64,
		.connection = holder ? holder->connection : 0,
	};

	if (rlk_page_note(&listing->page, entry.name, 0))
		rlk_listing_tell(listing, &entry);
}

enum rlk_fault rlk_list_rows(struct rlk_conn *conn, struct rlk_listing *listing,
			     struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = RLK_DONE;
	struct rlk_page from;

	if (rlk_page_turn(&listing->page, &from)) {
		const struct rlk_value params[] = {
			rlk_text(listing->like),
			rlk_text(from.name),
			rlk_u64(from.first),
			rlk_u64(from.limit),
		};

		fault = rlk_stmt_each(conn, &rows, params, row_row, listing,
				      reterr);
	}
	return fault;
}

struct probing {
	void (*fn)(const char *name, void *arg);
	void *arg;
	struct rlk_page page;
};

static void probe_row(const struct rlk_value *columns, void *arg)
{
	struct probing *probing = arg;

	if (rlk_page_note(&probing->page, columns[0].text, 0))
		probing->fn(columns[0].text, probing->arg);
}

enum rlk_fault rlk_list_free_rows(struct rlk_conn *conn, const char *like,
				  const struct rlk_page *begin,
				  const char *last,
				  void (*fn)(const char *name, void *arg),
				  void *arg, struct rowlock_errinfo *reterr)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(conn);
	struct probing probing = { fn, arg, *begin };
	enum rlk_fault fault = RLK_DONE;
	struct rlk_page from;

	while (!fault && rlk_page_turn(&probing.page, &from)) {
		const struct rlk_value params[] = {
			rlk_text(like),      rlk_text(from.name),
			rlk_u64(from.first), rlk_text(last),
			rlk_u64(from.limit),
		};

		fault = rlk_stmt_each(conn, dialect->row_probe, params,
				      probe_row, &probing, reterr);
	}
	return fault;
}
