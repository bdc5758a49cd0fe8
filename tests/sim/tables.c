/* SPDX-License-Identifier: MIT */
/*
 * The statements, on tables in memory. Each one happens at one instant; its
 * UTC_TIMESTAMP(6) is the time at which it began, which may be earlier.
 */
#include "tables.h"

#include <string.h>

#include "judge.h"
#include "locks.h"
#include "net.h"
#include "sim.h"
#include "tables_private.h"
#include "trace.h"

struct sim_tables sim_tables;

void sim_tables_begin(void)
{
	memset(&sim_tables, 0, sizeof(sim_tables));
	sim_tables.lease_places = SIM_SINGLES;
	for (unsigned int i = 0; i < SIM_SINGLES; i++) {
		sim_tables.leases[i].name = i % SIM_NAMES;
		sim_tables.leases[i].slot = i < SIM_NAMES ? 0 : RLK_SLOT_WRITER;
	}
	sim_leases_begin();
	sim_offers_begin();
	sim_receipts_begin();
	sim_locks_begin();
	sim_bells_begin();
	for (unsigned int i = 0; i < SIM_NAMES; i++) {
		sim_tables.rows[i].name = i;
		rlk_list_init(&sim_tables.rows[i].line);
	}
}

struct sim_session_row *sim_session_row(uint64_t id)
{
	for (unsigned int i = 0; id && i < sim_tables.session_places; i++)
		if (sim_tables.sessions[i].id == id)
			return &sim_tables.sessions[i];
	return NULL;
}

/* -------------------------------------------------------------- answers */

unsigned int sim_param_name(const struct sim_request *request,
			    unsigned int param)
{
	const struct rlk_value *value = &request->params[param];

	for (unsigned int i = 0; i < SIM_NAMES; i++)
		if (value->text == sim_names[i])
			return i;
	sim_violation("%s: '%s' is no name of this world", request->op->label,
		      value->text);
}

/* ------------------------------------------------------------ sessions */

static void open_session(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_session_row *row = sim_session_row(request->params[0].u64);

	if (row) {
		session->answer.error = 1062;
		return;
	}
	for (unsigned int i = 0; i < sim_tables.session_places && !row; i++)
		if (!sim_tables.sessions[i].id)
			row = &sim_tables.sessions[i];
	if (!row && sim_tables.session_places < SIM_SESSION_ROWS)
		row = &sim_tables.sessions[sim_tables.session_places++];
	if (!row)
		sim_violation("%d sessions are left in the table",
			      SIM_SESSION_ROWS);
	*row = (struct sim_session_row){
		.id = request->params[0].u64,
		.ttl_ms = request->params[1].u64,
		.expires_us = request->started_us + request->params[2].i64,
		.started_us = request->started_us,
		.born_us = request->began_us,
		.proc = session->proc,
		.beaten_us = sim_now,
	};
	session->answer.affected = 1;
	sim_judge_session_made(row);
}

static void beat(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_session_row *row = sim_session_row(request->params[1].u64);
	int64_t until = request->started_us + request->params[0].i64;

	if (!row || request->lies)
		return;
	sim_judge_beat(session, row);
	if (!request->op->greatest || row->expires_us < until)
		row->expires_us = until;
	else if (!request->op->counts)
		return;
	row->beat += request->op->counts;
	row->beaten_us = sim_now;
	session->answer.affected = 1;
	session->answer.insert_id =
	    (row->breaks & 4095) | (uint64_t) request->started_us << 12;
}

static bool session_meant(const struct sim_request *request,
			  const struct sim_session_row *row)
{
	for (unsigned int i = 0; i < request->op->conditions; i++) {
		const struct sim_condition *condition =
		    &request->op->condition[i];
		uint64_t number = request->params[condition->param].u64;

		if (condition->test == SIM_IF_ID && row->id != number)
			return false;
		if (condition->test == SIM_IF_KEEP && row->breaks <= UINT32_MAX)
			return false;
		if (condition->test == SIM_IF_BEAT && row->beat != number)
			return false;
		if (condition->test == SIM_IF_EXPIRED &&
		    row->expires_us > request->started_us)
			return false;
	}
	return row->id != 0;
}

static void delete_session(struct sim_session *session)
{
	if (session->request.lies)
		return;
	for (unsigned int i = 0; i < sim_tables.session_places; i++) {
		struct sim_session_row *row = &sim_tables.sessions[i];

		if (!session_meant(&session->request, row))
			continue;
		session->answer.affected++;
		sim_judge_session_removed(session, row);
		row->id = 0;
	}
}

static void tell_beats(struct sim_session *session)
{
	const struct sim_session_row *row =
	    sim_session_row(session->request.params[0].u64);

	if (row)
		sim_answer_row(&session->answer, 1)[0] = rlk_u64(row->beat);
}

static void find_sessions(struct sim_session *session)
{
	for (unsigned int i = 0; i < sim_tables.session_places; i++) {
		const struct sim_session_row *row = &sim_tables.sessions[i];

		if (session_meant(&session->request, row))
			sim_answer_row(&session->answer, 1)[0] =
			    rlk_u64(row->id);
	}
}

static void sessions_after(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	uint64_t after = request->params[0].u64;

	while (session->answer.rows < request->params[1].u64) {
		const struct sim_session_row *next = NULL;
		struct rlk_value *cells;

		for (unsigned int i = 0; i < sim_tables.session_places; i++) {
			const struct sim_session_row *row =
			    &sim_tables.sessions[i];

			if (row->id > after && (!next || row->id < next->id))
				next = row;
		}
		if (!next)
			return;
		after = next->id;
		cells = sim_answer_row(&session->answer, 6);
		cells[0] = rlk_u64(next->id);
		cells[1] = rlk_u64(next->beat);
		cells[2] = rlk_u64(next->ttl_ms);
		cells[3] = rlk_text("host");
		cells[4] = rlk_u64(next->proc);
		cells[5] = sim_signed(next->expires_us - request->started_us);
	}
}

/* ------------------------------------------------------ tokens, breaks */

static void draw(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	bool row = request->op->verb == SIM_DRAW_ROW;
	unsigned int name = sim_param_name(request, 0);
	const struct sim_lease *lease = row ? NULL : sim_lease_meant(request);
	uint64_t *token = &sim_tables.tokens[row][name];
	uint64_t next = (uint64_t) request->started_us;
	uint64_t least = sim_tables.floor + 1;

	if (!row && !(lease && lease->there &&
		      (!request->op->by_attempt ||
		       lease->attempt == request->params[2].u64)))
		return;
	if (!row && sim_locks_pass_over(session, lease))
		return;
	session->answer.affected = *token ? 2 : 1;
	if (*token)
		least = request->op->greatest ? *token + 1 : 0;
	else if (!request->op->floor)
		least = 0;
	*token = next = next > least ? next : least;
	sim_tables.drawn_us[row][name] = request->started_us;
	if (!row)
		sim_tables.drawn_by[name] = lease->attempt;
	session->answer.insert_id = next;
	sim_judge_drawn(row, name, next);
}

static void raise_token(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	bool row = request->op->verb == SIM_RAISE_ROW;
	unsigned int name = sim_param_name(request, 1);
	uint64_t *token = &sim_tables.tokens[row][name];

	if (!*token || *token >= request->params[0].u64 ||
	    (!row && sim_tables.drawn_by[name] != request->params[2].u64))
		return;
	session->answer.affected = 1;
	*token = request->params[0].u64;
	if (!row)
		sim_tables.drawn_by[name] = 0;
}

static bool token_meant(const struct sim_request *request, unsigned int row,
			unsigned int name)
{
	uint64_t token = sim_tables.tokens[row][name];
	int64_t long_ago = request->started_us - 30 * SIM_DAY_US;

	for (unsigned int i = 0; i < request->op->conditions; i++) {
		enum sim_test test = request->op->condition[i].test;

		if ((test == SIM_IF_OLD &&
		     sim_tables.drawn_us[row][name] >= long_ago) ||
		    (test == SIM_IF_PAST && token >= (uint64_t) long_ago) ||
		    (test == SIM_IF_FLOOR && token > sim_tables.floor) ||
		    (test == SIM_IF_NO_LEASE && !row && sim_is_leased(name)))
			return false;
	}
	return token != 0;
}

static void no_requests(struct sim_session *session)
{
	(void) session;
}

static void tokens_old(struct sim_session *session)
{
	const struct sim_request *request = &session->request;

	for (unsigned int row = 0; row < 2; row++)
		for (unsigned int i = 0; i < SIM_NAMES; i++) {
			struct rlk_value *cells;

			if (session->answer.rows == request->params[0].u64)
				return;
			if (!token_meant(request, row, i))
				continue;
			cells = sim_answer_row(&session->answer, 3);
			cells[0] = rlk_text(row ? "row" : "lease");
			cells[1] = rlk_text(sim_names[i]);
			cells[2] = rlk_u64(sim_tables.tokens[row][i]);
		}
}

static void raise_floor(struct sim_session *session)
{
	uint64_t token = session->request.params[0].u64;

	if (sim_tables.floor >= token)
		return;
	sim_tables.floor = token;
	session->answer.affected = 1;
}

static void drop_token(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	unsigned int row = strcmp(request->text, "row") == 0;
	unsigned int name = sim_param_name(request, 1);

	if (!token_meant(request, row, name))
		return;
	sim_trace_world((struct sim_note){
	    "#token %u of %n (%s) is collected, the floor is %u",
	    { sim_tables.tokens[row][name], name,
	      sim_text(row ? "row" : "lease"), sim_tables.floor } });
	sim_tables.tokens[row][name] = 0;
	session->answer.affected = 1;
}

/* Whose turn it is to reap. Two who have it only work twice; but a turn's
 * number is one process's. */
static void look_at_duty(struct sim_session *session)
{
	int64_t age = session->request.started_us - sim_tables.duty.at_us;

	if (sim_tables.duty.number)
		sim_answer_row(&session->answer, 1)[0] =
		    sim_signed(age < 0 ? -age : age);
}

static void take_duty(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	int64_t age = request->started_us - sim_tables.duty.at_us;

	if (sim_tables.duty.number &&
	    (age < 0 ? -age : age) < request->params[0].i64)
		return;
	session->answer.affected = sim_tables.duty.number ? 2 : 1;
	session->answer.insert_id = ++sim_tables.duty.number;
	sim_tables.duty.at_us = request->started_us;
	sim_tables.duty.proc = session->proc;
}

static void keep_duty(struct sim_session *session)
{
	const struct sim_request *request = &session->request;

	if (sim_tables.duty.number != request->params[0].u64)
		return;
	if (sim_tables.duty.proc != session->proc)
		sim_violation("process %u keeps the turn of process %u",
			      session->proc, sim_tables.duty.proc);
	sim_tables.duty.at_us = request->started_us;
	session->answer.affected = 1;
}

static void look_at_plea(struct sim_session *session)
{
	if (sim_tables.pleaded[sim_param_name(&session->request, 0)])
		sim_answer_row(&session->answer, 1)[0] = rlk_u64(1);
}

static void change_plea(struct sim_session *session)
{
	bool *plea = &sim_tables.pleaded[sim_param_name(&session->request, 0)];
	bool makes = session->request.op->verb == SIM_PLEA_MAKE;

	session->answer.affected = makes ? 1 + *plea : *plea;
	*plea = makes;
}

static void break_lease(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_lease *lease = sim_lease_meant(request);
	struct sim_session_row *row;

	if (!lease || !lease->there || lease->attempt != request->params[2].u64)
		return;
	row = sim_session_row(lease->session);
	if (row && row->breaks > UINT32_MAX)
		row = sim_session_row(row->breaks);
	sim_judge_lease_broken(session, lease);
	lease->attempt = 0;
	lease->session = 0;
	if (row)
		row->breaks++;
	session->answer.affected = row ? 2 : 1;
}

/* ------------------------------------------------------- other sessions */

static void find_session(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	bool by_mark = request->op->verb == SIM_FIND_MARK;
	struct rlk_list *node;

	if (by_mark && request->params[0].type == RLK_TEXT &&
	    sim_bell_text(request->params[0].text)) {
		sim_answer_row(&session->answer, 1)[0] =
		    rlk_u64(sim_bell_owner(session, 0));
		return;
	}

	for (node = sim_server.sessions.next; node != &sim_server.sessions;
	     node = node->next) {
		struct sim_session *other =
		    container_of(node, struct sim_session, node);

		if (by_mark ? strcmp(other->mark, request->text) == 0
			    : other->id == request->params[0].u64) {
			sim_answer_row(&session->answer, 1)[0] =
			    rlk_u64(other->id);
			return;
		}
	}
	if (by_mark)
		sim_answer_row(&session->answer, 1)[0] = sim_null();
}

/* Whose statement has this in its text? */
static void find_tag(struct sim_session *session)
{
	uint64_t tag = sim_tag_of(session->request.text);
	struct rlk_list *node;

	for (node = sim_server.sessions.next; node != &sim_server.sessions;
	     node = node->next) {
		const struct sim_session *other =
		    container_of(node, struct sim_session, node);

		if (!other->borrowed || other->script.said[0].tag != tag ||
		    (other->phase != SIM_EXECUTING &&
		     other->phase != SIM_WAITING))
			continue;
		sim_answer_row(&session->answer, 1)[0] = rlk_u64(other->id);
		return;
	}
}

/* Who is in the way of the session with this id? 0: nobody is seen. */
static uint64_t blocker_of(uint64_t id)
{
	const struct sim_session *session = sim_session_find(id);

	/* The server's picture of its locks is a moment old. */
	return session && session->wants && session->wants->owner &&
		       sim_below(4)
		   ? session->wants->owner->id
		   : 0;
}

static void find_blocker(struct sim_session *session)
{
	uint64_t id = blocker_of(session->request.params[0].u64);

	if (id)
		sim_answer_row(&session->answer, 1)[0] = rlk_u64(id);
}

static void choose_blocker(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	uint64_t id = request->params[1].u64;

	session->chosen = blocker_of(request->params[0].u64) == id ? id : 0;
}

static void read_chosen(struct sim_session *session)
{
	sim_answer_row(&session->answer, 1)[0] = rlk_u64(session->chosen);
}

/* An application's account has no right to see who has locked what. */
static void refuse_to_tell(struct sim_session *session)
{
	session->answer.error = sim_world.mysql ? 1142 : 1227;
}

static void kill_session(struct sim_session *session)
{
	enum sim_verb verb = session->request.op->verb;
	uint64_t id = verb == SIM_KILL_CHOSEN ? session->chosen
					      : session->request.params[0].u64;
	struct sim_session *other = sim_session_find(id);

	if (!other) {
		session->answer.error = 1094;
		return;
	}
	sim_judge_kill(session, other);
	if (sim_world.no_kill && verb != SIM_KILL_CHOSEN)
		session->answer.error = 1095;
	else if (verb == SIM_KILL_STMT)
		sim_session_interrupt(other);
	else
		sim_session_kill(other);
}

static bool lock_row(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_row *row = &sim_tables.rows[sim_param_name(request, 0)];
	bool locked;

	if (!row->there)
		return true;
	locked = request->op->verb == SIM_ROW_WAIT
		     ? sim_rows_wait(session, row)
		     : sim_rows_take(session, row);
	if (locked)
		sim_answer_row(&session->answer, 1)[0] =
		    rlk_text(sim_names[row->name]);
	else if (request->op->verb == SIM_ROW_TRY)
		session->answer.error = sim_world.mysql ? 3572 : 1205;
	return locked || request->op->verb != SIM_ROW_WAIT;
}

static void make_row(struct sim_session *session)
{
	sim_tables.rows[sim_param_name(&session->request, 0)].there = true;
	session->answer.affected = 1;
}

static void list_rows(struct sim_session *session)
{
	for (unsigned int i = 0; i < SIM_NAMES; i++) {
		uint64_t token = sim_tables.tokens[1][i];
		struct rlk_value *cells;

		if (!sim_tables.rows[i].there)
			continue;
		cells = sim_answer_row(&session->answer, 3);
		cells[0] = rlk_text(sim_names[i]);
		cells[1] = sim_null();
		cells[2] = token ? rlk_u64(token) : sim_null();
	}
}

static void tell_time(struct sim_session *session)
{
	sim_answer_row(&session->answer, 1)[0] =
	    sim_signed(session->request.started_us);
}

static void tell_last_id(struct sim_session *session)
{
	sim_answer_row(&session->answer, 1)[0] = rlk_u64(session->last_id);
}

/* Where the tables have triggers, the number does not come beside the answer.
 */
static void keep_last_id(struct sim_session *session)
{
	if (session->answer.insert_id)
		session->last_id = session->answer.insert_id;
	if (sim_world.triggers)
		session->answer.insert_id = 0;
}

static void nothing(struct sim_session *session)
{
	(void) session;
}

/* That of a packet is executed at one instant. */
static void begin(struct sim_session *session)
{
	if (!session->request.packet)
		sim_job_begin(session);
}

static void commit(struct sim_session *session)
{
	sim_job_commit(session);
	sim_rows_release(session);
}

static void roll_back(struct sim_session *session)
{
	sim_job_roll_back(session);
	sim_rows_release(session);
}

static void keep(struct sim_session *session)
{
	session->idle_s = (unsigned int) session->request.params[0].u64;
}

bool sim_execute(struct sim_session *session)
{
	static void (*const handlers[SIM_VERBS])(struct sim_session *) = {
		[SIM_BEGIN] = begin,
		[SIM_COMMIT] = commit,
		[SIM_ROLLBACK] = roll_back,
		[SIM_KILL_CONN] = kill_session,
		[SIM_KILL_STMT] = kill_session,
		[SIM_KILL_CHOSEN] = kill_session,
		[SIM_KEEP] = keep,
		[SIM_PING] = nothing,
		[SIM_TIME] = tell_time,
		[SIM_FIND_MARK] = find_session,
		[SIM_FIND_ID] = find_session,
		[SIM_FIND_TAG] = find_tag,
		[SIM_BLOCKER] = find_blocker,
		[SIM_CHOOSE_BLOCKER] = choose_blocker,
		[SIM_READ_CHOSEN] = read_chosen,
		[SIM_ROW_HOLDERS] = refuse_to_tell,
		[SIM_LOOK] = sim_lease_look,
		[SIM_LOOK_READER] = sim_reader_look,
		[SIM_LOOK_RWLOCK] = sim_rwlock_look,
		[SIM_LOOK_PERMITS] = sim_permits_look,
		[SIM_LOOK_CANDIDATES] = sim_candidates_look,
		[SIM_LEASES_OF_NAME] = sim_leases_of_name,
		[SIM_LIST_LEASES] = sim_lease_list,
		[SIM_LIST_ROWS] = list_rows,
		[SIM_CONFIRM] = sim_lease_confirm,
		[SIM_LEASES_OF] = sim_leases_of,
		[SIM_SESSIONS_AFTER] = sessions_after,
		[SIM_LEASES_DEAD] = sim_leases_dead,
		[SIM_DEAD_OF_NAME] = sim_leases_dead_of,
		[SIM_TOKENS_OLD] = tokens_old,
		[SIM_REQUESTS_OVER] = no_requests,
		[SIM_ROW_MAKE] = make_row,
		[SIM_BELL_RING] = sim_bell_ring,
		[SIM_GATE_LOOK] = sim_gate_look,
		[SIM_GATE_LEAVE] = sim_gate_leave,
		[SIM_GATE_OPEN] = sim_gate_open,
		[SIM_GATE_CLOSE] = sim_gate_close,
		[SIM_LANE_LEAVE] = sim_lane_leave,
		[SIM_ACQUIRE] = sim_lease_acquire,
		[SIM_ACQUIRE_RINGING] = sim_lease_acquire,
		[SIM_ACQUIRE_LOOKING] = sim_lease_acquire,
		[SIM_ACQUIRE_SEEING] = sim_lease_acquire,
		[SIM_ACQUIRE_SET] = sim_lease_acquire,
		[SIM_ACQUIRE_READER] = sim_reader_acquire,
		[SIM_ACQUIRE_PERMITS] = sim_permits_acquire,
		[SIM_ACQUIRE_GUESS] = sim_permits_guess,
		[SIM_PERMITS_MAKE] = sim_permits_make,
		[SIM_PERMITS_SET] = sim_permits_set,
		[SIM_DRAW_LEASE] = draw,
		[SIM_DRAW_ROW] = draw,
		[SIM_RAISE_LEASE] = raise_token,
		[SIM_RAISE_ROW] = raise_token,
		[SIM_RAISE_FLOOR] = raise_floor,
		[SIM_PLEA_LOOK] = look_at_plea,
		[SIM_PLEA_COUNT] = sim_permits_count,
		[SIM_PLEA_MAKE] = change_plea,
		[SIM_PLEA_HEAR] = change_plea,
		[SIM_DUTY_LOOK] = look_at_duty,
		[SIM_STILL_LEASE] = sim_lease_present,
		[SIM_STILL_SESSION] = find_sessions,
		[SIM_BEATS] = tell_beats,
		[SIM_LAST_ID] = tell_last_id,
		[SIM_DUTY_TAKE] = take_duty,
		[SIM_DUTY_KEEP] = keep_duty,
		[SIM_DROP_TOKEN] = drop_token,
		[SIM_OVERTAKE] = sim_outcome_overtake,
		[SIM_GLANCE_GUARDS] = sim_outcome_look,
		[SIM_BE_CONSISTENT] = sim_outcome_consistency,
		[SIM_BE_AS_BEFORE] = sim_outcome_consistency,
		[SIM_LOOK_GUARDS] = sim_outcome_look,
		[SIM_LOOK_BREAKS] = sim_outcome_breaks,
		[SIM_LOOK_RECEIPT] = sim_outcome_receipt,
		[SIM_SESSION_OPEN] = open_session,
		[SIM_BEAT] = beat,
		[SIM_BREAK] = break_lease,
		[SIM_KEEP_TAKE] = sim_keep_take,
		[SIM_KEEP_BEAT] = sim_keep_beat,
		[SIM_KEEP_BEAT_WHOLE] = sim_keep_beat_whole,
		[SIM_KEEP_LEAVE] = sim_keep_leave,
		[SIM_KEEP_STILL] = sim_keep_still,
		[SIM_KEEP_TAKEN] = sim_keep_taken,
		[SIM_OFFER_ADOPT] = sim_offer_adopt,
		[SIM_OFFER_LOOK] = sim_offer_look,
		[SIM_OFFER_HOLDER] = sim_offer_holder,
		[SIM_DELETE_SESSION] = delete_session,
		[SIM_DELETE_LEASE] = sim_lease_delete,
		[SIM_PRESENT] = sim_lease_present,
		[SIM_COUNT] = sim_lease_count,
		[SIM_COUNT_LIVE] = sim_lease_count,
		[SIM_AHEAD] = sim_leases_ahead,
		[SIM_RUN_LOCK] = sim_run_lock,
		[SIM_RUN_LOOK] = sim_run_look,
		[SIM_RUN_CLAIM] = sim_run_claim,
		[SIM_RUN_EXPLAIN] = sim_run_explain,
		[SIM_RUN_END] = sim_run_end,
		[SIM_RUN_UNDO] = sim_run_undo,
		[SIM_RUN_FORGET] = sim_run_forget,
	};
	enum sim_verb verb = session->request.op->verb;

	if (verb == SIM_ROW_TRY || verb == SIM_ROW_SKIP || verb == SIM_ROW_WAIT)
		return lock_row(session);
	if (sim_bell_is_wait(verb))
		return sim_bell_wait(session);
	handlers[verb](session);
	keep_last_id(session);
	return true;
}
