/* SPDX-License-Identifier: MIT */
/*
 * A process that holds the lane's lease, exports and adopts it, as it is told;
 * and the rival, which tries for it without an end, and must not get it while
 * one of them lives.
 */
#include "lane.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "test.h"

struct actor {
	struct lane *lane;
	int index;
	struct rowlock_client *client;
	struct rowlock *lock;
};

static void believe(struct actor *actor)
{
	struct lane *lane = actor->lane;

	lane->believes[actor->index] = 1;
	for (int i = 0; i < LANE_PARTIES; i++)
		if (i != actor->index && lane->believes[i])
			lane_blame(lane, &lane->counts->two,
				   "party %d holds it, and so does %d", i,
				   actor->index);
}

static void lost(struct rowlock *lock, void *arg)
{
	const struct actor *actor = arg;

	/* A late word of an export may find it held again. */
	if (!rowlock_held(lock))
		actor->lane->believes[actor->index] = 0;
}

static void open_it(struct actor *actor)
{
	const struct rowlock_options options = {
		.size = sizeof(options),
		.flags = ROWLOCK_OWNER_HANDLE,
	};
	struct rowlock_client_options client =
	    test_client_options(actor->lane->ttl_ms);
	struct rowlock_errinfo error;
	int code;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A server that is about to start a hundred threads takes its time. */
	do
		code = rowlock_client_new(&client, &actor->client, &error);
	while (code == ROWLOCK_ECONNECT);
	if (code || rowlock_new(actor->client, actor->lane->name, &options,
				&actor->lock, &error)) {
		fprintf(stderr, "%s\n", error.message);
		_exit(2);
	}
}

static int act(struct actor *actor, const struct party_question *question,
	       struct party_answer *answer)
{
	struct rowlock_errinfo error = { 0 };
	int code = 0;

	switch (question->word) {
	case PARTY_ACQUIRE:
		code = rowlock_acquire(actor->lock, ROWLOCK_FOREVER, &error);
		break;
	case PARTY_ADOPT:
		code = rowlock_adopt(actor->lock, question->text, &error);
		break;
	case PARTY_EXPORT:
		code = rowlock_export(actor->lock, answer->text,
				      sizeof(answer->text), &error);
		actor->lane->believes[actor->index] = 0;
		break;
	case PARTY_RELEASE:
		code = rowlock_release(actor->lock, &error);
		break;
	case PARTY_VERIFY:
		code = rowlock_verify(actor->lock, &error);
		break;
	case PARTY_END:
		rowlock_free(actor->lock);
		rowlock_client_free(actor->client);
		break;
	}
	if (!code &&
	    (question->word == PARTY_ACQUIRE || question->word == PARTY_ADOPT))
		believe(actor);
	snprintf(answer->message, sizeof(answer->message), "%.299s",
		 code ? error.message : "");
	return code;
}

static void play(struct actor *actor, int from, int to)
{
	struct party_question question;

	open_it(actor);
	rowlock_on_lost(actor->lock, lost, actor);
	while (read(from, &question, sizeof(question)) == sizeof(question)) {
		struct party_answer answer = { 0 };

		answer.code = act(actor, &question, &answer);
		if (write(to, &answer, sizeof(answer)) != sizeof(answer) ||
		    question.word == PARTY_END)
			break;
	}
	_exit(0);
}

struct party party_start(struct lane *lane, int index)
{
	struct actor actor = { .lane = lane, .index = index };
	int to[2], from[2];
	struct party party;

	if (pipe(to) || pipe(from))
		abort();
	party = (struct party){ fork(), to[1], from[0] };
	if (party.pid == 0) {
		close(to[1]);
		close(from[0]);
		play(&actor, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	return party;
}

pid_t rival_start(struct lane *lane)
{
	struct actor actor = { .lane = lane };
	pid_t pid = fork();

	if (pid)
		return pid;
	open_it(&actor);
	for (;;) {
		if (rowlock_acquire(actor.lock, 0, NULL) == 0) {
			bool was_taken = !lane->may_be_free;

			rowlock_release(actor.lock, NULL);
			/* An adoption may have been taken back just now. */
			if (was_taken && !lane->may_be_free)
				lane_blame(lane, &lane->counts->free,
					   "the rival got it");
		}
		lane->counts->tries++;
	}
}
