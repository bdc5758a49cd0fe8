/* SPDX-License-Identifier: MIT */
#ifndef PROXY_PRIVATE_H
#define PROXY_PRIVATE_H

/*
 * The inside of a proxy, for its own files. The mutex protects all of it; the
 * thread lets it go while it waits.
 */

#include <pthread.h>
#include <stdio.h>

#include "address.h"
#include "history.h"
#include "link.h"
#include "proxy.h"

struct proxy {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t acted;
	int wake; /* an eventfd */
	bool stopping;

	int listener; /* -1: connections are refused */
	struct address at;
	char address[160];
	char server[160];
	struct address server_at;
	bool frozen; /* nothing is read, passed on or accepted */

	int control; /* -1: none */
	char control_path[160];
	int talker; /* who talks on it; one at a time */
	struct buffer said;

	struct link *links;
	unsigned long next_link;
	struct rule *rules;
	uint64_t random;
	struct proxy_counts counts;

	char *log;
	size_t log_size;
	FILE *log_file;
	struct history *history; /* NULL: none */
};

/* act.c */

/** A message of @link was read: count it, and do what the rules say. */
void act_on_message(struct proxy *proxy, struct link *link,
		    const struct message *message);

/** A client has connected. */
void act_on_connect(struct proxy *proxy, int client);

/** From now on the server is at @text. False: that is no address. */
bool act_switch(struct proxy *proxy, const char *text, bool keep);

/** End all links. */
void act_end_all(struct proxy *proxy, enum then then);

/* words.c */

/** Do what one line says; NULL, or what is wrong with it. An answer, if the
 *  word has one, goes to *@ret_answer. Both are to be freed. */
char *words_do(struct proxy *proxy, const char *line, char **ret_answer);

/* control.c */

bool control_open(struct proxy *proxy, const char *path);
void control_close(struct proxy *proxy);
/** Somebody connects, or talks. */
void control_accept(struct proxy *proxy);
void control_hear(struct proxy *proxy);

/* record.c */

bool record_open(struct proxy *proxy, const char *directory);
void record_close(struct proxy *proxy);

/** A line of the history: "EVENT kind=KIND ..." with words of the message that
 *  it is about (may be NULL). */
void record_fault(struct proxy *proxy, const char *kind, const char *then,
		  const struct link *link, const struct message *message);
void record_heal(struct proxy *proxy, const char *kind);
void record_beat(struct proxy *proxy, bool ok);

/** What proxy_log() shows. */
void record_request(struct proxy *proxy, const struct link *link,
		    const struct message *message);
void record_reset(struct proxy *proxy);

#endif
