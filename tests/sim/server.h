/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_SERVER_H
#define ROWLOCK_SIM_SERVER_H

/*
 * The simulated server: its clock, its sessions (the server's ends of
 * connections), what becomes of a request on its way.
 */

#include "db/stmt.h"
#include "runs.h"
#include "scheduler.h"
#include "script.h"
#include "sql.h"

struct sim_conn;
struct sim_lease;
struct sim_proc;
struct sim_row;
struct sim_bell;

/** Why a session ended. */
enum sim_end {
	SIM_END_QUIT,    /* the client closed it */
	SIM_END_IDLE,    /* wait_timeout */
	SIM_END_KILL,    /* KILL CONNECTION */
	SIM_END_RESTART, /* the server ended */
	SIM_END_BROKEN,  /* the network broke it, as the server saw it */
};

enum sim_phase {
	SIM_RESTING,
	SIM_TRAVELLING, /* the request is on its way */
	SIM_EXECUTING,
	SIM_WAITING, /* for a row's lock, or a bell */
	SIM_REPLYING,
};

/** One row of a statement of a packet, and what became of it. */
struct sim_part {
	const struct sim_op *op; /* what it would be alone */
	struct rlk_value params[8];
	unsigned int statement;
	bool returns;  /* its attempt, instead of a count */
	bool left_out; /* its set is not made */
	uint64_t affected;
	uint64_t insert_id;
	bool has_row;
	struct rlk_value cells[RLK_STMT_COLUMNS];
};

/** Several statements in one request. */
struct sim_packet {
	struct sim_part *parts;
	size_t count;
	size_t room;
	unsigned int statements;
	unsigned int executed; /* statements */
	size_t next;           /* part */
	unsigned int last;     /* statement of the present step */
	unsigned int fails_at; /* if it is refused: by which of them */
	unsigned int lies_at;  /* which of them is answered without being done;
				  UINT_MAX: none */
};

/** Room for one more part; it is zero but for its statement. */
struct sim_part *sim_packet_grow(struct sim_packet *packet);

/** As many as a text may have. */
#define SIM_PARAMS 16

struct sim_request {
	const struct sim_op *op;
	bool packet; /* it is one, and this is what it has come to */
	struct rlk_value params[SIM_PARAMS];
	char text[48];       /* of a parameter that is no name */
	int64_t started_us;  /* UTC_TIMESTAMP(6), */
	int64_t began_us;    /* and that in true time: its clock may be set
				before it is executed */
	unsigned int refuse; /* with this error, if it gets so far */
	int64_t block_us;    /* behind somebody else's lock */
	bool lies;           /* interrupted, and answered as if not */
	bool reply_lost;
	bool break_after; /* executed, then the connection breaks */
};

struct sim_answer {
	unsigned int error;
	uint64_t affected;
	uint64_t insert_id;
	unsigned int rows;
	unsigned int columns;
	struct rlk_value *cells;
	size_t room;
};

/** Room for @cells in all. */
void sim_answer_reserve(struct sim_answer *answer, size_t cells);

struct sim_session {
	struct rlk_list node; /* of the server, while it is alive */
	uint64_t id;
	char mark[48];
	unsigned int proc;     /* the number of its process */
	struct sim_conn *conn; /* NULL: the client's end is closed */
	bool alive;
	bool killed;  /* it will end soon */
	bool silent;  /* no packet passes any more, either way */
	bool hung_up; /* the client's FIN has come while it was busy */
	bool lied; /* its last guard was answered as if it had found nothing */
	bool autocommit;
	unsigned int lock_wait_s;
	unsigned int idle_s;
	uint64_t last_id; /* LAST_INSERT_ID() */
	enum sim_phase phase;
	struct sim_request request;
	struct sim_answer answer;
	struct sim_packet packet;
	struct sim_event step;   /* of the request */
	struct sim_event bye;    /* the client's FIN comes */
	struct sim_event notice; /* ours comes to the client */
	struct sim_event end;    /* by a KILL, or because it is idle */
	int64_t active_us;
	enum sim_end why; /* it is not alive any more */
	int64_t ended_us;
	int64_t told_delay_us;
	int64_t told_us; /* when the client's end heard of it; 0: not yet */
	struct sim_row *locked; /* by its transaction */
	uint64_t lock_serial;   /* of the last lock that it got */
	bool open;              /* a packet's transaction failed in it */
	bool borrowed;          /* it is the application's: what is said on it
				   are scripts */
	bool several;           /* statements in one text are allowed */
	struct sim_script script;
	struct sim_work work;
	struct sim_job job;
	uint64_t chosen; /* @rowlock_holder */
	struct sim_row *wants;
	struct sim_bell *wants_bell;
	const void *meets;   /* it waits for this row, */
	bool meets_alone;    /* to have it alone, */
	int64_t meets_until; /* and so long */
	bool repeatable;     /* the isolation of its transactions */
	bool consistent;     /* group_replication_consistency is BEFORE, */
	bool caught_up;      /* and what was read has waited for that */
	bool stray;          /* a KILL QUERY has come that ends the next one */
	struct rlk_list in_line;
};

struct sim_server {
	struct rlk_list sessions;
	uint64_t last_id;
	unsigned int starts;  /* how often it was started */
	int64_t down_until;   /* not there */
	int64_t frozen_until; /* does nothing */
	int64_t read_only_until;
	int64_t clock_us; /* its clock's steps */
	int64_t ppm;
	int64_t hasty_until; /* leases may be taken too early, after a jump */
};

extern struct sim_server sim_server;

void sim_server_begin(void);
/** Its clock: microseconds since 1970. */
int64_t sim_server_us(void);

/** A statement of it begins now. */
void sim_request_begin(struct sim_request *request);

/** A session for @conn, as of now. */
struct sim_session *sim_session_new(struct sim_conn *conn, const char *mark);
/** The request that is written in @session goes out. */
void sim_session_send(struct sim_session *session);
/** The client's end is closed; @silent: the server does not hear of it. */
void sim_session_close(struct sim_session *session, bool silent);
void sim_session_end(struct sim_session *session, enum sim_end why);
/** When it will be over if nothing more is heard of it. */
int64_t sim_session_idle_until(const struct sim_session *session);
/** KILL CONNECTION, KILL QUERY. */
void sim_session_kill(struct sim_session *session);
void sim_session_interrupt(struct sim_session *session);
/** Draw what will become of the request, but for its way. */
void sim_draw_fate(struct sim_request *request);
/** It has been executed, with session->answer. */
void sim_session_finish(struct sim_session *session);

/** The same for the packet's next statement, or transaction; and what there is
 *  of it is executed. */
void sim_packet_draw_fate(struct sim_session *session);
/** A transaction ends at @statement, without its COMMIT: it may have taken its
 *  bell by then. */
void sim_packet_slip(struct sim_session *session, unsigned int statement);
void sim_packet_execute(struct sim_session *session);
/** May @op be said in what @session has open? */
void sim_check_open(struct sim_session *session, const struct sim_op *op);

/** What it waited for is there, or will not come (@error). */
void sim_session_go_on(struct sim_session *session, unsigned int error);
struct sim_session *sim_session_find(uint64_t id);
unsigned int sim_session_count(void);
/** A random one that is alive, NULL if there is none. */
struct sim_session *sim_session_any(void);

/** The server stops, at once or in an orderly way, and comes back later. */
void sim_server_restart(int64_t down_us, bool crash);

#endif
