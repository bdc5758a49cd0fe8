/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_BORROWED_H
#define ROWLOCK_SIM_BORROWED_H

/*
 * A connection of the application's, which the library borrows for the time of
 * a call. What the driver knows of it is as its last answer said.
 */

#include <stdbool.h>
#include <stdint.h>

/** The longest wait_timeout of one, in a world where anything goes wrong. */
#define SIM_APP_IDLE_S 40

struct rlk_conn;
struct rowlock_client;
struct sim_session;
struct st_mysql;

struct sim_borrowed {
	struct rlk_conn *conn; /* NULL: it is closed */
	uint64_t id;
	bool several;    /* opened for several statements in one text */
	bool autocommit; /* as the application wants it */
	bool recalls;    /* its last answer was no error: these are its flags */
	bool autocommits;
	bool in_transaction;
	uint64_t affected;
	uint64_t insert_id;
};

/** To the server of @client; false: it cannot be had. */
bool sim_borrowed_open(struct sim_borrowed *on,
		       const struct rowlock_client *client);
void sim_borrowed_close(struct sim_borrowed *on);

/** What the library is given. */
struct st_mysql *sim_borrowed_mysql(struct sim_borrowed *on);

/** A statement of the application's own. Returns the error, and in
 *  *@ret_number the first column. */
unsigned int sim_borrowed_say(struct sim_borrowed *on, const char *text,
			      uint64_t *ret_number);

/** The server's end of it; NULL: it is closed, or over there. */
const struct sim_session *sim_borrowed_session(const struct sim_borrowed *on);

/** The library has given it back: it is as it was, or closed. */
void sim_borrowed_check(const struct sim_borrowed *on, const char *call);

#endif
