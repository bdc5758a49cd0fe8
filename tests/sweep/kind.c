// SPDX-License-Identifier: MIT
/*
 * The kinds of faults. %u is a time that no call waits for.
 */
#include "sweep.h"

const struct kind kinds[] = {
	/* The server never sees it. */
	{ "lost-rst", "request", "drop then=rst", EFFECT_ENDED, .main = true },
	{ "lost-fin", "request", "drop then=fin", EFFECT_ENDED, .full = true },
	{ "lost-silence", "request", "drop then=silence", EFFECT_QUIET },
	{ "lost-vanish", "request", "drop then=vanish", EFFECT_QUIET,
	  .half_open = true, .full = true },
	{ "cut-request", "request", "cut byte=6 then=rst", EFFECT_ENDED },
	{ "cut-request-1", "request", "cut byte=1 then=fin", EFFECT_ENDED,
	  .full = true },
	{ "cut-request-4", "request", "cut byte=4 then=silence", EFFECT_QUIET,
	  .full = true },

	/* It is executed, and nobody knows. */
	{ "done-rst", "reply", "drop then=rst", EFFECT_ENDED, .main = true },
	{ "done-fin", "reply", "drop then=fin", EFFECT_ENDED, .full = true },
	{ "done-silence", "reply", "drop then=silence", EFFECT_QUIET,
	  .main = true },
	{ "done-vanish", "reply", "drop then=vanish", EFFECT_QUIET,
	  .half_open = true },
	{ "done-late", "reply", "delay ms=%u", EFFECT_QUIET },
	{ "cut-reply", "reply", "cut byte=6 then=fin", EFFECT_ENDED },
	{ "cut-reply-1", "reply", "cut byte=1 then=rst", EFFECT_ENDED,
	  .full = true },
	{ "cut-reply-4", "reply", "cut byte=4 then=fin", EFFECT_ENDED,
	  .full = true },
	{ "cut-reply-5", "reply", "cut byte=5 then=silence", EFFECT_QUIET,
	  .full = true },
	{ "cut-reply-9", "reply", "cut byte=9 then=fin", EFFECT_ENDED,
	  .full = true },

	/* It is executed when its client has gone. */
	{ "zombie", "request", "hold then=fin", EFFECT_ENDED,
	  DELIVER_AFTER_CALL },
	{ "zombie-late", "request", "hold then=rst", EFFECT_ENDED,
	  DELIVER_AFTER_RIVAL },
	{ "zombie-quiet", "request", "hold then=silence", EFFECT_QUIET,
	  DELIVER_AFTER_CALL, .full = true },

	/* Slow, but nothing is lost. */
	{ "delay-request", "request", "delay ms=40", EFFECT_NONE,
	  .full = true },
	{ "delay-reply", "reply", "delay ms=40", EFFECT_NONE },
	{ "twice", "request", "duplicate", EFFECT_TWICE },

	/* So slow that each byte is news, but the whole never comes. */
	{ "dribble", "reply", "dribble ms=97", EFFECT_QUIET },
	{ "dribble-request", "request", "dribble ms=97", EFFECT_QUIET,
	  .half_open = true, .full = true },

	/* The server's own words. */
	{ "error-1205", "request", "error code=1205 state=HY000", EFFECT_BUSY },
	{ "error-1213", "request", "error code=1213 state=40001", EFFECT_BUSY },
	{ "error-1290", "request", "error code=1290 state=HY000",
	  EFFECT_REFUSED, .main = true },
	{ "error-1047", "request", "error code=1047 state=08S01",
	  EFFECT_REFUSED, .full = true },
	{ "error-1114", "request", "error code=1114 state=HY000",
	  EFFECT_REFUSED, .full = true },
	{ "error-1317", "request", "error code=1317 state=70100", EFFECT_BUSY,
	  .full = true },
	{ "error-1969", "request", "error code=1969 state=70100", EFFECT_BUSY,
	  .full = true },
	{ "error-1020", "request", "error code=1020 state=HY000", EFFECT_BUSY,
	  .full = true },
	{ "error-1040", "request", "error code=1040 state=08004",
	  EFFECT_REFUSED, .full = true },
	{ "error-1053", "request", "error code=1053 state=08S01 then=fin",
	  EFFECT_ENDED, .full = true },
	{ "error-1053-done", "reply", "error code=1053 state=08S01 then=fin",
	  EFFECT_ENDED },
	{ "error-1180-done", "reply", "error code=1180 state=HY000",
	  EFFECT_ENDED, .full = true },
	{ "error-1927-done", "reply", "error code=1927 state=70100 then=fin",
	  EFFECT_ENDED, .full = true },
	{ "error-4031", "request", "error code=4031 state=HY000 then=fin",
	  EFFECT_ENDED, .full = true },

	/* No checksum protects a reply. */
	{ "garble", "reply", "garble bytes=3", EFFECT_LIED },
	{ "garble-header", "reply", "garble bytes=3 header", EFFECT_LIED,
	  .full = true },
	{ "garble-much", "reply", "garble bytes=60 header", EFFECT_LIED,
	  .full = true },

	/* A new connection. */
	{ "connect-rst", "connect", "drop then=rst", EFFECT_ENDED },
	{ "connect-silence", "connect", "drop then=silence", EFFECT_QUIET },
	{ "connect-1040", "connect", "error code=1040", EFFECT_ENDED },
	{ "connect-late", "connect", "delay ms=%u", EFFECT_QUIET,
	  .full = true },
};

const size_t kind_count = sizeof(kinds) / sizeof(kinds[0]);
