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
#define STALE_NODES_MOST 9

struct stale_options {
	const char *dsn;                     /* of the library's client */
	const char *nodes[STALE_NODES_MOST]; /* for the application's own
						connection; none: dsn */
	unsigned int node_count;
	const struct stale_form *form;
	unsigned int worker; /* its number: of all that it writes */
	unsigned int registers;
	unsigned int rounds; /* 0: until SIGTERM */
	unsigned int ttl_ms;
	unsigned int peer_port; /* on 127.0.0.1: of the form's own server */
	uint64_t seed;
	unsigned int pace_ms; /* between two deeds of a spoiler, at most */
	unsigned int stops;   /* one in so many rounds; 0: none */
	unsigned int muses;   /* thinks for long in one of so many; 0: never */
	bool faults;          /* or only what the driver does */
	bool direct;          /* no relay on the way to the server */
	bool observe;         /* ROWLOCK_OBSERVE_BEATS */
	bool tls_unverified;
};

/** What it was told of a commit. */
enum stale_end {
	STALE_COMMITTED = 'c',
	STALE_NOT = 'n', /* nothing was committed */
	STALE_UNKNOWN = 'u',
	STALE_REFUSED = 's', /* nothing was: it was stale */
	STALE_BROKEN = 'b',  /* nothing was: the transaction had ended */
	STALE_DENIED = 'd',  /* nothing was: it was stale; but the hold's row
				is there, and its time is not over */
};

#define STALE_STORY_MOST 700

struct stale_worker {
	const struct stale_options *options;
	uint64_t lots;
	MYSQL *mysql;
	const char *node; /* that mysql is connected to */
	struct one_relay relay;
	struct stale_storm *storm;    /* while its statements are killed */
	bool bounded;                 /* they have a max_statement_time */
	bool again;                   /* behind another one of the same hold */
	MYSQL *brake;                 /* keeps the client's node behind */
	bool denied;                  /* the hold, though it is there */
	char story[STALE_STORY_MOST]; /* of the transaction: what was done to
					 it, what was told */
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
	bool keeps; /* the lock, behind a commit */
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
void stale_nap(struct stale_worker *worker, unsigned int most_us);

/** Ends the process. */
__attribute__((noreturn, format(printf, 1, 2))) void stale_die(
    const char *format, ...);

/** A plain connection to the client's server. */
MYSQL *stale_open(const struct stale_options *options);
/** To any; NULL: it cannot be got now. */
MYSQL *stale_open_softly(const char *dsn);

/** Tries again while others end its connections or statements. */
struct rowlock_client *stale_open_client(
    const struct stale_options *options,
    const struct rowlock_client_options *wanted);

/** A new connection of the application's, behind a relay. */
void stale_connect(struct stale_worker *worker);
void stale_disconnect(struct stale_worker *worker);

/** 0, or the errno of the server or the driver. */
unsigned int stale_say(MYSQL *mysql, const char *text);

/** The first column of the first row as a number; false: there is none. */
bool stale_ask(MYSQL *mysql, const char *text, uint64_t *ret_number);

/** The port in a connection string, or MySQL's. */
unsigned int stale_port(const char *dsn);

/** Of a clock that all processes of this machine have. */
uint64_t stale_now_ms(void);

/** Goes into the story of the transaction. */
__attribute__((format(printf, 2, 3))) void stale_note(
    struct stale_worker *worker, const char *format, ...);

/* The faults of one transaction, by lot: faults.c. */
void stale_think(struct stale_worker *worker);
void stale_end_half_way(struct stale_worker *worker);
/** Changes what all change, and what is taken back; 0, or what it failed
 * with. */
unsigned int stale_write_more(struct stale_worker *worker, unsigned int number);
/** One that was chosen as a victim is said again, as by somebody who does not
 * look. */
unsigned int stale_write_one(struct stale_worker *worker, const char *text);
/** What happens to a begin, or to a commit, while it is under way. */
void stale_disturb(struct stale_worker *worker, bool commits);
void stale_disturb_no_more(struct stale_worker *worker);

/** KILL QUERY, as fast as it goes, on the application's connection, or on those
 * that the library has: storm.c. */
void stale_storm_begin(struct stale_worker *worker, bool librarys);
void stale_storm_end(struct stale_worker *worker);

/** Break locks and end connections, until standard input ends. */
void stale_spoil(const struct stale_options *options);

/** The client's node is behind what this hold writes, until it is let go. */
void stale_brake(struct stale_worker *worker);
void stale_let_go(struct stale_worker *worker);
/** What others write to the table waits on this node, and all behind it. */
bool stale_lock_behind(MYSQL *mysql);

/** Keep the server behind the others of its cluster for a while, again and
 * again, until standard input ends. */
void stale_hold_back(const struct stale_options *options);

/** All rounds. */
void stale_work(const struct stale_options *options);

#endif
