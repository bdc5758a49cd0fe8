/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_GROUP_H
#define RLK_DB_GROUP_H

/*
 * Group commit: requests of one moment share one round trip, without a thread
 * of its own.
 *
 * A thread that brings a request leads if no other does: it does its own I/O at
 * once, and pays nothing extra if it is alone. Otherwise it queues and sleeps.
 * When the leader is done, the queued thread that can stay longest becomes the
 * next leader, and takes all that is queued by then. So a thread is seldom led
 * by one that has to leave before it:
 *
 *     QUEUED ----------------> LEADING          its caller does the I/O
 *       |  taken by a leader
 *       +----------> TAKEN --> DONE             its answer is there
 *       |              |
 *       | time is up   | time is up
 *       v              v
 *      OVER           LEFT ---> (settled later, without its caller)
 *
 * A request that polls is in no hurry: it may name the earliest time to send
 * it. All whose time has come then go together, led by one of them; until then
 * it queues, and keeps nobody from leading.
 *
 * Each caller leaves at its own deadline, or when it wants to. A request that
 * was never sent is OVER. So is one that has queued for too long behind a
 * leader that is stuck, so that it can be sent another way. A request that was
 * sent belongs to the batch: its caller leaves it there (LEFT), and the leader
 * hands its answer to struct rlk_group_ops' settle_left().
 *
 * Takes group->mutex, a leaf, never held across I/O or a callback.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/thread.h"

/** The most requests of one batch. */
#define RLK_GROUP_MOST 256

enum rlk_member_state {
	RLK_MEMBER_QUEUED,
	RLK_MEMBER_LEADING,
	RLK_MEMBER_TAKEN,
	RLK_MEMBER_DONE,
	RLK_MEMBER_OVER,
	RLK_MEMBER_LEFT,
};

/** A request. Embedded in what the group's user makes of it; on the heap, since
 *  it may outlive its caller. */
struct rlk_member {
	struct rlk_list node; /* early, queued or taken */
	struct rlk_event event;
	enum rlk_member_state state;
	int64_t until_ms;       /* its caller's deadline */
	int64_t queue_until_ms; /* how long it queues at the most */
	int64_t not_before_ms;  /* when it may be sent; 0: at once */
	/** Its caller wants to go, once this is true; NULL: never. Only looked
	 *  at while the caller is there. */
	const _Atomic bool *wants_out;
};

struct rlk_group_ops {
	/** Have rlk_group_expire() called at @at_ms, or earlier. On a caller's
	 *  thread, without group->mutex. */
	void (*expire_at)(int64_t at_ms, void *arg);
	/** @member's answer is there, and its caller has left: it is the
	 *  callee's now. On a leader's thread, without group->mutex. */
	void (*settle_left)(struct rlk_member *member, void *arg);
};

struct rlk_group {
	const struct rlk_group_ops *ops;
	void *arg;
	struct rlk_mutex mutex;
	struct rlk_list early; /* queued, and not to be sent yet */
	struct rlk_list queue;
	struct rlk_list taken;
	bool led;               /* some thread leads */
	unsigned int most;      /* requests of one packet */
	int64_t next_expiry_ms; /* when rlk_group_expire() is due */
};

/** @most from 1 to RLK_GROUP_MOST. */
void rlk_group_init(struct rlk_group *group, const struct rlk_group_ops *ops,
		    void *arg, unsigned int most);
void rlk_group_fini(struct rlk_group *group);

void rlk_member_init(struct rlk_member *member);
void rlk_member_fini(struct rlk_member *member);

/**
 * Bring @member, with its two deadlines. Returns what it came to.
 * LEADING: the caller has to run the *@ret_count requests of @members (room for
 * RLK_GROUP_MOST; its own is the first), and to say rlk_group_leave() with them
 * in the end. DONE, OVER, LEFT: as in the drawing.
 */
enum rlk_member_state rlk_group_enter(struct rlk_group *group,
				      struct rlk_member *member,
				      struct rlk_member **members,
				      size_t *ret_count);

/** The leader is done with @members: the next one leads, and those who wait for
 *  their answers are woken. Its own state stays LEADING. */
void rlk_group_leave(struct rlk_group *group, struct rlk_member **members,
		     size_t count);

/** *@wants_out was set to true: let its caller go, unless it leads. Any thread;
 *  who has not entered yet will not queue. */
void rlk_group_withdraw(struct rlk_group *group, const _Atomic bool *wants_out);

/** Let go all whose time is up at @now_ms, and have those led whose time to be
 *  sent has come. Returns when it is due again. */
int64_t rlk_group_expire(struct rlk_group *group, int64_t now_ms);

#endif
