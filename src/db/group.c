/* SPDX-License-Identifier: MIT */
/*
 * The queue of group commit; see group.h for the drawing.
 *
 * A sleeper is woken by a leader (its answer, or the lead) or by expire(). The
 * next expiry is kept as a time that is early enough: a request that comes with
 * a later deadline sets no alarm, so that in the common case, where all have
 * the same patience, one alarm serves thousands of requests.
 *
 * Failure modes: a leader that is stuck keeps those whom it took until their
 * deadlines, and those who queue likewise.
 */
#include "db/group.h"

#include "base/clock.h"

void rlk_group_init(struct rlk_group *group, const struct rlk_group_ops *ops,
		    void *arg, unsigned int most)
{
	*group = (struct rlk_group){
		.ops = ops,
		.arg = arg,
		.most = most,
		.next_expiry_ms = RLK_NEVER,
	};
	rlk_mutex_init(&group->mutex);
	rlk_list_init(&group->early);
	rlk_list_init(&group->queue);
	rlk_list_init(&group->taken);
}

void rlk_group_fini(struct rlk_group *group)
{
	rlk_mutex_fini(&group->mutex);
}

void rlk_member_init(struct rlk_member *member)
{
	rlk_list_init(&member->node);
	rlk_event_init(&member->event);
	member->state = RLK_MEMBER_DONE;
	member->not_before_ms = 0;
	member->wants_out = NULL;
}

void rlk_member_fini(struct rlk_member *member)
{
	rlk_event_fini(&member->event);
}

static struct rlk_member *member_of(struct rlk_list *node)
{
	return container_of(node, struct rlk_member, node);
}

/* The leader and all that is queued, as far as there is room. */
static size_t take_locked(struct rlk_group *group, struct rlk_member *leader,
			  struct rlk_member **members)
{
	struct rlk_list *node;
	size_t count = 1;

	members[0] = leader;
	while (count < group->most && (node = rlk_list_first(&group->queue))) {
		rlk_list_remove(node);
		rlk_list_append(&group->taken, node);
		members[count] = member_of(node);
		members[count++]->state = RLK_MEMBER_TAKEN;
	}
	return count;
}

/* When something has to be done about it. */
static int64_t due_ms(const struct rlk_member *member)
{
	if (member->not_before_ms)
		return member->not_before_ms;
	return member->state == RLK_MEMBER_QUEUED ? member->queue_until_ms
						  : member->until_ms;
}

/* Queue. Returns true if @member is due earlier than all before. */
static bool queue_locked(struct rlk_group *group, struct rlk_member *member)
{
	member->state = RLK_MEMBER_QUEUED;
	rlk_list_append(member->not_before_ms ? &group->early : &group->queue,
			&member->node);
	if (due_ms(member) >= group->next_expiry_ms)
		return false;
	group->next_expiry_ms = due_ms(member);
	return true;
}

/* Lead at once if no thread leads; nobody queues then. True if it must wait. */
static bool must_wait(struct rlk_group *group, struct rlk_member *member,
		      struct rlk_member **members, size_t *ret_count)
{
	int64_t due = 0;
	bool earlier = false;
	bool waits = false;

	rlk_mutex_lock(&group->mutex);
	if (member->wants_out && *member->wants_out) {
		member->state = RLK_MEMBER_OVER;
	} else if (!member->not_before_ms && !group->led) {
		group->led = true;
		member->state = RLK_MEMBER_LEADING;
		*ret_count = take_locked(group, member, members);
	} else {
		earlier = queue_locked(group, member);
		due = due_ms(member);
		waits = true;
	}
	rlk_mutex_unlock(&group->mutex);
	if (earlier)
		group->ops->expire_at(due, group->arg);
	return waits;
}

enum rlk_member_state rlk_group_enter(struct rlk_group *group,
				      struct rlk_member *member,
				      struct rlk_member **members,
				      size_t *ret_count)
{
	enum rlk_member_state state;

	if (!must_wait(group, member, members, ret_count))
		return member->state;
	rlk_event_wait(&member->event);
	/* The state was written before the event was set, and not since. */
	state = member->state;
	if (state != RLK_MEMBER_LEADING)
		return state;
	rlk_mutex_lock(&group->mutex);
	*ret_count = take_locked(group, member, members);
	rlk_mutex_unlock(&group->mutex);
	return state;
}

/* The queued member that can stay longest, so that no leader has to leave
 * before those that it leads. NULL if none queues. */
static struct rlk_member *next_leader_locked(struct rlk_group *group)
{
	struct rlk_member *best = NULL;
	struct rlk_member *member;

	rlk_list_each (member, &group->queue, node) {
		if (!best || member->until_ms > best->until_ms)
			best = member;
	}
	if (best) {
		rlk_list_remove(&best->node);
		best->state = RLK_MEMBER_LEADING;
	}
	return best;
}

/* Woken after the mutex was let go, or they would all wait for it at once. */
static void wake(struct rlk_group *group, struct rlk_member *member, bool left)
{
	if (left)
		group->ops->settle_left(member, group->arg);
	else
		rlk_event_set(&member->event);
}

void rlk_group_leave(struct rlk_group *group, struct rlk_member **members,
		     size_t count)
{
	bool left[RLK_GROUP_MOST];
	struct rlk_member *next;

	rlk_mutex_lock(&group->mutex);
	for (size_t i = 1; i < count; i++) {
		left[i] = members[i]->state == RLK_MEMBER_LEFT;
		rlk_list_remove(&members[i]->node);
		if (!left[i])
			members[i]->state = RLK_MEMBER_DONE;
	}
	next = next_leader_locked(group);
	group->led = next;
	rlk_mutex_unlock(&group->mutex);
	if (next)
		rlk_event_set(&next->event);
	for (size_t i = 1; i < count; i++)
		wake(group, members[i], left[i]);
}

/* Its caller goes; what it has brought is not asked for any more, or stays with
 * the leader that has taken it. */
static void let_go_locked(struct rlk_member *member)
{
	rlk_list_remove(&member->node);
	member->state = member->state == RLK_MEMBER_QUEUED ? RLK_MEMBER_OVER
							   : RLK_MEMBER_LEFT;
	rlk_event_set(&member->event);
}

static void withdraw_from(struct rlk_list *list, const _Atomic bool *wants_out)
{
	struct rlk_member *member;

	rlk_list_each (member, list, node) {
		if (member->wants_out == wants_out)
			let_go_locked(member);
	}
}

void rlk_group_withdraw(struct rlk_group *group, const _Atomic bool *wants_out)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&group->mutex);

	withdraw_from(&group->early, wants_out);
	withdraw_from(&group->queue, wants_out);
	withdraw_from(&group->taken, wants_out);
}

static void expire_list(struct rlk_list *list, int64_t now_ms, int64_t *next_ms)
{
	struct rlk_member *member;

	rlk_list_each (member, list, node) {
		if (due_ms(member) > now_ms) {
			if (due_ms(member) < *next_ms)
				*next_ms = due_ms(member);
			continue;
		}
		let_go_locked(member);
	}
}

/* Queue the members whose time to be sent has come. */
static void queue_early_locked(struct rlk_group *group, int64_t now_ms,
			       int64_t *next_ms)
{
	struct rlk_member *member;

	rlk_list_each (member, &group->early, node) {
		if (member->not_before_ms > now_ms) {
			if (member->not_before_ms < *next_ms)
				*next_ms = member->not_before_ms;
			continue;
		}
		/* A process that was stopped has not queued meanwhile. */
		member->queue_until_ms += now_ms - member->not_before_ms;
		if (member->queue_until_ms > member->until_ms)
			member->queue_until_ms = member->until_ms;
		member->not_before_ms = 0;
		rlk_list_remove(&member->node);
		rlk_list_append(&group->queue, &member->node);
	}
}

/* They have come without a thread of theirs that could lead. */
static void lead_queued_locked(struct rlk_group *group)
{
	struct rlk_member *leader;

	if (group->led)
		return;
	leader = next_leader_locked(group);
	if (!leader)
		return;
	group->led = true;
	rlk_event_set(&leader->event);
}

int64_t rlk_group_expire(struct rlk_group *group, int64_t now_ms)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&group->mutex);
	int64_t next = RLK_NEVER;

	queue_early_locked(group, now_ms, &next);
	expire_list(&group->queue, now_ms, &next);
	expire_list(&group->taken, now_ms, &next);
	lead_queued_locked(group);
	group->next_expiry_ms = next;
	return next;
}
