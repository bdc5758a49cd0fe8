/* SPDX-License-Identifier: MIT */
/*
 * Sets of leases: all names or none, in one statement.
 *
 * The INSERT looks first, without locks, whether any name has a row; then it
 * makes all rows, in the order of the primary key. A row that came in between
 * makes it fail as a whole, by a subquery that returns two rows where one may
 * (MySQL manual, "INSERT ... ON DUPLICATE KEY UPDATE": the values are evaluated
 * only for a duplicate). So no committed state has a set in part, two sets wait
 * for each other in one order only, and who is refused has locked nothing
 * meanwhile.
 *
 * Each operation is one statement for one text: a connection that takes no
 * packets runs it, too.
 *
 * Failure modes: a part of the rows may be gone, if a lease was broken by hand
 * or swept past its maximum. Then the set is lost, and what is left of it is
 * given back.
 */
#include "strategy/set_private.h"

#include "base/error.h"
#include "base/random.h"
#include "strategy/attempt.h"
#include "strategy/set_batch.h"

#include <string.h>

size_t rlk_set_rows(const struct rlk_request *request,
		    struct rlk_set_row *ret_rows)
{
	const char *name = request->name;
	size_t count = 0;

	for (;;) {
		size_t length = rlk_set_length(name);

		ret_rows[count++] =
		    (struct rlk_set_row){ request, name, length };
		name += length;
		if (!*name || count == ROWLOCK_MULTILOCK_MAX)
			return count;
		name++;
	}
}

/* ------------------------------------------------------------ statements */

const struct rlk_many_def rlk_set_insert = {
	"acquire",
	RLK_LEASE_INSERT_P
	"WHERE p.a NOT IN (SELECT q.a FROM p q JOIN business_lease l "
	"ON l.name = q.n AND l.slot = 0) "
	"ORDER BY p.n "
	"ON DUPLICATE KEY UPDATE attempt = (SELECT 1 UNION SELECT 2)",
};

static struct rlk_value text_of(const struct rlk_set_row *row)
{
	return (struct rlk_value){ .type = RLK_TEXT,
				   .text = row->name,
				   .length = row->length };
}

void rlk_set_values_of_row(const void *rows, size_t row,
			   struct rlk_value *ret_values)
{
	const struct rlk_set_row *at = (const struct rlk_set_row *) rows + row;

	ret_values[0] = text_of(at);
	ret_values[1] = rlk_u64(at->request->session);
	ret_values[2] = rlk_u64(at->request->attempt);
	ret_values[3] = rlk_lease_max_us(at->request);
	ret_values[4] = rlk_text(at->request->info);
}

void rlk_set_values_of_pair(const void *rows, size_t row,
			    struct rlk_value *ret_values)
{
	const struct rlk_set_row *at = (const struct rlk_set_row *) rows + row;

	ret_values[0] = text_of(at);
	ret_values[1] = rlk_u64(at->request->attempt);
}

/* One set, and the packet that was last sent for it. */
struct set {
	struct rlk_conn *conn;
	const struct rlk_request *request;
	struct rlk_packet *packet;
	size_t count;
	struct rlk_set_row rows[ROWLOCK_MULTILOCK_MAX];
};

static void init(struct set *set, struct rlk_conn *conn,
		 const struct rlk_request *request)
{
	set->conn = conn;
	set->request = request;
	set->count = rlk_set_rows(request, set->rows);
}

static enum rlk_fault run(struct set *set, const struct rlk_many_def *def,
			  rlk_values_fn fn, struct rowlock_errinfo *reterr)
{
	set->packet = rlk_packet_begin(set->conn);
	if (!set->packet ||
	    rlk_packet_add(set->packet, def, fn, set->rows, set->count) < 0)
		return rlk_lease_fail_memory(reterr);
	return rlk_packet_run(set->packet, reterr);
}

/* ------------------------------------------------------------------ look */

static size_t find_row(const struct rlk_set_row *rows, size_t count,
		       const struct rlk_value *name)
{
	size_t which = 0;

	while (which < count &&
	       (rows[which].length != name->length ||
		memcmp(rows[which].name, name->text, name->length) != 0))
		which++;
	return which;
}

/* Is @holder told of, and not the one before? The one that ends first; where
 * the server's clock does not count each now and then, so that all are observed
 * at the same time. */
static bool tells(const struct rlk_set_seen *seen,
		  const struct rlk_holder *holder, bool observes)
{
	if (observes)
		return rlk_random() % (seen->others + 1) == 0;
	return !seen->others ||
	       rlk_lease_left_us(holder) < rlk_lease_left_us(&seen->holder);
}

void rlk_set_see(struct rlk_set_seen *seen, const struct rlk_set_row *rows,
		 size_t count, const struct rlk_value *columns)
{
	size_t which = find_row(rows, count, &columns[RLK_LOOK_NAME]);
	struct rlk_holder holder;

	if (which == count)
		return;
	rlk_lease_read_holder(columns, &holder);
	holder.which = (unsigned int) which;
	if (holder.attempt == rows[which].request->attempt) {
		seen->own++;
		return;
	}
	if (tells(seen, &holder, rows[which].request->observes))
		seen->holder = holder;
	seen->others++;
}

struct look {
	const struct set *set;
	struct rlk_set_seen seen;
};

static void see(const struct rlk_value *columns, void *arg)
{
	struct look *look = arg;

	rlk_set_see(&look->seen, look->set->rows, look->set->count, columns);
}

/* Fewer rows were made than it has names: who has them? */
static enum rlk_verdict who_has_them(struct set *set,
				     struct rlk_holder *ret_holder,
				     struct rowlock_errinfo *reterr)
{
	struct look look = { .set = set };
	enum rlk_fault fault =
	    run(set, &rlk_lease_look_many, rlk_set_values_of_pair, reterr);
	bool found;

	if (fault)
		return rlk_verdict_of(fault);
	rlk_packet_each(set->packet, 0, see, &look);
	if (look.seen.own == set->count)
		return RLK_GRANTED; /* by an earlier sending */
	if (look.seen.own) {
		fault = rlk_attempt_release(set->conn, set->request, &found,
					    reterr);
		if (fault)
			return rlk_verdict_of(fault);
	} else if (!look.seen.others) {
		return RLK_AGAIN; /* gone meanwhile */
	}
	*ret_holder = look.seen.holder;
	return RLK_HELD;
}

/* ------------------------------------------------------------ operations */

static enum rlk_verdict set_acquire(struct rlk_conn *conn,
				    const struct rlk_request *request,
				    enum rlk_ask ask,
				    struct rlk_holder *ret_holder,
				    struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault;
	struct set set;

	init(&set, conn, request);
	fault = run(&set, &rlk_set_insert, rlk_set_values_of_row, reterr);
	if (fault == RLK_REFUSED && reterr->mysql == RLK_SET_RACE)
		return RLK_AGAIN;
	if (fault)
		return rlk_verdict_of(fault);
	*ret_holder = (struct rlk_holder){ 0 };
	if (rlk_packet_affected(set.packet, 0) == set.count)
		return RLK_GRANTED;
	return ask == RLK_ASK_AGAIN ? RLK_HELD
				    : who_has_them(&set, ret_holder, reterr);
}

/* The request of one of its names, whose text is in *@name. */
static struct rlk_request one_of(const struct rlk_request *request,
				 struct rlk_set_name *name)
{
	struct rlk_request one = *request;

	*name = rlk_set_name_at(request->name, request->which);
	one.name = name->text;
	return one;
}

static enum rlk_fault set_draw(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       uint64_t *ret_token,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_set_name name;
	struct rlk_request one = one_of(request, &name);

	return rlk_strategy_lease.draw(conn, &one, ret_token, reterr);
}

static enum rlk_fault set_raise(struct rlk_conn *conn,
				const struct rlk_request *request,
				uint64_t token, struct rowlock_errinfo *reterr)
{
	struct rlk_set_name name;
	struct rlk_request one = one_of(request, &name);

	return rlk_strategy_lease.raise(conn, &one, token, reterr);
}

const struct rlk_strategy rlk_strategy_set = {
	.name = "lease",
	.pins_connection = false,
	.needs_session = true,
	.several = true,
	.acquire = set_acquire,
	.release = rlk_attempt_release,
	.batch = rlk_set_batch,
	.confirm = rlk_attempt_confirm,
	.draw = set_draw,
	.raise = set_raise,
};
