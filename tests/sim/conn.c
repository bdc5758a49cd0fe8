/* SPDX-License-Identifier: MIT */
/*
 * Connections as the library sees them. Linked instead of db/conn.c, connect.c,
 * io.c, peer.c and session.c; the pool and the fence above are the real ones.
 */
#include "db/conn_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/error.h"
#include "base/random.h"
#include "db/advice.h"
#include "db/connect.h"
#include "db/io.h"
#include "db/packet.h"
#include "db/schema.h"
#include "db/stmt.h"
#include "db/transaction.h"
#include "fault.h"
#include "net.h"
#include "sim.h"

void *sim_calloc(size_t count, size_t size);
void sim_free(void *block);

/* ---------------------------------------------------------- descriptors */

#define SOCKETS 1024
#define NODES 3
#define FIRST_FD 100

static struct sim_conn *sockets[SOCKETS];

/* The lowest that is free, as a system does it: so that what still knows a
 * number may find another connection behind it. */
static int socket_new(struct sim_conn *conn)
{
	for (int i = 0; i < SOCKETS; i++) {
		if (sockets[i])
			continue;
		sockets[i] = conn;
		return FIRST_FD + i;
	}
	sim_violation("the library uses up all sockets");
}

static struct sim_conn *socket_of(int fd)
{
	if (fd < FIRST_FD || fd >= FIRST_FD + SOCKETS)
		return NULL;
	return sockets[fd - FIRST_FD];
}

int64_t sim_latency(const struct sim_proc *proc)
{
	int64_t us = sim_between(20, 250);

	if (proc)
		us += proc->far_us;
	if (proc && proc->cut_until > sim_now)
		us += proc->cut_until - sim_now + sim_between(0, 200000);
	return us;
}

/* ---------------------------------------------------------------- open */

static int fail_open(struct rowlock_errinfo *reterr, unsigned int number)
{
	return rlk_fail_db(reterr, ROWLOCK_ECONNECT, number, "connect: %s",
			   sim_error_text(number));
}

/* The way there and back, some times; 0 or the error. */
static unsigned int travel(struct sim_proc *proc, int64_t until)
{
	int64_t at = sim_now + 3 * sim_latency(proc);

	if (sim_happens(SIM_STUCK_RESOLVER)) {
		sim_sleep(sim_between(1000, 3000000));
		if (sim_now >= until)
			return 2013;
	}
	if (sim_happens(SIM_SLOW_CONNECT))
		at += sim_between(1000, 2000000);
	if (sim_happens(SIM_LOST_CONNECT))
		at = INT64_MAX;
	if (at < sim_server.frozen_until)
		at = sim_server.frozen_until + sim_between(0, 5000);
	while (sim_now < at && sim_now < until)
		sim_block_until(at < until ? at : until);
	if (sim_now >= until)
		return 2013;
	if (sim_server.down_until > sim_now)
		return 2002;
	if (sim_happens(SIM_TOO_MANY))
		return 1040;
	return 0;
}

static void learn(struct sim_conn *conn)
{
	struct rlk_server *server = &conn->base.server;

	server->flavour = sim_world.mysql ? RLK_MYSQL : RLK_MARIADB;
	server->version = sim_world.mysql ? 90704 : 101119;
	server->read_only = sim_server.read_only_until > sim_now;
	server->galera = sim_world.nodes && !sim_world.mysql;
	server->multi_primary = sim_world.nodes && sim_world.mysql;
	snprintf(server->identity, sizeof(server->identity), "server%u@%u",
		 sim_world.nodes ? (unsigned int) sim_below(NODES) : 0,
		 sim_server.starts);
	strcpy(server->name, "server");
}

int rlk_conn_open(const struct rlk_conn_target *target,
		  const struct rlk_conn_profile *profile, int64_t until_ms,
		  struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr)
{
	struct sim_proc *proc = sim_self->proc;
	int64_t until = sim_proc_when(proc, until_ms);
	unsigned int error;
	struct sim_conn *conn;

	if (sim_self->mutexes)
		sim_violation("a connection is opened under a mutex");
	error = travel(proc, until);
	if (error)
		return fail_open(reterr, error);
	conn = sim_calloc(1, sizeof(*conn));
	conn->proc = proc;
	for (size_t i = 0; i < RLK_ARRAY_SIZE(conn->watches); i++)
		conn->watches[i].epoll = -1;
	conn->fd = socket_new(conn);
	conn->wake = -1;
	conn->base.target = target;
	conn->base.profile = *profile;
	conn->base.until_ms = until_ms;
	rlk_list_init(&conn->base.loan.in_bay);
	rlk_list_init(&conn->node);
	rlk_list_append(&proc->sockets, &conn->node);
	if (!sim_world.no_marks)
		snprintf(conn->base.session.mark,
			 sizeof(conn->base.session.mark), "rl:%016" PRIx64,
			 rlk_random());
	conn->session = sim_session_new(conn, conn->base.session.mark);
	conn->base.session.id = conn->session->id;
	learn(conn);
	sim_sleep(sim_latency(proc));
	if (sim_now >= until || conn->ended) {
		rlk_conn_close(&conn->base);
		return fail_open(reterr, 2013);
	}
	*ret_conn = &conn->base;
	return 0;
}

static struct sim_conn *of(const struct rlk_conn *conn)
{
	return (struct sim_conn *) (uintptr_t) conn;
}

static void let_go(struct sim_conn *conn, bool silent)
{
	sockets[conn->fd - FIRST_FD] = NULL;
	rlk_list_remove(&conn->node);
	sim_session_close(conn->session, silent);
}

struct rlk_conn *rlk_conn_close(struct rlk_conn *conn)
{
	if (!conn)
		return NULL;
	if (of(conn)->sleeps)
		sim_violation("a connection is closed under who waits on it");
	let_go(of(conn), false);
	rlk_packet_drop(conn);
	sim_free(conn);
	return NULL;
}

void sim_net_orphan(struct sim_proc *proc, bool silent)
{
	struct rlk_list *node;

	while ((node = rlk_list_first(&proc->sockets)))
		let_go(container_of(node, struct sim_conn, node), silent);
}

/* --------------------------------------------------------------- events */

static void wake(struct sim_conn *conn)
{
	if (conn->sleeps)
		sim_fiber_wake(conn->sleeps);
}

static bool has_come(const struct sim_conn *conn, const struct sim_watch *watch)
{
	bool unread = conn->answered && conn->base.run.stage != RLK_STAGE_NONE;

	if (watch->epoll < 0)
		return false;
	return conn->ended || (unread && watch->events & EPOLLIN);
}

static void poke(const struct sim_conn *conn)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(conn->watches); i++)
		if (has_come(conn, &conn->watches[i]))
			sim_poke(conn->watches[i].epoll);
}

void sim_conn_answered(struct sim_conn *conn)
{
	conn->answered = true;
	poke(conn);
	wake(conn);
}

void sim_conn_ended(struct sim_conn *conn)
{
	conn->ended = true;
	poke(conn);
	wake(conn);
}

int sim_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);
int sim_epoll_wait(int epoll, struct epoll_event *events, int most,
		   int timeout);

/* The place of @epoll, or (-1) one that is free. */
static struct sim_watch *watch_of(struct sim_conn *conn, int epoll)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(conn->watches); i++)
		if (conn->watches[i].epoll == epoll)
			return &conn->watches[i];
	return NULL;
}

int sim_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	struct sim_conn *conn = socket_of(fd);
	bool add = op == EPOLL_CTL_ADD;
	struct sim_watch *watch;

	/* In it already, or not in it. */
	if (!conn || !watch_of(conn, epoll) != add)
		return -1;
	watch = watch_of(conn, add ? -1 : epoll);
	if (!watch)
		sim_violation("a socket is watched by a third epoll");
	*watch = (struct sim_watch){ .epoll = -1 };
	if (add)
		*watch =
		    (struct sim_watch){ epoll, event->events, event->data.u64 };
	poke(conn);
	return 0;
}

int sim_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
	struct rlk_list *list = &sim_self->proc->sockets;
	struct rlk_list *node;
	int count = 0;

	(void) timeout;
	sim_epoll_clear(epoll);
	for (node = list->next; node != list && count < most;
	     node = node->next) {
		struct sim_conn *conn =
		    container_of(node, struct sim_conn, node);
		struct sim_watch *watch = watch_of(conn, epoll);

		if (!watch || !has_come(conn, watch))
			continue;
		events[count].events = watch->events;
		events[count++].data.u64 = watch->data;
		if (watch->events & EPOLLONESHOT)
			watch->epoll = -1;
	}
	if (count == most)
		sim_poke(epoll); /* there may be more */
	return count;
}

/* -------------------------------------------------------- at rest */

int64_t rlk_conn_now(const struct rlk_conn *conn)
{
	return rlk_now(conn->target->clock);
}

void rlk_conn_set_until(struct rlk_conn *conn, int64_t until_ms)
{
	conn->until_ms = until_ms;
	conn->wake.interrupted = false;
}

void rlk_conn_interrupt(struct rlk_conn *conn)
{
	conn->wake.interrupted = true;
	wake(of(conn));
}

bool rlk_conn_usable(const struct rlk_conn *conn)
{
	return !conn->dead && conn->run.stage == RLK_STAGE_NONE;
}

bool rlk_conn_alive(const struct rlk_conn *conn)
{
	return rlk_conn_usable(conn) && !of(conn)->ended;
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
	return false;
}

bool rlk_conn_retired(const struct rlk_conn *conn)
{
	return conn->retired;
}

int rlk_conn_fd(const struct rlk_conn *conn)
{
	return of(conn)->fd;
}

uint64_t *rlk_conn_note(struct rlk_conn *conn)
{
	return &conn->note;
}

bool rlk_conn_may_kill(const struct rlk_conn *conn)
{
	(void) conn;
	return true;
}

uint64_t rlk_conn_id(const struct rlk_conn *conn)
{
	return conn->session.id;
}

const char *rlk_conn_schema(const struct rlk_conn *conn)
{
	(void) conn;
	return "simulation";
}

void rlk_conn_spoil(struct rlk_conn *conn)
{
	conn->dead = true;
}

const struct rlk_server *rlk_conn_server(const struct rlk_conn *conn)
{
	return &conn->server;
}

const struct rlk_conn_profile *rlk_conn_profile(const struct rlk_conn *conn)
{
	return &conn->profile;
}

enum rlk_fault rlk_conn_keep(struct rlk_conn *conn, unsigned int idle_s,
			     struct rowlock_errinfo *reterr)
{
	char sql[64];

	conn->profile.idle_s = idle_s;
	snprintf(sql, sizeof(sql), "SET SESSION wait_timeout = %u", idle_s);
	return rlk_stmt_text(conn, sql, reterr);
}

void rlk_conn_mark(const struct rlk_conn *conn, struct rlk_mark *ret_mark)
{
	ret_mark->id = conn->session.id;
	/* Here no request comes in parts. */
	ret_mark->silent_ms = conn->profile.idle_s * 1000;
	memcpy(ret_mark->lock, conn->session.mark, sizeof(ret_mark->lock));
	memcpy(ret_mark->identity, conn->server.identity,
	       sizeof(ret_mark->identity));
}

bool rlk_io_sleep(struct rlk_conn *conn, int ms)
{
	int64_t until = sim_proc_when(of(conn)->proc, conn->until_ms);
	int64_t at = sim_now + (int64_t) ms * 1000;

	of(conn)->sleeps = sim_self;
	while (sim_now < at && sim_now < until && !conn->wake.interrupted)
		sim_block_until(at < until ? at : until);
	of(conn)->sleeps = NULL;
	return sim_now < until && !conn->wake.interrupted;
}

int rlk_schema_check(struct rlk_conn *conn, struct rlk_key *ret_key,
		     struct rowlock_errinfo *reterr)
{
	*ret_key = rlk_key_of("");
	/* It asks information_schema; that costs a round trip. */
	return rlk_conn_ping(conn, reterr) ? ROWLOCK_ECONNECT : 0;
}

uint64_t rlk_random(void)
{
	uint64_t number;

	do
		number = sim_random();
	while (number == 0);
	return number;
}
