/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_RUNS_H
#define ROWLOCK_SIM_RUNS_H

/*
 * Runs of jobs: table job_run, and transactions of several statements on the
 * library's own connections, which are for these alone.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sql.h"

struct sim_lease;
struct sim_session;

/** A row of job_run. */
struct sim_run_row {
	bool there;
	uint64_t number;
	uint64_t attempt;
	int64_t from_us; /* the window, by the server's clock */
	int64_t until_us;
	int64_t began_us;
	uint64_t nth;
	bool succeeded;
};

/** A run: its row as all see it, and as the transaction that changes it does.
 */
struct sim_run {
	uint64_t id;
	unsigned int name;
	struct sim_run_row is; /* as it is committed, */
	struct sim_run_row next;
	struct sim_session *writer; /* whose transaction has it locked */
	int64_t noted_us; /* when its success was committed, in true time */
	bool forgotten;   /* deleted as an old one */
	int told;         /* a code of its end after which no success comes;
			     0: none */
};

/** The most that there ever are of one name. */
#define SIM_RUNS 1024

/** A transaction of the library's. */
struct sim_job {
	bool open;
	struct sim_run *run;    /* that it has changed */
	struct sim_lease *gone; /* is deleted at its COMMIT */
};

/** All runs of a name that were ever claimed, in the order of their first
 *  statement. */
struct sim_run *sim_runs_of(unsigned int name, unsigned int *ret_count);
/** NULL: there never was such a run. */
struct sim_run *sim_run_find(unsigned int name, uint64_t id);
void sim_runs_begin(void);

/** Is @sql one of these statements? Then what it is. */
bool sim_run_read(struct sim_op *op, const char *sql);
const char *sim_run_label(enum sim_verb verb);

/* Each executes the request of @session. */
void sim_job_begin(struct sim_session *session);
void sim_job_commit(struct sim_session *session);
void sim_job_roll_back(struct sim_session *session);
void sim_run_lock(struct sim_session *session);
void sim_run_look(struct sim_session *session);
void sim_run_claim(struct sim_session *session);
void sim_run_explain(struct sim_session *session);
void sim_run_end(struct sim_session *session);
void sim_run_undo(struct sim_session *session);
void sim_run_forget(struct sim_session *session);

/** Delete the lease at the COMMIT. Returns false where there is none to come.
 */
bool sim_job_deletes(struct sim_session *session, struct sim_lease *lease);
/** Its statement fails with answer.error, which may end its transaction. */
void sim_job_refuse(struct sim_session *session);
/** Does its statement wait for a run that another transaction has locked? If
 *  not it may have been refused: answer.error. */
bool sim_job_holds_up(struct sim_session *session);

/* judge_runs.c */

/** A rowlock_once_begin() that is under way. */
struct sim_claiming {
	unsigned int name;
	int64_t from_us;
	int64_t until_us;
	uint64_t most;
	/* When it was called: */
	bool done;      /* a run of the window had succeeded, */
	bool outside;   /* or the server's clock was not within the window */
	int64_t set_us; /* that clock's steps */
};

/** Its window and most are set; the call comes now. */
void sim_judge_claims(struct sim_claiming *claiming);
/** It returned @code for the run @id. */
void sim_judge_claimed(const struct sim_claiming *claiming, uint64_t id,
		       int code);
/** rowlock_once_end() is called for the run @id, and returned @code. */
void sim_judge_run_ends(unsigned int name, uint64_t id);
void sim_judge_run_ended(unsigned int name, uint64_t id, bool succeeded,
			 int code);
/** The transaction of @session is committed with a change of @run. */
void sim_judge_run_changed(const struct sim_session *session,
			   const struct sim_run *run);
/** @session forgets @run. */
void sim_judge_run_forgotten(const struct sim_session *session,
			     const struct sim_run *run);

#endif
