/* SPDX-License-Identifier: MIT */
#ifndef PROXY_RULE_H
#define PROXY_RULE_H

/*
 * A rule: at which message it is carried out, and what is done then. The words
 * are in README.md.
 */

#include "wire.h"

enum place { AT_CONNECT, AT_REQUEST, AT_REPLY };

enum act {
	ACT_PASS,
	ACT_DELAY,
	ACT_DROP,
	ACT_HOLD,
	ACT_CUT,
	ACT_DRIBBLE,
	ACT_GARBLE,
	ACT_DUPLICATE,
	ACT_ERROR,
	ACT_SWITCH,
};

/** How a connection goes on. */
enum then {
	THEN_ON,
	THEN_FIN,
	THEN_RST,
	THEN_SILENCE, /* nothing passes; an end does */
	THEN_VANISH,  /* not even that: the server never hears of it */
};

struct rule {
	struct rule *next;

	enum place place;
	unsigned long conn; /* 0: any */
	unsigned long at;   /* number on its connection */
	unsigned long all;  /* number of all */
	unsigned long match;
	bool always;
	double chance; /* percent */
	char *command; /* NULL: any */
	char *sql;     /* a pattern; NULL: any */

	enum act act;
	enum then then;
	long ms;             /* -1: for ever */
	unsigned long byte;  /* cut */
	unsigned long bytes; /* dribble, garble */
	unsigned int code;
	char *state;
	char *text;
	char *server;
	bool keep; /* switch: the old connections live on */
	bool header;

	unsigned long seen; /* messages that fitted */
	bool done;
};

/** Where a message stands. */
struct spot {
	enum place place;
	unsigned long conn;
	unsigned long at;
	unsigned long all;
	const char *command;
	const char *sql;
};

/** Read a line. Returns NULL, or what is wrong with it; free() it. */
char *rule_parse(const char *line, struct rule **ret_rule);

struct rule *rule_free(struct rule *rule);

/** Is it @rule's turn? Counts. @random is a number of 64 random bits. */
bool rule_fits(struct rule *rule, const struct spot *spot, uint64_t random);

/** Forget what was counted; the rule may be carried out again. */
void rule_reset(struct rule *rule);

const char *rule_act_name(enum act act);
const char *rule_then_name(enum then then);

#endif
