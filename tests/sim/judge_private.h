/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_JUDGE_PRIVATE_H
#define ROWLOCK_SIM_JUDGE_PRIVATE_H

#include "judge.h"
#include "sim.h"

/** A handle that acquired a name and has not released it. */
struct sim_grant {
	struct rlk_list node;
	struct sim_proc *proc;
	const struct sim_fiber *fiber;
	struct rowlock *lock;
	struct rlk_hold *hold; /* not to be looked into after its end */
	uint64_t attempt;
	uint64_t pass; /* how often the hold had been handed over by then */
	uint64_t number;
	enum sim_kind kind;
	unsigned int name;
	unsigned int count; /* of permits */
	uint64_t serial;    /* of the row, or of the row's lock */
	bool watched;       /* acquired, and not being released */
	bool gives;         /* its transaction gives it back, just now */
	bool yields;        /* it writes no more, and its call releases it */
	bool told;
	bool not_held; /* rowlock_held() has said so */
	bool exported; /* and not held since then */
	int64_t began_us;
	int64_t began_delay_us;
	int64_t lost_us;   /* it is not held since then, as we saw it */
	int64_t broken_us; /* its lease was taken by hand then */
	/* For how long its process had not been let run, at these times. */
	int64_t lost_delay_us;
	int64_t broken_delay_us;
};

static inline struct sim_grant *sim_grant(struct rlk_list *node)
{
	return container_of(node, struct sim_grant, node);
}

/** By kind and name. */
extern struct rlk_list sim_grants[SIM_KINDS][SIM_NAMES];

static inline bool sim_grant_is_row(const struct sim_grant *grant)
{
	return grant->kind == SIM_KIND_ROW;
}

enum sim_kind sim_kind_of_lock(const struct rowlock *lock);

/** Would rowlock_held() say so now? */
bool sim_grant_held(const struct sim_grant *grant);

/** May it be held no more, in the database, without its holder's knowledge? */
bool sim_grant_excused(const struct sim_grant *grant);

/** The calls that are under way. */
extern struct rlk_list sim_calls;

/* judge_permits.c */
void sim_judge_permit_made(const struct sim_session *by, unsigned int name);
/** Not too many are held by the grants of @list. */
void sim_judge_count(const struct rlk_list *list, unsigned int name);
/** If @grant is of permits, all of them are there. */
void sim_judge_rows(const struct sim_grant *grant);
/** The acquire of the fiber that runs has come to its end. */
void sim_judge_permits_asked(void);
/** Are those free that @call waits for? *@since is put off to the instant since
 *  when nothing has changed. */
bool sim_judge_permits_lie(const struct sim_call *call, unsigned int name,
			   int64_t *since);

/** judge_guarded.c: @grant has begun. */
void sim_judge_latest(const struct sim_grant *grant);
void sim_judge_guarded_begin(void);
/** @by ends @lease, which no transaction may keep. */
/** Is this lease made while its name is kept? */
void sim_judge_kept_made(const struct sim_lease *lease);
/** It is kept no more. */
void sim_judge_kept_broken(const struct sim_lease *lease);
void sim_judge_kept(const struct sim_session *by,
		    const struct sim_lease *lease);

/** judge_inside.c: is the row that @grant holds nobody's in a transaction? */
void sim_judge_beside(const struct sim_grant *grant);

void sim_judge_sql_begin(void);

#endif
