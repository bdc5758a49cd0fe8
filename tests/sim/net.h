/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_NET_H
#define ROWLOCK_SIM_NET_H

/*
 * The client's end of a connection, and how long packets take.
 */

#include "db/conn_private.h"
#include "proc.h"
#include "server.h"

/** An epoll that wants to know of it; -1. A connection may be in two: one waits
 *  for its end, the other for an answer. */
struct sim_watch {
	int epoll;
	uint32_t events;
	uint64_t data;
};

struct sim_conn {
	struct rlk_conn base; /* what the library sees */
	struct sim_proc *proc;
	struct rlk_list node; /* of its process */
	struct sim_session *session;
	struct sim_fiber *sleeps;
	const struct sim_op *op; /* that is under way */
	int fd;
	int wake;      /* a descriptor that ends the wait for an answer; -1 */
	bool ended;    /* the server's FIN, or an RST, has come */
	bool answered; /* the answer is in the session */
	struct sim_watch watches[2];
};

/** How long a packet takes now, between the server and @proc (NULL: gone). */
int64_t sim_latency(const struct sim_proc *proc);

/** The answer, or the end, has come to the client's end. */
void sim_conn_answered(struct sim_conn *conn);
void sim_conn_ended(struct sim_conn *conn);

/** The process dies: its sockets are closed by the system, or not at all. */
void sim_net_orphan(struct sim_proc *proc, bool silent);

/* stmt.c: how statements are run, one or a packet of them. */

enum rlk_fault sim_stmt_begin(struct rlk_conn *conn, const char *label,
			      struct rowlock_errinfo *reterr);
enum rlk_fault sim_stmt_send(struct rlk_conn *conn, const struct sim_op *op,
			     bool packet, struct rowlock_errinfo *reterr);
/** Until there is an answer, or a reason not to wait for it. */
enum rlk_fault sim_stmt_await(struct sim_conn *conn,
			      struct rowlock_errinfo *reterr);
/** One that outlives its caller: a name becomes the world's text of it. */
struct rlk_value sim_stmt_param(const struct rlk_value *param);

/** The text of the error @number, as the server would say it. */
const char *sim_error_text(unsigned int number);

#endif
