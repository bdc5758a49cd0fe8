/* SPDX-License-Identifier: MIT */
/*
 * The queue of group commit: who leads, who is taken, who has to go.
 */
#include <pthread.h>

#include "db/group.h"
#include "fake/fake.h"
#include "fake/world.h"
#include "test.h"

/* Somebody with a request, on a thread of its own. */
struct person {
	pthread_t thread;
	struct rlk_group *group;
	struct rlk_member member;
	struct rlk_member *members[RLK_GROUP_MOST];
	size_t count;
	enum rlk_member_state state;
	bool done;
};

static struct rlk_group group;
static _Atomic unsigned int expiries;
static _Atomic int64_t expiry_ms;
static struct rlk_member *settled;

static void expire_at(int64_t at_ms, void *arg)
{
	assert_ptr_equal(arg, &group);
	expiry_ms = at_ms;
	expiries++;
	world_lock();
	world_changed();
	world_unlock();
}

static bool are_expiries(void *arg)
{
	return expiries == *(unsigned int *) arg;
}

/* The alarm is set when the queue can be seen already. */
static void await_expiries(unsigned int count)
{
	fake_until(are_expiries, &count);
}

static void settle_left(struct rlk_member *member, void *arg)
{
	(void) arg;
	settled = member;
}

static void begin(unsigned int most)
{
	static const struct rlk_group_ops ops = { expire_at, settle_left };

	expiries = 0;
	settled = NULL;
	rlk_group_init(&group, &ops, &group, most);
}

static void end(void)
{
	assert_false(group.led);
	assert_true(rlk_list_empty(&group.early));
	assert_true(rlk_list_empty(&group.queue));
	assert_true(rlk_list_empty(&group.taken));
	rlk_group_fini(&group);
}

static void *enter(void *arg)
{
	struct person *person = arg;
	enum rlk_member_state state = rlk_group_enter(
	    &group, &person->member, person->members, &person->count);

	world_lock();
	person->state = state;
	person->done = true;
	world_changed();
	world_unlock();
	return NULL;
}

static bool is_done(void *arg)
{
	const struct person *person = arg;
	bool done;

	world_lock();
	done = person->done;
	world_unlock();
	return done;
}

static enum rlk_member_state hear(struct person *person)
{
	fake_until(is_done, person);
	pthread_join(person->thread, NULL);
	return person->state;
}

static bool are_queued(void *arg)
{
	size_t left = *(size_t *) arg;
	struct rlk_list *node;
	struct rlk_list *after;

	rlk_mutex_lock(&group.mutex);
	rlk_list_for_each(node, after, &group.queue)
	{
		left--;
	}
	rlk_mutex_unlock(&group.mutex);
	return left == 0;
}

/* Come in with a request; the queue is then so long. */
static void come(struct person *person, int64_t until_ms, size_t queued)
{
	*person = (struct person){ .group = &group };
	rlk_member_init(&person->member);
	person->member.until_ms = until_ms;
	person->member.queue_until_ms = until_ms;
	assert_int_equal(pthread_create(&person->thread, NULL, enter, person),
			 0);
	if (queued)
		fake_until(are_queued, &queued);
}

static void leave(struct person *leader)
{
	rlk_group_leave(&group, leader->members, leader->count);
}

FAKE("a lone request leads at once")
{
	struct person a;

	begin(256);
	for (int i = 0; i < 3; i++) {
		come(&a, 1000, 0);
		assert_int_equal(hear(&a), RLK_MEMBER_LEADING);
		assert_int_equal(a.count, 1);
		assert_ptr_equal(a.members[0], &a.member);
		leave(&a);
		rlk_member_fini(&a.member);
	}
	/* And nobody had to be told of its deadline. */
	assert_int_equal(expiries, 0);
	end();
}

FAKE("those who come meanwhile go together")
{
	struct person first;
	struct person others[3];
	struct person *leader = NULL;

	begin(256);
	come(&first, 1000, 0);
	assert_int_equal(hear(&first), RLK_MEMBER_LEADING);
	for (size_t i = 0; i < 3; i++)
		come(&others[i], 1000, i + 1);
	leave(&first);
	leader = &others[0];
	assert_int_equal(hear(leader), RLK_MEMBER_LEADING);
	assert_int_equal(leader->count, 3);
	assert_ptr_equal(leader->members[1], &others[1].member);
	assert_ptr_equal(leader->members[2], &others[2].member);
	assert_false(is_done(&others[1]) || is_done(&others[2]));
	leave(leader);
	assert_int_equal(hear(&others[1]), RLK_MEMBER_DONE);
	assert_int_equal(hear(&others[2]), RLK_MEMBER_DONE);
	assert_null(settled);
	end();
}

FAKE("the one that can stay longest leads")
{
	static const int64_t until[] = { 1000, 3000, 2000 };
	struct person first;
	struct person others[3];

	begin(256);
	come(&first, 500, 0);
	hear(&first);
	for (size_t i = 0; i < 3; i++)
		come(&others[i], until[i], i + 1);
	leave(&first);
	assert_int_equal(hear(&others[1]), RLK_MEMBER_LEADING);
	assert_int_equal(others[1].count, 3);
	leave(&others[1]);
	assert_int_equal(hear(&others[0]), RLK_MEMBER_DONE);
	assert_int_equal(hear(&others[2]), RLK_MEMBER_DONE);
	end();
}

FAKE("no more than allowed go together")
{
	struct person first;
	struct person others[4];

	begin(3);
	come(&first, 1000, 0);
	hear(&first);
	for (size_t i = 0; i < 4; i++)
		come(&others[i], 1000, i + 1);
	leave(&first);
	assert_int_equal(hear(&others[0]), RLK_MEMBER_LEADING);
	assert_int_equal(others[0].count, 3);
	/* The one that stays leads the next. */
	leave(&others[0]);
	assert_int_equal(hear(&others[3]), RLK_MEMBER_LEADING);
	assert_int_equal(others[3].count, 1);
	assert_int_equal(hear(&others[1]), RLK_MEMBER_DONE);
	assert_int_equal(hear(&others[2]), RLK_MEMBER_DONE);
	leave(&others[3]);
	end();
}

FAKE("one whose time is up before it is sent is over")
{
	struct person first;
	struct person soon;
	struct person late;

	begin(256);
	come(&first, 9000, 0);
	hear(&first);
	come(&late, 2000, 1);
	await_expiries(1);
	assert_int_equal(expiry_ms, 2000);
	come(&soon, 1000, 2);
	await_expiries(2);
	assert_int_equal(expiry_ms, 1000);
	assert_int_equal(rlk_group_expire(&group, 999), 1000);
	assert_false(is_done(&soon));
	assert_int_equal(rlk_group_expire(&group, 1000), 2000);
	assert_int_equal(hear(&soon), RLK_MEMBER_OVER);
	leave(&first);
	assert_int_equal(hear(&late), RLK_MEMBER_LEADING);
	assert_int_equal(late.count, 1);
	leave(&late);
	assert_true(rlk_group_expire(&group, 9000) == RLK_NEVER);
	/* Who comes then sets an alarm of its own. */
	come(&first, 20000, 0);
	hear(&first);
	come(&late, 10000, 1);
	await_expiries(3);
	leave(&first);
	hear(&late);
	leave(&late);
	end();
}

FAKE("one whose time is up afterwards leaves its answer")
{
	struct person first;
	struct person leader;
	struct person soon;

	begin(256);
	come(&first, 9000, 0);
	hear(&first);
	come(&leader, 2000, 1);
	come(&soon, 1000, 2);
	leave(&first);
	assert_int_equal(hear(&leader), RLK_MEMBER_LEADING);
	assert_int_equal(leader.count, 2);
	assert_true(rlk_group_expire(&group, 1500) == RLK_NEVER);
	assert_int_equal(hear(&soon), RLK_MEMBER_LEFT);
	assert_null(settled);
	leave(&leader);
	assert_ptr_equal(settled, &soon.member);
	end();
}

static bool are_early(void *arg)
{
	unsigned int left = *(unsigned int *) arg;
	struct rlk_list *node;

	rlk_mutex_lock(&group.mutex);
	for (node = group.early.next; node != &group.early; node = node->next)
		left--;
	rlk_mutex_unlock(&group.mutex);
	return left == 0;
}

/* Come in with a request that is not to be sent before @ms. */
static void come_early(struct person *person, int64_t ms, unsigned int early)
{
	*person = (struct person){ .group = &group };
	rlk_member_init(&person->member);
	person->member.until_ms = 9000;
	person->member.queue_until_ms = 9000;
	person->member.not_before_ms = ms;
	assert_int_equal(pthread_create(&person->thread, NULL, enter, person),
			 0);
	fake_until(are_early, &early);
}

FAKE("those that come early go together in time")
{
	struct person others[3];
	struct person hasty;
	struct person late;

	begin(256);
	for (unsigned int i = 0; i < 2; i++)
		come_early(&others[i], 1000, i + 1);
	come_early(&late, 2000, 3);
	await_expiries(1);
	assert_int_equal(expiry_ms, 1000);
	/* They are in nobody's way, and nobody takes them along. */
	come(&hasty, 5000, 0);
	assert_int_equal(hear(&hasty), RLK_MEMBER_LEADING);
	assert_int_equal(hasty.count, 1);
	leave(&hasty);
	assert_int_equal(rlk_group_expire(&group, 999), 1000);
	assert_false(is_done(&others[0]) || is_done(&others[1]));
	assert_int_equal(rlk_group_expire(&group, 1000), 2000);
	assert_int_equal(hear(&others[0]), RLK_MEMBER_LEADING);
	assert_int_equal(others[0].count, 2);
	leave(&others[0]);
	assert_int_equal(hear(&others[1]), RLK_MEMBER_DONE);
	/* Also behind one that leads just then. */
	come(&hasty, 5000, 0);
	hear(&hasty);
	rlk_group_expire(&group, 2000);
	assert_false(is_done(&late));
	leave(&hasty);
	assert_int_equal(hear(&late), RLK_MEMBER_LEADING);
	assert_int_equal(late.count, 1);
	leave(&late);
	end();
}

FAKE("one that is early can go")
{
	_Atomic bool wants_out = false;
	struct person one = { .group = &group };
	unsigned int early = 1;

	begin(256);
	rlk_member_init(&one.member);
	one.member.until_ms = 9000;
	one.member.queue_until_ms = 9000;
	one.member.not_before_ms = 1000;
	one.member.wants_out = &wants_out;
	assert_int_equal(pthread_create(&one.thread, NULL, enter, &one), 0);
	fake_until(are_early, &early);
	wants_out = true;
	rlk_group_withdraw(&group, &wants_out);
	assert_int_equal(hear(&one), RLK_MEMBER_OVER);
	assert_true(rlk_group_expire(&group, 1000) == RLK_NEVER);
	end();
}

FAKE("an alarm is set only for an earlier deadline")
{
	struct person first;
	struct person others[3];

	begin(256);
	come(&first, 1000, 0);
	hear(&first);
	for (size_t i = 0; i < 3; i++)
		come(&others[i], 1000 + (int64_t) i, i + 1);
	await_expiries(1);
	/* What is left says when it is due. */
	assert_int_equal(rlk_group_expire(&group, 1000), 1001);
	assert_int_equal(hear(&others[0]), RLK_MEMBER_OVER);
	leave(&first);
	assert_int_equal(hear(&others[2]), RLK_MEMBER_LEADING);
	assert_int_equal(rlk_group_expire(&group, 1000), 1001);
	leave(&others[2]);
	assert_int_equal(hear(&others[1]), RLK_MEMBER_DONE);
	end();
}

FAKE("who wants out goes, unless it leads")
{
	_Atomic bool out[4] = { false };
	struct person first;
	struct person leader;
	struct person taken;
	struct person queued;
	struct person late;

	begin(2);
	come(&first, 9000, 0);
	hear(&first);
	first.member.wants_out = &out[0];
	come(&leader, 8000, 1);
	come(&taken, 2000, 2);
	taken.member.wants_out = &out[1];
	come(&queued, 2000, 3);
	queued.member.wants_out = &out[2];
	leave(&first);
	assert_int_equal(hear(&leader), RLK_MEMBER_LEADING);
	leader.member.wants_out = &out[0];
	for (int i = 0; i < 4; i++) {
		out[i] = true;
		rlk_group_withdraw(&group, &out[i]);
	}
	assert_int_equal(hear(&taken), RLK_MEMBER_LEFT);
	assert_int_equal(hear(&queued), RLK_MEMBER_OVER);
	/* One that did not come in yet does not even queue. */
	late = (struct person){ .group = &group };
	rlk_member_init(&late.member);
	late.member.wants_out = &out[3];
	assert_int_equal(
	    rlk_group_enter(&group, &late.member, late.members, &late.count),
	    RLK_MEMBER_OVER);
	assert_int_equal(leader.count, 2);
	leave(&leader);
	assert_ptr_equal(settled, &taken.member);
	end();
}

/* ---------------------------------------------------------------- many */

#define THREADS 24
#define ROUNDS 300

struct request {
	struct rlk_member member;
	unsigned int answers;
};

static _Atomic unsigned int leading;
static _Atomic unsigned int together;

static void lead(struct rlk_member **members, size_t count)
{
	if (++leading > 1)
		fake_problem("two lead at a time");
	for (size_t i = 0; i < count; i++)
		container_of(members[i], struct request, member)->answers++;
	together += count > 1;
	leading--;
	rlk_group_leave(&group, members, count);
}

static void *come_often(void *arg)
{
	struct rlk_member *members[RLK_GROUP_MOST];
	size_t count;

	(void) arg;
	for (int i = 0; i < ROUNDS; i++) {
		struct request request = { .answers = 0 };
		enum rlk_member_state state;

		rlk_member_init(&request.member);
		request.member.until_ms = 1000 + i % 7;
		request.member.queue_until_ms = request.member.until_ms;
		state =
		    rlk_group_enter(&group, &request.member, members, &count);
		if (state == RLK_MEMBER_LEADING)
			lead(members, count);
		else if (state != RLK_MEMBER_DONE)
			fake_problem("state %d", (int) state);
		if (request.answers != 1)
			fake_problem("%u answers", request.answers);
		rlk_member_fini(&request.member);
	}
	return NULL;
}

FAKE("each of many is answered once")
{
	pthread_t threads[THREADS];

	begin(5);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
		    pthread_create(&threads[i], NULL, come_often, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	test_figure(together, "packets", "of more than one, %d requests",
		    THREADS * ROUNDS);
	end();
}

CASE_MAIN(case_main)
