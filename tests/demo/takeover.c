// SPDX-License-Identifier: MIT
/*
 * A holder is killed by SIGKILL while another process waits for the name: how
 * long until that one holds it?
 *
 * Two processes, each with a client; each tells by a pipe what it has reached.
 * A process that fails says why and ends, which the parent sees as the end of
 * its pipe.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "flash_sale.h"

struct party {
	pid_t pid;
	int from;
};

/* Say that something was reached, and when. */
static void tell(int to)
{
	double now = sale_seconds();

	if (write(to, &now, sizeof(now)) != sizeof(now))
		_exit(1);
}

/* Wait for tell(); 0 if the other has ended instead. */
static double hear(const struct party *party)
{
	double at;

	return read(party->from, &at, sizeof(at)) == sizeof(at) ? at : 0;
}

/* The holder stays until it is killed, the next one lets go in order. */
static int take(const struct sale *sale, int to, bool stay)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_client *client;
	struct rowlock_errinfo err;
	struct rowlock *lock = NULL;
	int code;

	if (sale_client(sale, TAKEOVER_TTL_MS, &client))
		return 1;
	options.strategy = sale->strategy;
	code = rowlock_new(client, TAKEOVER_NAME, &options, &lock, &err);
	if (!code) {
		tell(to);
		code = rowlock_acquire(lock, 60000, &err);
	}
	if (code) {
		fprintf(stderr, "flash-sale: %s\n", err.message);
		return 1;
	}
	tell(to);
	while (stay)
		pause();
	rowlock_freep(&lock);
	return rowlock_client_try_free(client, NULL) ? 1 : 0;
}

static struct party start(const struct sale *sale, bool stay)
{
	struct party party = { 0, -1 };
	int ends[2];

	if (pipe(ends))
		return party;
	fflush(stdout);
	party.pid = fork();
	if (!party.pid) {
		close(ends[0]);
		_exit(take(sale, ends[1], stay));
	}
	close(ends[1]);
	party.from = ends[0];
	return party;
}

static void end(struct party *party, int signal)
{
	if (party->pid > 0) {
		if (signal)
			kill(party->pid, signal);
		waitpid(party->pid, NULL, 0);
	}
	if (party->from >= 0)
		close(party->from);
	party->pid = 0;
	party->from = -1;
}

int sale_takeover(const struct sale *sale)
{
	struct party holder, next;
	double killed = 0, held = 0;

	holder = start(sale, true);
	next = (struct party){ 0, -1 };
	if (hear(&holder) > 0 && hear(&holder) > 0) {
		next = start(sale, false);
		if (hear(&next) > 0) {
			/* Let it get from its word into its wait. */
			nanosleep(&(struct timespec){ 0, 300000000L }, NULL);
			killed = sale_seconds();
			end(&holder, SIGKILL);
			held = hear(&next);
		}
	}
	end(&holder, SIGKILL);
	end(&next, held > 0 ? 0 : SIGKILL);
	if (held <= 0)
		return 1;
	printf("%.1f\n", (held - killed) * 1000);
	return 0;
}
