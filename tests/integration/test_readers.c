// SPDX-License-Identifier: MIT
/*
 * Readers and writers are processes that want one name all the time; now and
 * then one of them is killed. Nobody reads while one writes, no two write, a
 * reader that becomes the writer finds what it has read, and a writer that
 * becomes a reader what it has written.
 *
 *     test_readers [READERS [WRITERS [SECONDS]]]    4, 2 and 3 by default;
 * every second one is killed
 *
 * ROWLOCK_TEST_NODES has the connection strings of the nodes of a cluster, a
 * blank between two: the clients talk to them in turn.
 *
 * Whoever is in says so in memory that all share, after its grant and until its
 * release, and then looks who else does. So nobody is accused for what lies
 * between a call and its return, and of two that are in one sees the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rowlock/rwlock.h>

#include "clients.h"
#include "sql.h"
#include "test.h"

#define TTL_MS 1000

static unsigned int readers = 4;
static unsigned int writers = 2;
static unsigned int seconds = 3;

/* Who is in: its number, and whether it writes. */
#define IN(number, writes) ((number) << 1 | ((writes) ? 1u : 0u))

struct shared {
	struct clients clients;
	_Atomic unsigned int in[CLIENTS_MOST]; /* of each place; 0: nobody */
	_Atomic uint64_t version;              /* how often it was written */
	_Atomic uint64_t reads;
	_Atomic uint64_t writes;
	_Atomic uint64_t ups;
	_Atomic uint64_t refused;
	_Atomic uint64_t worst_us; /* the longest wait of a writer, */
	_Atomic uint64_t late_us; /* and since nobody was in its way any more */
	_Atomic uint64_t last_ns; /* when the last one was out, or dead */
	_Atomic unsigned int overlaps;
	_Atomic unsigned int changes; /* between what may have none */
	uint64_t ttl_ms;
	char name[80];
};

static struct shared *shared;

/* ------------------------------------------------------------- a client */

struct client {
	unsigned int place;
	unsigned int number;
	struct rowlock *reader;
	struct rowlock *writer;
	struct rowlock_errinfo err;
};

static void enter(const struct client *client, bool writes)
{
	unsigned int mine = IN(client->number, writes);

	shared->in[client->place] = mine;
	for (unsigned int i = 0; i < CLIENTS_MOST; i++) {
		unsigned int other = shared->in[i];

		if (i != client->place && other && ((mine | other) & 1) &&
		    !shared->clients.killed[other >> 1])
			shared->overlaps++;
	}
}

/* The larger one stays. */
static void keep_most(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t before = *most;

	while (before < value &&
	       !atomic_compare_exchange_weak(most, &before, value))
		;
}

static void leave(const struct client *client)
{
	shared->in[client->place] = 0;
	keep_most(&shared->last_ns, test_now_ns());
}

/* The name is kept for a moment, as if there were something to do. */
static void stay(void)
{
	usleep((useconds_t) (rand() % 3000));
}

static int give_back(struct client *client, struct rowlock *lock)
{
	leave(client);
	return rowlock_release(lock, &client->err);
}

/* A try, or until it is had: on a busy machine a short time might end in the
 * middle of a question. */
static uint64_t some_time(void)
{
	return rand() % 4 ? (uint64_t) test_patience_ms() : 0;
}

static int refused(int code)
{
	/* A cluster on one machine is slow at times. */
	bool late = code == ROWLOCK_ECONNECT && getenv("ROWLOCK_TEST_NODES");

	if (code != ROWLOCK_EBUSY && !late)
		return code;
	shared->refused++;
	return 0;
}

/* From reading to writing and back again. */
static int go_up_and_down(struct client *client)
{
	uint64_t seen = shared->version;
	int code =
	    rowlock_rwlock_upgrade(client->reader, some_time(), &client->err);

	if (code)
		return refused(code);
	shared->ups++;
	enter(client, true);
	if (shared->version++ != seen)
		shared->changes++;
	/* From somewhere in this call on others may read. */
	shared->in[client->place] = IN(client->number, false);
	code = rowlock_rwlock_downgrade(client->writer, &client->err);
	if (code)
		return code;
	enter(client, false);
	if (shared->version != seen + 1)
		shared->changes++;
	return 0;
}

static int read_once(struct client *client)
{
	int code = rowlock_acquire(client->reader, some_time(), &client->err);
	int released;

	if (code)
		return refused(code);
	shared->reads++;
	enter(client, false);
	stay();
	if (rand() % 8 == 0)
		code = go_up_and_down(client);
	/* A change that lost it has left nothing to release. */
	if (code == ROWLOCK_ELOST)
		return code;
	released =
	    give_back(client, rowlock_held(client->writer) ? client->writer
							   : client->reader);
	return code ? code : released;
}

static void note_wait(uint64_t began_ns)
{
	uint64_t now = test_now_ns();
	uint64_t last = shared->last_ns;

	keep_most(&shared->worst_us, (now - began_ns) / 1000);
	if (last < began_ns)
		last = began_ns;
	if (last < now)
		keep_most(&shared->late_us, (now - last) / 1000);
}

static int write_once(struct client *client)
{
	uint64_t began = test_now_ns();
	int code = rowlock_acquire(client->writer, some_time(), &client->err);
	uint64_t seen;

	if (code)
		return refused(code);
	note_wait(began);
	shared->writes++;
	enter(client, true);
	seen = shared->version;
	stay();
	if (shared->version++ != seen)
		shared->changes++;
	return give_back(client, client->writer);
}

static int live(unsigned int place, unsigned int number)
{
	struct rowlock_client_options options =
	    test_client_options(shared->ttl_ms);
	struct client client = { .place = place, .number = number };
	struct rowlock_client *connected = NULL;
	int code;

	srand(number);
	options.dsn = clients_dsn(place);
	code = rowlock_client_new(&options, &connected, &client.err);
	if (!code)
		code = rowlock_rwlock_new(connected, shared->name, NULL,
					  &client.reader, &client.writer,
					  &client.err);
	while (!code && !shared->clients.over) {
		code =
		    place < readers ? read_once(&client) : write_once(&client);
		/* A machine that stands still for a TTL. */
		if (code == ROWLOCK_ELOST) {
			leave(&client);
			code = 0;
		}
	}
	if (code)
		fprintf(stderr, "# client %u: %s\n", number,
			client.err.message);
	rowlock_freep(&client.reader);
	rowlock_freep(&client.writer);
	rowlock_client_free(connected);
	return code ? 1 : 0;
}

/* ------------------------------------------------------------- the test */

/* If its time has come. Who is in, or waits to write, and is killed, keeps the
 * name for a TTL. */
static void kill_one(void)
{
	unsigned int kills = shared->clients.kills;
	unsigned int place = kills % (readers + writers);
	bool keeps = place >= readers || shared->in[place];

	clients_kill(&shared->clients);
	if (shared->clients.kills == kills)
		return;
	if (keeps)
		keep_most(&shared->last_ns,
			  test_now_ns() + shared->ttl_ms * 1000000ull);
}

static void nobody_reads_while_one_writes(void **state)
{
	uint64_t began = test_now_ns();

	(void) state;
	shared->ttl_ms = test_ttl_ms(TTL_MS);
	snprintf(shared->name, sizeof(shared->name), "%s",
		 test_name("readers"));
	clients_start(&shared->clients, readers + writers, live);
	while (test_ms(began, test_now_ns()) < seconds * 1000.0 ||
	       shared->writes < 20 || shared->reads < 20) {
		test_keep_waiting(began + seconds * 1000000000ull,
				  "20 reads and 20 writes; there were %llu and "
				  "%llu",
				  (unsigned long long) shared->reads,
				  (unsigned long long) shared->writes);
		usleep(10000);
		kill_one();
	}
	clients_end(&shared->clients);
	assert_int_equal(shared->overlaps, 0);
	assert_int_equal(shared->changes, 0);
	print_message("# %u readers, %u writers, %u killed: %llu reads, %llu "
		      "writes, %llu upgrades, %llu refused; a "
		      "writer waited %.0f ms at most, and %.0f ms since the "
		      "last one before it was out, or dead\n",
		      readers, writers, shared->clients.kills,
		      (unsigned long long) shared->reads,
		      (unsigned long long) shared->writes,
		      (unsigned long long) shared->ups,
		      (unsigned long long) shared->refused,
		      (double) shared->worst_us / 1000,
		      (double) shared->late_us / 1000);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST("nobody reads while one writes",
		     nobody_reads_while_one_writes),
	};

	if (argc > 1)
		readers = (unsigned int) atoi(argv[1]);
	if (argc > 2)
		writers = (unsigned int) atoi(argv[2]);
	if (argc > 3)
		seconds = (unsigned int) atoi(argv[3]);
	if (readers < 1 || writers < 1 || readers > CLIENTS_MOST ||
	    writers > CLIENTS_MOST - readers || seconds > 3600)
		return 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	return test_main(tests);
}
