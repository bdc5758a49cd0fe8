/* SPDX-License-Identifier: MIT */
/*
 * Hands a name over in every way, and judges what must not be: two that hold
 * it, one that lives and cannot adopt it, an exporter that releases what
 * another has.
 */
#include "lane.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sql.h"
#include "test.h"

struct game {
	struct lane *lane;
	struct party parties[LANE_PARTIES];
	int holder;
	struct party_answer answer; /* the last one */
	pid_t dead;                 /* the last one that has died */
	struct test_sql *sql;
};

void lane_blame(struct lane *lane, _Atomic unsigned int *count,
		const char *format, ...)
{
	va_list args;

	(*count)++;
	if (lane->counts->said++)
		return;
	va_start(args, format);
	vsnprintf(lane->counts->first, sizeof(lane->counts->first), format,
		  args);
	va_end(args);
}

static void tell(struct game *game, int index, enum party_word word,
		 const char *text)
{
	struct party_question question = { .word = word };

	snprintf(question.text, sizeof(question.text), "%s", text);
	if (write(game->parties[index].to, &question, sizeof(question)) !=
	    sizeof(question))
		abort();
}

/* Returns its code; 1 if it died before it answered. */
static int hear(struct game *game, int index)
{
	ssize_t got = read(game->parties[index].from, &game->answer,
			   sizeof(game->answer));

	return got == sizeof(game->answer) ? game->answer.code : 1;
}

static int ask(struct game *game, int index, enum party_word word,
	       const char *text)
{
	tell(game, index, word, text);
	return hear(game, index);
}

/* It has died, or ended: another takes its place. */
static void replace(struct game *game, int index)
{
	struct party *party = &game->parties[index];

	waitpid(party->pid, NULL, 0);
	game->dead = party->pid;
	close(party->to);
	close(party->from);
	game->lane->believes[index] = 0;
	*party = party_start(game->lane, index);
}

static void end_one(struct game *game, int index)
{
	kill(game->parties[index].pid, SIGKILL);
}

/* The holder is dead: whoever comes first has the name. Its TTL is over at
 * once, by hand, so that nobody has to wait for that. */
static void acquire_anew(struct game *game, int index)
{
	game->lane->may_be_free = 1;
	game->lane->counts->died_holding++;
	/* Other lanes' statements may be in its way (1213, 1205). */
	while (test_sql_try(game->sql,
			    "UPDATE lease_session"
			    " SET expires_at = UTC_TIMESTAMP(6)"
			    " WHERE pid = %d",
			    (int) game->dead))
		;
	if (ask(game, index, PARTY_ACQUIRE, "")) {
		fprintf(stderr, "acquire: %s; first: %s\n",
			game->answer.message, game->lane->counts->first);
		abort();
	}
	game->holder = index;
	game->lane->may_be_free = 0;
}

/* The server did not answer in time, as it has much to do: then an adoption is
 * taken back, and of the rest nothing is known. */
static bool is_unanswered(struct game *game, int code)
{
	if (code != ROWLOCK_ECONNECT)
		return false;
	game->lane->counts->unanswered++;
	return true;
}

/* The answer of the party @index to an adoption that must succeed. */
static void judge_adopted(struct game *game, int index, int code,
			  const char *when)
{
	if (code == 0) {
		game->holder = index;
		game->lane->may_be_free = 0;
		return;
	}
	if (is_unanswered(game, code))
		game->lane->may_be_free = 1;
	else
		lane_blame(game->lane, &game->lane->counts->lost, "%s: %d %s",
			   when, code, game->answer.message);
	acquire_anew(game, index);
}

/* The exporter lives: what it had is lost to it, and its release does nothing.
 */
static void judge_exporter(struct game *game, int index)
{
	int code = ask(game, index, PARTY_RELEASE, "");

	if (code != ROWLOCK_ELOST && !is_unanswered(game, code))
		lane_blame(game->lane, &game->lane->counts->stale,
			   "the exporter's release: %d %s", code,
			   game->answer.message);
	code = ask(game, game->holder, PARTY_VERIFY, "");
	if (code && !is_unanswered(game, code))
		lane_blame(game->lane, &game->lane->counts->lost,
			   "after the exporter's release: %d %s", code,
			   game->answer.message);
}

static void wait_a_moment(void)
{
	for (volatile int i = rand() % 200000; i > 0; i--)
		;
}

static void race(struct game *game, const int *others, const char *text)
{
	int first, second;
	char message[300];

	tell(game, others[0], PARTY_ADOPT, text);
	tell(game, others[1], PARTY_ADOPT, text);
	first = hear(game, others[0]);
	snprintf(message, sizeof(message), "%s", game->answer.message);
	second = hear(game, others[1]);
	if (first == 0 && second == 0)
		lane_blame(game->lane, &game->lane->counts->two,
			   "both adopted it");
	else if (first && second)
		judge_adopted(game, others[1],
			      first == ROWLOCK_ECONNECT ? first : second,
			      message);
	else
		game->holder = others[first ? 1 : 0];
	if ((first && first != ROWLOCK_ELOST && !is_unanswered(game, first)) ||
	    (second && second != ROWLOCK_ELOST && !is_unanswered(game, second)))
		lane_blame(game->lane, &game->lane->counts->lost,
			   "the slower of two: %d %d %s %s", first, second,
			   message, game->answer.message);
}

/* The adopter dies before it has answered. Either it has it, and died holding
 * it, or the string is good for another one. */
static void kill_adopting(struct game *game, const int *others,
			  const char *text)
{
	int code;

	game->lane->may_be_free = 1;
	tell(game, others[0], PARTY_ADOPT, text);
	wait_a_moment();
	end_one(game, others[0]);
	replace(game, others[0]);
	code = ask(game, others[1], PARTY_ADOPT, text);
	if (code == ROWLOCK_ELOST)
		acquire_anew(game, others[1]);
	else
		judge_adopted(game, others[1], code,
			      "after the death of another adopter");
}

static void kill_exporting(struct game *game, const int *others)
{
	int exporter = game->holder;
	int code;

	game->lane->may_be_free = 1;
	tell(game, exporter, PARTY_EXPORT, "");
	wait_a_moment();
	end_one(game, exporter);
	code = hear(game, exporter);
	replace(game, exporter);
	if (code)
		acquire_anew(game, others[0]);
	else
		judge_adopted(
		    game, others[0],
		    ask(game, others[0], PARTY_ADOPT, game->answer.text),
		    "of one that died at its export");
}

static void adopt_after(struct game *game, enum lane_way way, const int *others,
			const char *text)
{
	int exporter = game->holder;

	if (way == LANE_EXPORTER_ENDS)
		ask(game, exporter, PARTY_END, "");
	if (way == LANE_KILL_EXPORTED)
		end_one(game, exporter);
	if (way == LANE_EXPORTER_ENDS || way == LANE_KILL_EXPORTED)
		replace(game, exporter);
	tell(game, others[0], PARTY_ADOPT, text);
	if (way == LANE_KILL_MEANWHILE) {
		wait_a_moment();
		end_one(game, exporter);
	}
	judge_adopted(game, others[0], hear(game, others[0]), "adopt");
	if (way == LANE_KILL_AFTER)
		end_one(game, exporter);
	if (way == LANE_KILL_MEANWHILE || way == LANE_KILL_AFTER)
		replace(game, exporter);
	if (way == LANE_KILL_ADOPTER && game->holder == others[0]) {
		game->lane->may_be_free = 1;
		end_one(game, others[0]);
		replace(game, others[0]);
		if (ask(game, exporter, PARTY_ADOPT, text) != ROWLOCK_ELOST)
			lane_blame(game->lane, &game->lane->counts->stale,
				   "a used string: %s", game->answer.message);
		acquire_anew(game, exporter);
	}
}

static bool exporter_lives(enum lane_way way)
{
	return way == LANE_PLAIN || way == LANE_RACE ||
	       way == LANE_KILL_ADOPTING;
}

static void hand_over(struct game *game, enum lane_way way)
{
	int exporter = game->holder;
	const int others[] = { (exporter + 1) % LANE_PARTIES,
			       (exporter + 2) % LANE_PARTIES };
	char text[ROWLOCK_EXPORT_SIZE];

	game->lane->counts->ways[way]++;
	if (way == LANE_KILL_EXPORTING) {
		kill_exporting(game, others);
		return;
	}
	if (ask(game, exporter, PARTY_EXPORT, "")) {
		lane_blame(game->lane, &game->lane->counts->lost, "export: %s",
			   game->answer.message);
		acquire_anew(game, exporter);
		return;
	}
	snprintf(text, sizeof(text), "%s", game->answer.text);
	if (way == LANE_RACE)
		race(game, others, text);
	else if (way == LANE_KILL_ADOPTING)
		kill_adopting(game, others, text);
	else
		adopt_after(game, way, others, text);
	if (exporter_lives(way))
		judge_exporter(game, exporter);
}

/* One of nine is not plain. */
static enum lane_way some_way(void)
{
	int number = rand() % 120;

	return number < 6                   ? LANE_RACE
	       : number - 6 < LANE_WAYS - 2 ? (enum lane_way)(number - 6 + 2)
					    : LANE_PLAIN;
}

static void play(struct lane *lane, unsigned int count)
{
	struct game game = { .lane = lane };
	pid_t rival;

	for (int i = 0; i < LANE_PARTIES; i++)
		game.parties[i] = party_start(lane, i);
	if (ask(&game, 0, PARTY_ACQUIRE, ""))
		abort();
	rival = rival_start(lane);
	game.sql = test_sql_open();
	for (unsigned int i = 0; i < count; i++)
		hand_over(&game, some_way());
	kill(rival, SIGKILL);
	for (int i = 0; i < LANE_PARTIES; i++)
		ask(&game, i, PARTY_END, "");
}

pid_t lane_start(struct lane *lane, unsigned int count, unsigned int seed)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	srand(seed);
	play(lane, count);
	_exit(0);
}
