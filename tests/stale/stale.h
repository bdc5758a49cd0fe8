/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_STALE_H
#define ROWLOCK_STALE_H

/*
 * A process that changes registers under locks, as an application does: it
 * reads, thinks, writes what it has read and something new, commits. What it is
 * told of each commit it says on standard output; what became of it stands in
 * the database. README.md beside this file has the words.
 */

#include <mysql.h>
#include <stdbool.h>
#include <stdint.h>

#include <rowlock/mysql.h>

#include "one_relay.h"

#define STALE_REGISTERS_MOST 64

struct stale_options {
	const char *dsn;
	const struct stale_form *form;
	unsigned int worker; /* its number: of all that it writes */
	unsigned int registers;
	unsigned int rounds; /* 0: until SIGTERM */
	unsigned int ttl_ms;
	unsigned int peer_port; /* on 127.0.0.1: of the form's own server */
	uint64_t seed;
	unsigned int stops; /* one in so many rounds; 0: none */
	unsigned int muses; /* thinks for long in one of so many; 0: never */
	bool faults;        /* or only what the driver does */
	bool direct;        /* no relay on the way to the server */
	bool observe;       /* ROWLOCK_OBSERVE_BEATS */
	bool tls_unverified;
};

/** What it was told of a commit. */
enum stale_end {
	STALE_COMMITTED = 'c',
	STALE_NOT = 'n', /* nothing was committed */
	STALE_UNKNOWN = 'u',
	STALE_REFUSED = 's', /* nothing was: it was stale */
	STALE_BROKEN = 'b',  /* nothing was: the transaction had ended */
};

struct stale_worker {
	const struct stale_options *options;
	uint64_t lots;
	MYSQL *mysql;
	struct one_relay relay;
	struct rowlock_client *client;
	struct rowlock *locks[STALE_REGISTERS_MOST]; /* by register */
	MYSQL *aside;   /* of its own: get_lock, spoil */
	uint64_t token; /* fence: of the hold */
};

/** How a register is protected. Each returns false where it did not come about,
 *  and nothing is written then. */
struct stale_form {
	const char *name;
	bool (*acquire)(struct stale_worker *worker, unsigned int number);
	bool (*begin)(struct stale_worker *worker, unsigned int number);
	enum stale_end (*commit)(struct stale_worker *worker,
				 unsigned int number);
	void (*roll_back)(struct stale_worker *worker, unsigned int number);
	void (*release)(struct stale_worker *worker, unsigned int number);
};

/** NULL: there is none of that name. */
const struct stale_form *stale_form(const char *name);

/** Print the names of all. */
void stale_print_forms(const struct stale_options *options);

/** How long an acquire waits: a stopped process comes back to a lock that
 * others had meanwhile. */
#define STALE_WAIT_MS 5000

/* Built where hiredis is. */
bool stale_redis_acquire(struct stale_worker *worker, unsigned int number);
void stale_redis_release(struct stale_worker *worker, unsigned int number);

/* Built where ZooKeeper's client is. */
bool stale_zookeeper_acquire(struct stale_worker *worker, unsigned int number);
void stale_zookeeper_release(struct stale_worker *worker, unsigned int number);
/** As far as the client knows. */
bool stale_zookeeper_holds(void);

/** True once in @n times. */
bool stale_lot(struct stale_worker *worker, unsigned int n);
unsigned int stale_draw(struct stale_worker *worker, unsigned int n);

/** Ends the process. */
__attribute__((noreturn, format(printf, 1, 2))) void stale_die(
    const char *format, ...);

/** A plain connection. */
MYSQL *stale_open(const struct stale_options *options);

/** A new connection of the application's, behind a relay. */
void stale_connect(struct stale_worker *worker);
void stale_disconnect(struct stale_worker *worker);

/** 0, or the errno of the server or the driver. */
unsigned int stale_say(MYSQL *mysql, const char *text);

/** Break locks and end connections, until standard input ends. */
void stale_spoil(const struct stale_options *options);

/** All rounds. */
void stale_work(const struct stale_options *options);

#endif
