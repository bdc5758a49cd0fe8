/* SPDX-License-Identifier: MIT */
/*
 * Sessions, sweeps and the reaper's looks over the model's tables. What lists
 * for people say is not modelled: nothing in core depends on it.
 */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "strategy/duty.h"
#include "strategy/listing.h"
#include "strategy/reap.h"
#include "strategy/receipt.h"
#include "strategy/row_break.h"
#include "strategy/session_row.h"
#include "strategy/sweep.h"
#include "test.h"

unsigned int fake_leases_listed;
unsigned int fake_rows_listed;
unsigned int fake_leases_lied;

enum rlk_fault rlk_session_open(struct rlk_conn *conn,
				const struct rlk_session_row *row,
				struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_OPEN, .conn = conn };

	if (world_begin(&op, &(struct fake_call){ .id = row->id }))
		world_insert_session(row->id, row->ttl_ms);
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_session_beat(struct rlk_conn *conn,
				const struct rlk_session_row *row,
				struct rlk_beat *ret_beat,
				struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_BEAT, .conn = conn };

	*ret_beat = (struct rlk_beat){
		.server_us = fake_now() * 1000 + fake_skew_us,
	};
	if (world_begin(&op, &(struct fake_call){ .id = row->id })) {
		struct world_session *session = world_session(row->id);

		if (session) {
			session->beat++;
			ret_beat->alive = true;
			ret_beat->breaks = session->breaks;
		}
	}
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_session_look(struct rlk_conn *conn, uint64_t id,
				bool *ret_found, uint64_t *ret_beat,
				struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_SESSION_LOOK, .conn = conn };
	const struct world_session *session = NULL;

	if (world_begin(&op, &(struct fake_call){ .id = id }))
		session = world_session(id);
	*ret_found = session;
	*ret_beat = session ? session->beat : 0;
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_session_breaks(struct rlk_conn *conn, uint64_t id,
				  bool *ret_found, uint64_t *ret_breaks,
				  struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_SESSION_BREAKS, .conn = conn };
	const struct world_session *session = NULL;

	if (world_begin(&op, &(struct fake_call){ .id = id }))
		session = world_session(id);
	*ret_found = session;
	*ret_breaks = session ? session->breaks : 0;
	return world_fault(&op, RLK_DONE, reterr);
}

static enum rlk_fault drop_session(struct world_op *op, uint64_t id,
				   bool (*may)(const struct world_session *,
					       uint64_t),
				   uint64_t arg, bool *ret_dropped,
				   struct rowlock_errinfo *reterr)
{
	*ret_dropped = false;
	if (world_begin(op, &(struct fake_call){ .id = id })) {
		struct world_session *session = world_session(id);

		if (session && (!may || may(session, arg))) {
			session->id = 0;
			*ret_dropped = true;
		}
	}
	return world_fault(op, RLK_DONE, reterr);
}

enum rlk_fault rlk_session_close(struct rlk_conn *conn, uint64_t id,
				 struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_CLOSE, .conn = conn };
	bool dropped;

	return drop_session(&op, id, NULL, 0, &dropped, reterr);
}

static bool is_expired(const struct world_session *session, uint64_t arg)
{
	(void) arg;
	return session->expired;
}

static bool is_silent(const struct world_session *session, uint64_t beat)
{
	return session->beat == beat;
}

enum rlk_fault rlk_session_evict_expired(struct rlk_conn *conn, uint64_t id,
					 bool *ret_evicted,
					 struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_EVICT_EXPIRED, .conn = conn };

	return drop_session(&op, id, is_expired, 0, ret_evicted, reterr);
}

enum rlk_fault rlk_session_evict_silent(struct rlk_conn *conn, uint64_t id,
					uint64_t beat, bool *ret_evicted,
					struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_EVICT_SILENT, .conn = conn };

	return drop_session(&op, id, is_silent, beat, ret_evicted, reterr);
}

static enum rlk_fault sweep(struct world_op *op,
			    const struct rlk_request *request,
			    bool (*may)(const struct world_lease *),
			    bool *ret_swept, struct rowlock_errinfo *reterr)
{
	struct fake_call call = { .attempt = request->attempt };

	snprintf(call.name, sizeof(call.name), "%s", request->name);
	*ret_swept = false;
	if (world_begin(op, &call)) {
		struct world_lease *lease = world_lease(request->name);

		if (lease && lease->attempt == request->attempt && may(lease)) {
			lease->attempt = 0;
			*ret_swept = true;
		}
	}
	return world_fault(op, RLK_DONE, reterr);
}

static bool is_dead(const struct world_lease *lease)
{
	return !world_session(lease->session);
}

static bool is_over(const struct world_lease *lease)
{
	return lease->max_until_ms <= fake_now();
}

enum rlk_fault rlk_lease_sweep_dead(struct rlk_conn *conn,
				    const struct rlk_request *request,
				    bool *ret_swept,
				    struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_SWEEP_DEAD, .conn = conn };

	return sweep(&op, request, is_dead, ret_swept, reterr);
}

/* The model's names have one lease each. */
enum rlk_fault rlk_sweep_name(struct rlk_conn *conn, const char *name,
			      uint64_t *ret_swept,
			      struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_SWEEP_DEAD, .conn = conn };
	const struct world_lease *lease = world_lease(name);
	const struct rlk_request request = {
		.name = name,
		.attempt = lease ? lease->attempt : 0,
	};
	bool swept;
	enum rlk_fault fault = sweep(&op, &request, is_dead, &swept, reterr);

	*ret_swept = swept;
	return fault;
}

enum rlk_fault rlk_lease_sweep_expired(struct rlk_conn *conn,
				       const struct rlk_request *request,
				       bool *ret_swept,
				       struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_SWEEP_EXPIRED, .conn = conn };

	return sweep(&op, request, is_over, ret_swept, reterr);
}

static enum rlk_fault evict_many(struct rlk_conn *conn,
				 const struct rlk_removal *removal,
				 uint64_t *ret_evicted,
				 struct rowlock_errinfo *reterr)
{
	const struct rlk_last_beat *sessions = removal->rows;
	struct world_op op = { .op = FAKE_EVICT_MANY, .conn = conn };
	bool execute =
	    world_begin(&op, &(struct fake_call){ .id = removal->count });

	*ret_evicted = 0;
	for (size_t i = 0; execute && i < removal->count; i++) {
		struct world_session *session = world_session(sessions[i].id);

		if (!session || !(removal->what == RLK_EVICT_SILENT
				      ? is_silent(session, sessions[i].beat)
				      : is_expired(session, sessions[i].beat)))
			continue;
		session->id = 0;
		(*ret_evicted)++;
	}
	return world_fault(&op, RLK_DONE, reterr);
}

static enum rlk_fault sweep_many(struct rlk_conn *conn,
				 const struct rlk_removal *removal,
				 uint64_t *ret_swept,
				 struct rowlock_errinfo *reterr)
{
	const struct rlk_dead_lease *leases = removal->rows;
	struct world_op op = { .op = FAKE_SWEEP_MANY, .conn = conn };
	struct fake_call call = { .id = removal->count };
	bool execute;

	snprintf(call.name, sizeof(call.name), "%s", leases[0].name);
	execute = world_begin(&op, &call);
	*ret_swept = 0;
	for (size_t i = 0; execute && i < removal->count; i++) {
		struct world_lease *lease = world_lease(leases[i].name);

		if (!lease || lease->attempt != leases[i].attempt ||
		    !is_dead(lease))
			continue;
		lease->attempt = 0;
		(*ret_swept)++;
	}
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_remove_many(struct rlk_conn *conn,
			       const struct rlk_removal *removal,
			       uint64_t *ret_removed,
			       struct rowlock_errinfo *reterr)
{
	return (removal->what == RLK_SWEEP_DEAD ? sweep_many : evict_many)(
	    conn, removal, ret_removed, reterr);
}

/* By itself or by a keep. */
static bool belongs_to(const struct world_lease *lease, uint64_t id)
{
	const struct world_session *session = world_session(lease->session);

	return lease->session == id || (session && session->breaks == id);
}

enum rlk_fault rlk_leases_of(struct rlk_conn *conn, uint64_t id,
			     void (*fn)(uint64_t attempt, void *), void *arg,
			     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_LEASES_OF, .conn = conn };
	uint64_t attempts[TEST_SIZE(world.tables.leases)];
	size_t count = 0;
	enum rlk_fault fault;

	if (world_begin(&op, &(struct fake_call){ .id = id }))
		for (size_t i = 0; i < TEST_SIZE(attempts); i++)
			if (world.tables.leases[i].attempt &&
			    belongs_to(&world.tables.leases[i], id))
				attempts[count++] =
				    world.tables.leases[i].attempt;
	fault = world_fault(&op, RLK_DONE, reterr);
	for (size_t i = 0; !fault && i < count; i++)
		fn(attempts[i], arg);
	for (size_t i = 0; !fault && i < fake_leases_lied; i++)
		fn(i, arg);
	return fault;
}

/* No transaction is tied to a lock here. */
enum rlk_fault rlk_receipts_delete(struct rlk_conn *conn,
				   const uint64_t *attempts, size_t count,
				   struct rowlock_errinfo *reterr)
{
	(void) conn;
	(void) attempts;
	(void) reterr;
	assert_int_equal(count, 0);
	return RLK_DONE;
}

enum rlk_fault rlk_leases_there(struct rlk_conn *conn,
				const struct rlk_lease_key *keys, size_t count,
				void (*fn)(uint64_t attempt, void *), void *arg,
				struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_LEASES_THERE, .conn = conn };
	bool there[TEST_SIZE(world.tables.leases)] = { false };
	enum rlk_fault fault;

	if (world_begin(&op, &(struct fake_call){ .id = count }))
		for (size_t i = 0; i < TEST_SIZE(there); i++)
			for (size_t key = 0; key < count; key++)
				there[i] = there[i] ||
					   world.tables.leases[i].attempt ==
					       keys[key].attempt;
	fault = world_fault(&op, RLK_DONE, reterr);
	for (size_t i = 0; !fault && i < TEST_SIZE(there); i++)
		if (there[i])
			fn(world.tables.leases[i].attempt, arg);
	return fault;
}

/* A look that changes nothing: whether it is answered. */
static enum rlk_fault look(struct rlk_conn *conn, enum fake_op what,
			   const char *name, struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = what, .conn = conn };
	struct fake_call call = { .attempt = 0 };

	snprintf(call.name, sizeof(call.name), "%s", name);
	world_begin(&op, &call);
	return world_fault(&op, RLK_DONE, reterr);
}

/* The smallest id above @after; NULL: none. */
static const struct world_session *session_after(uint64_t after)
{
	const struct world_session *next = NULL;

	for (size_t i = 0; i < TEST_SIZE(world.tables.sessions); i++) {
		const struct world_session *session = &world.tables.sessions[i];

		if (session->id > after && (!next || session->id < next->id))
			next = session;
	}
	return next;
}

enum rlk_fault rlk_sessions_after(struct rlk_conn *conn, uint64_t after,
				  unsigned int batch,
				  void (*fn)(const struct rlk_session_seen *,
					     void *),
				  void *arg, struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = look(conn, FAKE_SESSIONS, "", reterr);

	for (unsigned int i = 0; !fault && i < batch; i++) {
		struct rlk_session_seen seen = { .host = "elsewhere" };
		const struct world_session *session;

		world_lock();
		session = session_after(after);
		if (session) {
			seen.id = session->id;
			seen.beat = session->beat;
			seen.ttl_ms = session->ttl_ms;
			seen.left_us = world_left_us(session);
		}
		world_unlock();
		if (!seen.id)
			return RLK_DONE;
		after = seen.id;
		fn(&seen, arg);
	}
	return fault;
}

static bool comes_after(const struct world_lease *lease, const char *name)
{
	return lease->attempt && strcmp(lease->name, name) > 0 &&
	       (is_dead(lease) || is_over(lease));
}

enum rlk_fault rlk_leases_dead(struct rlk_conn *conn,
			       const struct rlk_lease_cursor *cursor,
			       void (*fn)(const struct rlk_lease_seen *,
					  void *),
			       void *arg, struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = look(conn, FAKE_DEAD, cursor->name, reterr);
	char name[512];

	snprintf(name, sizeof(name), "%s", cursor->name);
	for (unsigned int n = 0; !fault && n < cursor->batch; n++) {
		const struct world_lease *next = NULL;
		struct rlk_lease_seen seen = { .name = name };

		world_lock();
		for (size_t i = 0; i < TEST_SIZE(world.tables.leases); i++) {
			const struct world_lease *lease =
			    &world.tables.leases[i];

			if (comes_after(lease, name) &&
			    (!next || strcmp(lease->name, next->name) < 0))
				next = lease;
		}
		if (next) {
			snprintf(name, sizeof(name), "%s", next->name);
			seen.holder = (struct rlk_holder){
				.known = true,
				.looked = true,
				.attempt = next->attempt,
				.session = next->session,
				.absent = is_dead(next),
				.has_max = next->max_until_ms != RLK_NEVER,
			};
		}
		world_unlock();
		if (!next)
			break;
		fn(&seen, arg);
	}
	return fault;
}

void fake_tokens_forget(void)
{
	world_lock();
	world.tables.token = 0;
	world_unlock();
}

void fake_tokens_old(unsigned int count)
{
	world_lock();
	world.tables.old_tokens = count;
	world_unlock();
}

unsigned int fake_tokens_left(void)
{
	unsigned int count;

	world_lock();
	count = world.tables.old_tokens;
	world_unlock();
	return count;
}

enum rlk_fault rlk_tokens_old(struct rlk_conn *conn, unsigned int batch,
			      void (*fn)(const struct rlk_token_seen *, void *),
			      void *arg, struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = look(conn, FAKE_TOKENS, "", reterr);
	unsigned int count = fake_tokens_left();

	for (unsigned int i = 0; !fault && i < batch && i < count; i++) {
		char name[24];
		const struct rlk_token_seen seen = {
			.strategy = "lease",
			.name = name,
		};

		snprintf(name, sizeof(name), "token %u", i);
		fn(&seen, arg);
	}
	return fault;
}

enum rlk_fault rlk_token_collect(struct rlk_conn *conn,
				 const struct rlk_token_seen *token,
				 uint64_t *floor, bool *ret_collected,
				 struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_DROP_TOKEN, .conn = conn };
	struct fake_call call = { .attempt = 0 };

	snprintf(call.name, sizeof(call.name), "%s", token->name);
	*ret_collected = false;
	if (world_begin(&op, &call) && world.tables.old_tokens) {
		world.tables.old_tokens--;
		if (token->token > *floor)
			*floor = token->token;
		*ret_collected = true;
	}
	return world_fault(&op, RLK_DONE, reterr);
}

/* All on one page. */
static enum rlk_fault tell(enum rlk_fault fault, struct rowlock_entry *entry,
			   unsigned int count, struct rlk_listing *listing)
{
	char name[24];

	entry->name = count ? name : listing->like;
	for (unsigned int i = 0; !fault && i < (count ? count : 1); i++) {
		snprintf(name, sizeof(name), "name %03u", i);
		rlk_listing_tell(listing, entry);
	}
	listing->page.rows = 0;
	return fault;
}

enum rlk_fault rlk_list_leases(struct rlk_conn *conn,
			       struct rlk_listing *listing,
			       struct rowlock_errinfo *reterr)
{
	struct rowlock_entry entry = { .size = sizeof(entry), .info = "" };

	return tell(look(conn, FAKE_LIST, listing->like, reterr), &entry,
		    fake_leases_listed, listing);
}

static struct world_known *known(const char *name)
{
	struct world_known *known = world.tables.known;

	for (size_t i = 0; i < TEST_SIZE(world.tables.known); i++)
		if (strcmp(known[i].name, name) == 0)
			return &known[i];
	return NULL;
}

void fake_know(const char *name, enum rowlock_state state, uint64_t attempt,
	       uint64_t token, uint64_t last_token)
{
	struct world_known *place;

	world_lock();
	place = known(name);
	if (!place)
		place = known("");
	assert_non_null(place);
	*place = (struct world_known){
		.state = state,
		.attempt = attempt,
		.token = token,
		.last_token = last_token,
	};
	snprintf(place->name, sizeof(place->name), "%s", name);
	world_unlock();
}

void fake_collect(uint64_t token)
{
	world_lock();
	world.tables.collected = token;
	world_unlock();
}

static struct rowlock_entry entry_of(const char *name)
{
	struct rowlock_entry entry = {
		.size = sizeof(entry),
		.state = ROWLOCK_STATE_FREE,
		.name = name,
		.info = "info",
		.host = "host",
		.program = "program",
		.acquired_at = "acquired",
		.drawn_at = "drawn",
	};
	const struct world_known *place;

	world_lock();
	entry.collected = world.tables.collected;
	place = known(name);
	if (place) {
		entry.state = place->state;
		entry.attempt = place->attempt;
		entry.token = place->token;
		entry.last_token = place->last_token;
	}
	world_unlock();
	return entry;
}

enum rlk_fault rlk_list_names(struct rlk_conn *conn, const char *const *names,
			      size_t count, rowlock_list_fn fn, void *arg,
			      struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_NAMES, .conn = conn };
	struct fake_call call = { .id = count };
	enum rlk_fault fault;

	snprintf(call.name, sizeof(call.name), "%s", names[0]);
	world_begin(&op, &call);
	fault = world_fault(&op, RLK_DONE, reterr);
	for (size_t i = 0; !fault && i < count; i++) {
		const struct rowlock_entry entry = entry_of(names[i]);

		fn(&entry, arg);
	}
	return fault;
}

enum rlk_fault rlk_list_rows(struct rlk_conn *conn, struct rlk_listing *listing,
			     struct rowlock_errinfo *reterr)
{
	struct rowlock_entry entry = {
		.size = sizeof(entry),
		.strategy = ROWLOCK_ROW,
		.info = "",
	};

	return tell(look(conn, FAKE_LIST_ROWS, listing->like, reterr), &entry,
		    fake_rows_listed, listing);
}

/* Of an account that may not ask. */
enum rlk_fault rlk_row_holders_read(struct rlk_conn *conn,
				    struct rlk_row_holders *ret_holders,
				    struct rowlock_errinfo *reterr)
{
	(void) conn;
	(void) ret_holders;
	(void) reterr;
	return RLK_DONE;
}

const struct rlk_row_holder *rlk_row_holders_find(
    const struct rlk_row_holders *holders, const char *name)
{
	(void) holders;
	(void) name;
	return NULL;
}

void rlk_row_holders_fini(struct rlk_row_holders *holders)
{
	(void) holders;
}

enum rlk_fault rlk_list_free_rows(struct rlk_conn *conn, const char *like,
				  const struct rlk_page *begin,
				  const char *last,
				  void (*fn)(const char *name, void *arg),
				  void *arg, struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = look(conn, FAKE_PROBE, like, reterr);

	(void) begin;
	(void) last;
	if (!fault)
		fn(like, arg);
	return fault;
}

enum rlk_fault rlk_row_break(struct rlk_conn *conn, struct rlk_conn *bait,
			     const char *name, bool *ret_found,
			     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_BREAK_ROW, .conn = conn };
	struct fake_call call = { .attempt = 0 };

	(void) bait;
	snprintf(call.name, sizeof(call.name), "%s", name);
	*ret_found = false;
	if (world_begin(&op, &call) && world_row(name) &&
	    world_row(name)->conn) {
		world_row(name)->conn = 0;
		*ret_found = true;
	}
	return world_fault(&op, RLK_DONE, reterr);
}

void fake_duty_elsewhere(bool goes_on)
{
	world_lock();
	world.tables.duty++;
	world.tables.duty_ms = fake_now();
	world.tables.duty_kept = goes_on;
	world_unlock();
}

static int64_t duty_age_ms(void)
{
	return world.tables.duty_kept ? 0 : fake_now() - world.tables.duty_ms;
}

enum rlk_fault rlk_duty_look(struct rlk_conn *conn, int64_t *ret_age_us,
			     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_DUTY_LOOK, .conn = conn };

	*ret_age_us = INT64_MAX;
	if (world_begin(&op, &(struct fake_call){ .attempt = 0 }) &&
	    world.tables.duty)
		*ret_age_us = duty_age_ms() * 1000;
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_duty_take(struct rlk_conn *conn, uint64_t fresh_ms,
			     uint64_t *ret_number,
			     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_DUTY_TAKE, .conn = conn };
	bool execute = world_begin(&op, &(struct fake_call){ .attempt = 0 });

	*ret_number = 0;
	if (execute &&
	    (!world.tables.duty || duty_age_ms() >= (int64_t) fresh_ms)) {
		*ret_number = ++world.tables.duty;
		world.tables.duty_ms = fake_now();
	}
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_duty_keep(struct rlk_conn *conn, uint64_t number,
			     bool *ret_kept, struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_DUTY_KEEP, .conn = conn };
	bool execute = world_begin(&op, &(struct fake_call){ .id = number });

	*ret_kept = execute && world.tables.duty == number;
	if (*ret_kept)
		world.tables.duty_ms = fake_now();
	return world_fault(&op, RLK_DONE, reterr);
}
