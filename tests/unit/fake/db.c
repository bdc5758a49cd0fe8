/* SPDX-License-Identifier: MIT */
/*
 * Connections and their pool, in the place of db/. A connection is a pair of
 * sockets, so that its end can be seen, and a number in the model.
 *
 * The pool opens as many as its bays allow, and makes others wait; what is not
 * given back by the client's end is a problem.
 */
#include "world.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "db/advice.h"
#include "db/conn_fence.h"
#include "db/lend.h"
#include "db/retire.h"
#include "db/schema.h"
#include "db/stmt.h"
#include "test.h"

struct rlk_pool {
	const struct rlk_pool_bay *bays;
	size_t count;
	unsigned int wanted[32]; /* by bay */
};

struct rlk_server fake_server;
_Atomic int64_t fake_skew_us;
_Atomic bool fake_all_interrupted;
_Atomic bool fake_opens;
_Atomic bool fake_by_hash;

static struct rlk_pool pool;
static uint64_t last_id;

void world_db_reset(void)
{
	memset(world.conns, 0, sizeof(world.conns));
	fake_skew_us = 0;
	fake_all_interrupted = false;
	fake_opens = false;
	fake_by_hash = false;
	fake_server = (struct rlk_server){
		.flavour = RLK_MARIADB,
		.version = 101119,
		.identity = "fake",
		.name = "fake:3306",
	};
}

static bool are_wanted(void *arg)
{
	bool wanted;

	world_lock();
	wanted = pool.wanted[*(int *) arg] > 0;
	world_unlock();
	return wanted;
}

void fake_await_wanted(int bay)
{
	fake_until(are_wanted, &bay);
}

/* ---------------------------------------------------------- connection */

static void close_conn(struct rlk_conn *conn)
{
	close(conn->fd);
	close(conn->peer);
	world_end_transaction(conn->id);
	world_leave_line(conn);
	world_end_bells(conn->id);
	*conn = (struct rlk_conn){ 0 };
}

static struct rlk_conn *open_conn(int bay)
{
	for (size_t i = 0; i < WORLD_CONNS; i++) {
		struct rlk_conn *conn = &world.conns[i];
		int fds[2];

		if (conn->open)
			continue;
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
			return NULL;
		*conn = (struct rlk_conn){
			.open = true,
			.id = ++last_id,
			.bay = bay,
			.profile = pool.bays[bay].profile,
			.fd = fds[0],
			.peer = fds[1],
		};
		return conn;
	}
	return NULL;
}

void rlk_conn_set_until(struct rlk_conn *conn, int64_t until_ms)
{
	world_lock();
	conn->until_ms = until_ms;
	conn->interrupted = false;
	world_unlock();
}

void rlk_conn_interrupt(struct rlk_conn *conn)
{
	world_lock();
	conn->interrupted = true;
	world_changed();
	world_unlock();
}

bool rlk_conn_usable(const struct rlk_conn *conn)
{
	bool usable;

	world_lock();
	usable = !conn->dead && !conn->outstanding;
	world_unlock();
	return usable;
}

void rlk_conn_spoil(struct rlk_conn *conn)
{
	world_lock();
	conn->dead = true;
	world_unlock();
}

bool rlk_conn_alive(const struct rlk_conn *conn)
{
	struct pollfd fd = { .fd = conn->fd, .events = POLLIN };

	return rlk_conn_usable(conn) && poll(&fd, 1, 0) == 0;
}

int rlk_advise(struct rlk_conn *conn, int code, struct rowlock_errinfo *reterr)
{
	(void) conn;
	(void) reterr;
	return code;
}

bool rlk_conn_may_not_come_back(const struct rlk_conn *conn)
{
	(void) conn;
	return fake_by_hash;
}

bool rlk_conn_retired(const struct rlk_conn *conn)
{
	bool retired;

	world_lock();
	retired = conn->retired;
	world_unlock();
	return retired;
}

int rlk_conn_fd(const struct rlk_conn *conn)
{
	return conn->fd;
}

uint64_t *rlk_conn_note(struct rlk_conn *conn)
{
	return &conn->note;
}

const struct rlk_server *rlk_conn_server(const struct rlk_conn *conn)
{
	(void) conn;
	return &fake_server;
}

uint64_t rlk_conn_id(const struct rlk_conn *conn)
{
	return conn->id;
}

const struct rlk_conn_profile *rlk_conn_profile(const struct rlk_conn *conn)
{
	return &conn->profile;
}

void rlk_conn_mark(const struct rlk_conn *conn, struct rlk_mark *ret_mark)
{
	*ret_mark = (struct rlk_mark){
		.id = conn->id,
		.identity = "fake",
		.silent_ms = pool.bays[conn->bay].profile.idle_s * 1000,
	};
	snprintf(ret_mark->lock, sizeof(ret_mark->lock), "rl:%llu",
		 (unsigned long long) conn->id);
}

enum rlk_fault rlk_conn_ping(struct rlk_conn *conn,
			     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_PING, .conn = conn };

	world_begin(&op, &(struct fake_call){ .bay = conn->bay });
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_conn_keep(struct rlk_conn *conn, unsigned int idle_s,
			     struct rowlock_errinfo *reterr)
{
	conn->profile.idle_s = idle_s;
	return rlk_conn_ping(conn, reterr);
}

enum rlk_fault rlk_conn_fence(struct rlk_conn *conn,
			      const struct rlk_mark *mark,
			      int64_t dying_until_ms,
			      struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_FENCE, .conn = conn };

	(void) dying_until_ms;

	if (world_begin(&op, &(struct fake_call){ .id = mark->id }))
		world_end_transaction(mark->id);
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_conn_kill_query(struct rlk_conn *conn,
				   const struct rlk_mark *mark,
				   struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_KILL_QUERY, .conn = conn };

	if (world_begin(&op, &(struct fake_call){ .id = mark->id }))
		for (size_t i = 0; i < WORLD_CONNS; i++)
			if (world.conns[i].open &&
			    world.conns[i].id == mark->id)
				world.conns[i].killed = true;
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_conn_end(struct rlk_conn *conn, uint64_t id,
			    struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_KILL, .conn = conn };

	if (world_begin(&op, &(struct fake_call){ .id = id }))
		for (size_t i = 0; i < WORLD_CONNS; i++)
			if (world.conns[i].open && world.conns[i].id == id)
				world.conns[i].dead = true;
	if (op.answer.skip)
		return world_fault(&op, RLK_DONE, reterr);
	world_end_bells(id);
	return world_fault(&op, RLK_DONE, reterr);
}

bool rlk_conn_rest(struct rlk_conn *conn, int ms)
{
	(void) conn;
	fake_advance(ms);
	return true;
}

enum rlk_fault rlk_conn_server_time(struct rlk_conn *conn, int64_t *ret_us,
				    struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_TIME, .conn = conn };

	if (world_begin(&op, &(struct fake_call){ .bay = conn->bay }))
		*ret_us = fake_now() * 1000 + fake_skew_us;
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_stmt_text(struct rlk_conn *conn, const char *sql,
			     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_TEXT, .conn = conn };
	struct fake_call call = { .bay = conn->bay };

	snprintf(call.name, sizeof(call.name), "%s", sql);
	if (world_begin(&op, &call))
		world_end_transaction(conn->id);
	return world_fault(&op, RLK_DONE, reterr);
}

/* A byte is an answer that may be there. */
void world_ready(enum fake_op op)
{
	for (size_t i = 0; i < WORLD_CONNS; i++) {
		struct rlk_conn *conn = &world.conns[i];

		if (conn->open && conn->outstanding && conn->asked == op)
			send(conn->peer, "", 1, MSG_NOSIGNAL);
	}
}

enum rlk_fault rlk_stmt_resume(struct rlk_conn *conn,
			       struct rlk_reply *ret_reply,
			       struct rowlock_errinfo *reterr)
{
	char byte;

	while (recv(conn->fd, &byte, 1, MSG_DONTWAIT) == 1)
		;
	*ret_reply = (struct rlk_reply){ .has_row = false };
	return world_resume(conn, reterr);
}

int rlk_schema_check(struct rlk_conn *conn, struct rlk_key *ret_key,
		     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_SCHEMA, .conn = conn };

	*ret_key = rlk_key_of("");
	world_begin(&op, &(struct fake_call){ .bay = conn->bay });
	return world_fault(&op, RLK_DONE, reterr) ? reterr->code : 0;
}

/* ---------------------------------------------------------------- pool */

int rlk_pool_new(const struct rlk_conn_target *target,
		 const struct rlk_pool_bay *bays, size_t count,
		 struct rlk_pool **ret_pool, struct rowlock_errinfo *reterr)
{
	(void) target;
	(void) reterr;
	pool = (struct rlk_pool){ .bays = bays, .count = count };
	*ret_pool = &pool;
	return 0;
}

struct rlk_pool *rlk_pool_free(struct rlk_pool *gone, uint64_t wait_ms)
{
	(void) gone;
	(void) wait_ms;
	world_lock();
	for (size_t i = 0; i < WORLD_CONNS; i++) {
		if (!world.conns[i].open)
			continue;
		if (world.conns[i].lent)
			fake_problem("a connection of bay %d was not returned",
				     world.conns[i].bay);
		close_conn(&world.conns[i]);
	}
	world_unlock();
	return NULL;
}

static struct rlk_conn *idle_conn(int bay, int64_t idle_ms)
{
	for (size_t i = 0; i < WORLD_CONNS; i++) {
		struct rlk_conn *conn = &world.conns[i];

		if (conn->open && !conn->lent && conn->bay == bay &&
		    fake_now() - conn->idle_since_ms >= idle_ms)
			return conn;
	}
	return NULL;
}

static unsigned int exist(int bay)
{
	unsigned int count = 0;

	for (size_t i = 0; i < WORLD_CONNS; i++)
		count += world.conns[i].open && world.conns[i].bay == bay;
	return count;
}

unsigned int fake_lent(int bay)
{
	unsigned int count = 0;

	world_lock();
	for (size_t i = 0; i < WORLD_CONNS; i++)
		count += world.conns[i].open && world.conns[i].lent &&
			 world.conns[i].bay == bay;
	world_unlock();
	return count;
}

/* One that may be lent; waits for it as long as its caller may. */
static int wait_for_conn(int bay, int64_t until_ms,
			 const struct rlk_pool_waiter *waiter,
			 struct rlk_conn **ret_conn)
{
	unsigned int limit = pool.bays[bay].limit;

	for (;;) {
		if (waiter && waiter->interrupted)
			return ROWLOCK_ECANCELED;
		*ret_conn = idle_conn(bay, INT64_MIN);
		if (!*ret_conn && (!limit || exist(bay) < limit)) {
			*ret_conn = open_conn(bay);
			if (!*ret_conn)
				return ROWLOCK_ESYSTEM;
		}
		if (*ret_conn)
			return 0;
		if (fake_now() >= until_ms || !world_wait(until_ms))
			return ROWLOCK_ETIMEDOUT;
	}
}

int rlk_pool_get(struct rlk_pool *from, size_t bay, int64_t until_ms,
		 bool persist, struct rlk_pool_waiter *waiter,
		 struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_GET };
	struct rlk_conn *conn = NULL;
	int code;

	(void) persist;
	(void) from;
	world_begin(&op, &(struct fake_call){ .bay = (int) bay });
	code = op.answer.given ? op.answer.result : 0;
	pool.wanted[bay]++;
	if (!code)
		code = wait_for_conn((int) bay, until_ms, waiter, &conn);
	pool.wanted[bay]--;
	if (!code) {
		conn->lent = true;
		conn->interrupted = false;
		conn->until_ms = until_ms;
	}
	world_changed();
	world_unlock();
	if (op.answer.ms)
		fake_advance(op.answer.ms);
	if (code)
		return rlk_fail(reterr, code, "no connection");
	*ret_conn = conn;
	return 0;
}

int rlk_pool_get_spare(struct rlk_pool *from, size_t bay, int64_t until_ms,
		       struct rlk_pool_waiter *waiter,
		       struct rlk_conn **ret_conn,
		       struct rowlock_errinfo *reterr)
{
	bool spare;

	world_lock();
	spare = !from->bays[bay].limit ||
		exist((int) bay) < from->bays[bay].limit ||
		idle_conn((int) bay, INT64_MIN);
	world_unlock();
	if (!spare)
		return ROWLOCK_EBUSY;
	return rlk_pool_get(from, bay, until_ms, true, waiter, ret_conn,
			    reterr);
}

bool rlk_pool_opens(struct rlk_pool *from, size_t bay)
{
	(void) from;
	(void) bay;
	return fake_opens;
}

void rlk_pool_interrupt(struct rlk_pool *from, struct rlk_pool_waiter *waiter)
{
	(void) from;
	world_lock();
	waiter->interrupted = true;
	world_changed();
	world_unlock();
}

static void note(const struct rlk_conn *told)
{
	for (size_t i = 0; i < WORLD_CONNS && told->read_only; i++) {
		struct rlk_conn *conn = &world.conns[i];

		conn->retired |= conn->open;
		if (conn->open && !conn->lent)
			close_conn(conn);
	}
}

void rlk_pool_note(struct rlk_pool *to, struct rlk_conn *conn)
{
	(void) to;
	world_lock();
	note(conn);
	world_unlock();
}

void rlk_pool_put(struct rlk_pool *to, struct rlk_conn *conn)
{
	(void) to;
	if (!conn)
		return;
	world_lock();
	note(conn);
	if (!conn->lent)
		fake_problem("a connection was given back twice");
	conn->lent = false;
	conn->idle_since_ms = fake_now();
	if (conn->dead || conn->outstanding || conn->retired)
		close_conn(conn);
	world_changed();
	world_unlock();
}

void rlk_pool_discard(struct rlk_pool *to, struct rlk_conn *conn)
{
	(void) to;
	if (!conn)
		return;
	world_lock();
	if (!conn->lent)
		fake_problem("a connection was given back twice");
	close_conn(conn);
	world_changed();
	world_unlock();
}

void rlk_pool_interrupt_all(struct rlk_pool *all)
{
	(void) all;
	world_lock();
	for (size_t i = 0; i < WORLD_CONNS; i++)
		if (world.conns[i].open && world.conns[i].lent)
			world.conns[i].interrupted = true;
	fake_all_interrupted = true;
	world_changed();
	world_unlock();
}

struct rlk_conn *rlk_pool_take_idle(struct rlk_pool *from, size_t bay,
				    int64_t idle_ms)
{
	struct rlk_conn *conn;

	(void) from;
	world_lock();
	conn = idle_conn((int) bay, idle_ms);
	if (conn)
		conn->lent = true;
	world_unlock();
	return conn;
}

void fake_row_hang_up(const char *name)
{
	world_lock();
	for (size_t i = 0; i < WORLD_CONNS; i++) {
		struct rlk_conn *conn = &world.conns[i];
		struct world_row *row = world_row(name);

		if (!row || !conn->open || row->conn != conn->id)
			continue;
		conn->dead = true;
		/* As a server does: its FIN comes, ours has not gone. */
		shutdown(conn->peer, SHUT_WR);
		world_end_transaction(conn->id);
		break;
	}
	world_changed();
	world_unlock();
}
