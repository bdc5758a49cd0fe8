// SPDX-License-Identifier: MIT
/*
 * The examples by which the checker is judged: for each kind of violation one
 * history that has it, and its neighbours that just have not. A table, and as
 * long as it needs to be.
 */
#include "examples.h"

/* clang-format off */
#define ACQUIRE(t, who, k, name) \
	t " " who " acquire serial=" k " name=" name " wait=-1\n"
#define GOT(t, who, k) t " " who " acquired serial=" k " code=0\n"
#define HOLD(call, t, who, k, name) ACQUIRE(call, who, k, name) GOT(t, who, k)
#define HELD(t, who, k) t " " who " held serial=" k " yes=1\n"
#define GONE(t, who, k) t " " who " held serial=" k " yes=0\n"
#define LOST(t, who, k) t " " who " lost serial=" k "\n"
#define END(call, t, who, k) \
	call " " who " release serial=" k "\n" \
	t " " who " released serial=" k " code=0\n"
#define END_LOST(call, t, who, k) \
	call " " who " release serial=" k "\n" \
	t " " who " released serial=" k " code=-4\n"
#define DRAW(call, t, who, k, n) \
	call " " who " token serial=" k "\n" \
	t " " who " drew serial=" k " code=0 token=" n "\n"
#define TIMEDOUT(call, t, who, k, name) \
	call " " who " acquire serial=" k " name=" name " wait=400\n" \
	t " " who " acquired serial=" k " code=-2\n"
#define BUSY(call, t, who, k, name) \
	call " " who " acquire serial=" k " name=" name " wait=0\n" \
	t " " who " acquired serial=" k " code=-1\n"
#define VERIFY(call, t, who, k) \
	call " " who " verify serial=" k "\n" \
	t " " who " verified serial=" k " code=0\n"
#define LEASE(who, ttl) "0 " who " client ttl=" ttl " strategy=lease\n"
#define OBSERVER(who, ttl) \
	"0 " who " client ttl=" ttl " strategy=lease observe=1\n"
#define ROW(who, ttl) "0 " who " client ttl=" ttl " strategy=row\n"
#define FAULT(t, kind, target) \
	t " 0.0 fault kind=" kind " target=" target "\n"
#define HEAL(t, kind, target) t " 0.0 heal kind=" kind " target=" target "\n"

#define GOOD NO_VIOLATION, 0, 0, false
#define BAD(kind, count, lines) CHECK_##kind, count, lines, false

const struct example examples[] = {
	/* ------------------------------------------ S1, S3: one at a time */
	{ "the checker finds nothing in a good history",
	  HOLD("100", "105", "1.0", "1", "a")
	  DRAW("106", "108", "1.0", "1", "7")
	  HELD("190", "1.0", "1") END("200", "205", "1.0", "1")
	  HOLD("90", "203", "2.0", "1", "a") DRAW("206", "208", "2.0", "1", "8")
	  END("300", "305", "2.0", "1")
	  HOLD("400", "405", "1.0", "2", "a") END("500", "505", "1.0", "2"),
	  GOOD },
	{ "the checker sees two holders at once",
	  HOLD("100", "105", "1.0", "1", "a") HELD("199", "1.0", "1")
	  END("200", "205", "1.0", "1")
	  HOLD("90", "150", "2.0", "1", "a") HELD("160", "2.0", "1")
	  END("300", "305", "2.0", "1"),
	  BAD(DOUBLE, 1, 6) },
	{ "the checker sees an acquire that lies within a hold",
	  HOLD("100", "105", "1.0", "1", "a") END("200", "205", "1.0", "1")
	  HOLD("110", "120", "2.0", "1", "a"),
	  BAD(DOUBLE, 1, 6) },
	{ "the checker shows held() rather than a call",
	  HOLD("100", "105", "1.0", "1", "a") HELD("190", "1.0", "1")
	  END("200", "205", "1.0", "1") HOLD("110", "120", "2.0", "1", "a"),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker accepts a hand-over in the same instant",
	  HOLD("100", "105", "1.0", "1", "a") END("200", "205", "1.0", "1")
	  HOLD("90", "200", "2.0", "1", "a") END("300", "305", "2.0", "1"),
	  GOOD },
	{ "the checker accepts a late clock of who was stopped in its acquire",
	  HOLD("100", "105", "1.0", "1", "a") END("400", "405", "1.0", "1")
	  LEASE("2.0", "300")
	  FAULT("50", "stop", "2") HOLD("20", "200", "2.0", "1", "a")
	  HEAL("199", "stop", "2") GONE("210", "2.0", "1")
	  LOST("211", "2.0", "1"),
	  GOOD },
	{ "the checker sees holds inside a long one",
	  HOLD("100", "105", "1.0", "1", "a") END("1000", "1005", "1.0", "1")
	  HOLD("110", "115", "3.0", "1", "a") END("120", "125", "3.0", "1")
	  HOLD("800", "805", "3.0", "2", "a") END("810", "815", "3.0", "2"),
	  BAD(DOUBLE, 2, 6) },
	{ "the checker knows names apart",
	  HOLD("100", "105", "1.0", "1", "a") END("200", "205", "1.0", "1")
	  HOLD("110", "115", "2.0", "1", "b") END("300", "305", "2.0", "1"),
	  GOOD },
	{ "the checker knows strategies apart",
	  LEASE("1.0", "30000") ROW("2.0", "10000")
	  HOLD("100", "105", "1.0", "1", "a") END("200", "205", "1.0", "1")
	  HOLD("110", "115", "2.0", "1", "a") END("300", "305", "2.0", "1"),
	  GOOD },
	{ "the checker believes a lost hold up to its last proof",
	  LEASE("1.0", "300")
	  FAULT("210", "stop", "1") HEAL("490", "stop", "1")
	  HOLD("100", "105", "1.0", "1", "a") HELD("200", "1.0", "1")
	  LOST("495", "1.0", "1") END_LOST("500", "505", "1.0", "1")
	  HOLD("290", "300", "2.0", "1", "a") END("400", "405", "2.0", "1"),
	  GOOD },
	{ "the checker does not believe it longer",
	  LEASE("1.0", "300")
	  FAULT("210", "stop", "1") HEAL("490", "stop", "1")
	  HOLD("100", "105", "1.0", "1", "a") HELD("301", "1.0", "1")
	  LOST("495", "1.0", "1") END_LOST("500", "505", "1.0", "1")
	  HOLD("290", "300", "2.0", "1", "a") END("400", "405", "2.0", "1"),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker sees a token drawn by who lost his hold",
	  LEASE("1.0", "300")
	  FAULT("210", "stop", "1") HEAL("490", "stop", "1")
	  HOLD("100", "105", "1.0", "1", "a")
	  DRAW("350", "360", "1.0", "1", "9")
	  LOST("495", "1.0", "1") END_LOST("500", "505", "1.0", "1")
	  HOLD("290", "300", "2.0", "1", "a") END("400", "405", "2.0", "1"),
	  BAD(DOUBLE, 1, 6) },
	{ "the checker counts a killed holder up to what it wrote",
	  LEASE("1.0", "1000") FAULT("250", "kill", "1")
	  HOLD("100", "105", "1.0", "1", "a") HELD("200", "1.0", "1")
	  HOLD("110", "210", "2.0", "1", "a") END("300", "305", "2.0", "1"),
	  GOOD },
	{ "the checker sees a killed holder overtaken",
	  LEASE("1.0", "1000") FAULT("250", "kill", "1")
	  HOLD("100", "105", "1.0", "1", "a") HELD("220", "1.0", "1")
	  HOLD("110", "210", "2.0", "1", "a") END("300", "305", "2.0", "1"),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker knows that a break is told at the next beat only",
	  HOLD("100", "105", "1.0", "1", "a") HELD("240", "1.0", "1")
	  "150 0.0 broke name=a\n" LOST("250", "1.0", "1")
	  END_LOST("255", "260", "1.0", "1")
	  HOLD("110", "210", "2.0", "1", "a") END("300", "305", "2.0", "1"),
	  GOOD },
	{ "the checker lets a row's end go unnoticed for a moment",
	  ROW("1.0", "10000") ROW("2.0", "10000") FAULT("200", "cut", "server")
	  HOLD("100", "105", "1.0", "1", "a") HELD("260", "1.0", "1")
	  LOST("265", "1.0", "1") END_LOST("270", "275", "1.0", "1")
	  HOLD("110", "201", "2.0", "1", "a") END("400", "405", "2.0", "1"),
	  GOOD },
	{ "the checker lets it go unnoticed for no more than that",
	  ROW("1.0", "10000") ROW("2.0", "10000") FAULT("200", "cut", "server")
	  HOLD("100", "105", "1.0", "1", "a") HELD("310", "1.0", "1")
	  LOST("315", "1.0", "1") END_LOST("320", "325", "1.0", "1")
	  HOLD("110", "201", "2.0", "1", "a") END("400", "405", "2.0", "1"),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker lets who is cut off not hear that his row has ended",
	  ROW("1.0", "1000") ROW("2.0", "1000") FAULT("50", "idle", "all")
	  HOLD("100", "105", "1.0", "1", "a") FAULT("190", "drop", "1")
	  HELD("1100", "1.0", "1") LOST("1110", "1.0", "1")
	  HOLD("110", "201", "2.0", "1", "a") END("1400", "1405", "2.0", "1"),
	  GOOD },
	{ "the checker lets him for no longer than the idle bound",
	  ROW("1.0", "1000") ROW("2.0", "1000") FAULT("50", "idle", "all")
	  HOLD("100", "105", "1.0", "1", "a") FAULT("190", "drop", "1")
	  HELD("1300", "1.0", "1") LOST("1310", "1.0", "1")
	  HOLD("110", "201", "2.0", "1", "a") END("1400", "1405", "2.0", "1"),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker lets him only if others may have ended it",
	  ROW("1.0", "1000") ROW("2.0", "1000")
	  HOLD("100", "105", "1.0", "1", "a") FAULT("190", "drop", "1")
	  HELD("1100", "1.0", "1") LOST("1110", "1.0", "1")
	  HOLD("110", "201", "2.0", "1", "a") END("1400", "1405", "2.0", "1"),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker lets nobody whose packets are not those that are lost",
	  ROW("1.0", "1000") ROW("2.0", "1000") FAULT("50", "idle", "all")
	  HOLD("100", "105", "1.0", "1", "a") FAULT("190", "drop", "3")
	  HELD("1100", "1.0", "1") LOST("1110", "1.0", "1")
	  HOLD("110", "201", "2.0", "1", "a") END("1400", "1405", "2.0", "1"),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker lets no server confirm a row that has ended",
	  ROW("1.0", "10000") ROW("2.0", "10000") FAULT("200", "cut", "server")
	  HOLD("100", "105", "1.0", "1", "a") VERIFY("260", "262", "1.0", "1")
	  LOST("265", "1.0", "1") END_LOST("270", "275", "1.0", "1")
	  HOLD("110", "201", "2.0", "1", "a") END("400", "405", "2.0", "1"),
	  BAD(DOUBLE, 1, 6) },
	{ "the checker takes no release that a neighbour got for the server's",
	  ROW("1.0", "10000") ROW("2.0", "10000") FAULT("200", "cut", "server")
	  HOLD("100", "105", "1.0", "1", "a") END("260", "262", "1.0", "1")
	  ACQUIRE("150", "1.1", "2", "a")
	  HOLD("110", "201", "2.0", "1", "a") END("400", "405", "2.0", "1"),
	  GOOD },
	{ "the checker takes one for it that no neighbour waited for",
	  ROW("1.0", "10000") ROW("2.0", "10000") FAULT("200", "cut", "server")
	  HOLD("100", "105", "1.0", "1", "a") END("260", "262", "1.0", "1")
	  ACQUIRE("150", "1.1", "2", "b") BUSY("120", "130", "1.1", "1", "a")
	  HOLD("110", "201", "2.0", "1", "a") END("400", "405", "2.0", "1"),
	  BAD(DOUBLE, 1, 6) },
	{ "the checker excuses two who trust a clock that jumped",
	  FAULT("150", "clock", "server")
	  HOLD("100", "105", "1.0", "1", "a") HELD("240", "1.0", "1")
	  LOST("250", "1.0", "1") END_LOST("255", "260", "1.0", "1")
	  HOLD("110", "210", "2.0", "1", "a") END("300", "305", "2.0", "1"),
	  GOOD },

	/* -------------------------------------------- S3: lost is for ever */
	{ "the checker sees a hold that held() took back",
	  FAULT("110", "proxy-cut", "1") HEAL("119", "proxy-cut", "1")
	  HOLD("100", "105", "1.0", "1", "a") GONE("120", "1.0", "1")
	  LOST("121", "1.0", "1") HELD("130", "1.0", "1"),
	  BAD(REVIVED, 1, 3) },
	{ "the checker sees a hold that lives after its lost callback",
	  FAULT("110", "proxy-cut", "1") HEAL("119", "proxy-cut", "1")
	  HOLD("100", "105", "1.0", "1", "a") LOST("120", "1.0", "1")
	  VERIFY("130", "135", "1.0", "1"),
	  BAD(REVIVED, 1, 4) },
	{ "the checker accepts held() that was asked before the callback ran",
	  FAULT("110", "proxy-cut", "1") HEAL("119", "proxy-cut", "1")
	  HOLD("100", "105", "1.0", "1", "a") HELD("119", "1.0", "1")
	  LOST("120", "1.0", "1") END_LOST("130", "135", "1.0", "1"),
	  GOOD },

	{ "the checker sees a hold that is held after its release",
	  HOLD("100", "105", "1.0", "1", "a") END("110", "112", "1.0", "1")
	  HELD("113", "1.0", "1"),
	  BAD(REVIVED, 1, 3) },
	{ "the checker sees a hold that is verified after its release",
	  HOLD("100", "105", "1.0", "1", "a") END("110", "112", "1.0", "1")
	  VERIFY("113", "115", "1.0", "1"),
	  BAD(REVIVED, 1, 4) },
	{ "the checker accepts held() that was asked before the release",
	  HOLD("100", "105", "1.0", "1", "a") HELD("109", "1.0", "1")
	  END("110", "112", "1.0", "1") GONE("113", "1.0", "1"),
	  GOOD },
	{ "the checker sees a hold past its maximum",
	  "0 1.0 client ttl=30000 strategy=lease max=3000\n"
	  HOLD("100", "105", "1.0", "1", "a") HELD("3206", "1.0", "1")
	  END("3300", "3301", "1.0", "1"),
	  BAD(REVIVED, 1, 4) },
	{ "the checker sees a hold that a server confirms past its maximum",
	  "0 1.0 client ttl=30000 strategy=lease max=3000\n"
	  HOLD("100", "105", "1.0", "1", "a") VERIFY("3206", "3207", "1.0", "1")
	  LOST("3300", "1.0", "1"),
	  BAD(REVIVED, 1, 5) },
	{ "the checker gives a maximum a moment",
	  "0 1.0 client ttl=30000 strategy=lease max=3000\n"
	  HOLD("100", "105", "1.0", "1", "a") HELD("3205", "1.0", "1")
	  LOST("3206", "1.0", "1"),
	  GOOD },
	{ "the checker sees a break that its holder does not notice",
	  LEASE("1.0", "2000")
	  HOLD("100", "105", "1.0", "1", "a") "200 0.0 broke name=a\n"
	  HELD("7201", "1.0", "1"),
	  BAD(REVIVED, 1, 5) },
	{ "the checker accepts a break that is noticed within a TTL",
	  LEASE("1.0", "2000")
	  HOLD("100", "105", "1.0", "1", "a") "200 0.0 broke name=a\n"
	  HELD("7200", "1.0", "1") LOST("7201", "1.0", "1"),
	  GOOD },
	{ "the checker expects no notice of a break before the grant",
	  LEASE("1.0", "2000") "104 0.0 broke name=a\n" "200 0.0 broke name=b\n"
	  HOLD("100", "105", "1.0", "1", "a") HELD("7201", "1.0", "1"),
	  GOOD },

	/* --------------------------------------------------- S2: tokens */
	{ "the checker sees a token that does not grow",
	  HOLD("100", "105", "1.0", "1", "a")
	  DRAW("106", "108", "1.0", "1", "7")
	  END("110", "115", "1.0", "1")
	  HOLD("120", "125", "2.0", "1", "a")
	  DRAW("126", "128", "2.0", "1", "6")
	  END("130", "135", "2.0", "1")
	  HOLD("140", "145", "3.0", "1", "a")
	  DRAW("146", "148", "3.0", "1", "8"),
	  BAD(TOKENS, 1, 6) },
	{ "the checker sees a token that does not grow for who waited",
	  HOLD("100", "105", "1.0", "1", "a")
	  DRAW("106", "108", "1.0", "1", "7")
	  END("110", "115", "1.0", "1")
	  HOLD("90", "125", "2.0", "1", "a")
	  DRAW("126", "128", "2.0", "1", "6"),
	  BAD(TOKENS, 1, 6) },
	{ "the checker sees a token given twice",
	  HOLD("100", "105", "1.0", "1", "a")
	  DRAW("106", "108", "1.0", "1", "7")
	  END("110", "115", "1.0", "1")
	  HOLD("120", "125", "2.0", "1", "a")
	  DRAW("126", "128", "2.0", "1", "7"),
	  BAD(TOKENS, 1, 6) },
	{ "the checker sees tokens out of order that came with the grant",
	  ACQUIRE("100", "1.0", "1", "a")
	  "105 1.0 acquired serial=1 code=0 token=7\n"
	  END("110", "115", "1.0", "1") ACQUIRE("120", "2.0", "1", "a")
	  "125 2.0 acquired serial=1 code=0 token=5\n",
	  BAD(TOKENS, 1, 4) },
	{ "the checker sees a larger token drawn by who held before",
	  LEASE("1.0", "300") FAULT("107", "stop", "1") HEAL("490", "stop", "1")
	  HOLD("100", "105", "1.0", "1", "a")
	  DRAW("106", "495", "1.0", "1", "11")
	  LOST("496", "1.0", "1") END_LOST("500", "505", "1.0", "1")
	  HOLD("290", "300", "2.0", "1", "a")
	  DRAW("301", "305", "2.0", "1", "10") END("600", "605", "2.0", "1"),
	  BAD(TOKENS, 1, 7) },
	{ "the checker accepts the smaller token of who held before",
	  LEASE("1.0", "300") FAULT("107", "stop", "1") HEAL("490", "stop", "1")
	  HOLD("100", "105", "1.0", "1", "a")
	  DRAW("106", "495", "1.0", "1", "9")
	  LOST("496", "1.0", "1") END_LOST("500", "505", "1.0", "1")
	  HOLD("290", "300", "2.0", "1", "a")
	  DRAW("301", "305", "2.0", "1", "10") END("600", "605", "2.0", "1"),
	  GOOD },
	{ "the checker orders no tokens of who asked at once",
	  FAULT("107", "stop", "1") HEAL("490", "stop", "1")
	  HOLD("100", "105", "1.0", "1", "a")
	  DRAW("106", "495", "1.0", "1", "11")
	  END("500", "505", "1.0", "1")
	  HOLD("104", "601", "2.0", "1", "a")
	  DRAW("602", "605", "2.0", "1", "12")
	  HOLD("20", "99", "3.0", "1", "a") DRAW("50", "600", "3.0", "1", "10")
	  FAULT("51", "stop", "3") HEAL("599", "stop", "3"),
	  GOOD },
	{ "the checker sees a hold with two tokens",
	  HOLD("100", "105", "1.0", "1", "a")
	  DRAW("106", "108", "1.0", "1", "7")
	  DRAW("109", "111", "1.0", "1", "8"),
	  BAD(TOKENS, 1, 5) },
	{ "the checker accepts a token that is asked for again",
	  HOLD("100", "105", "1.0", "1", "a")
	  DRAW("106", "108", "1.0", "1", "7")
	  DRAW("109", "111", "1.0", "1", "7"),
	  GOOD },
	{ "the checker compares no tokens of two names",
	  HOLD("100", "105", "1.0", "1", "a")
	  DRAW("106", "108", "1.0", "1", "7")
	  HOLD("120", "125", "2.0", "1", "b")
	  DRAW("126", "128", "2.0", "1", "7"),
	  GOOD },

	/* --------------------------------------------------- S4: told in time */
	{ "the checker sees one who was cut off and never told",
	  LEASE("1.0", "1000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("199", "drop", "1")
	  FAULT("200", "silence", "1") HELD("300", "1.0", "1")
	  HEAL("2000", "silence", "1")
	  HEAL("2001", "drop", "1"),
	  BAD(LATE_LOSS, 1, 5) },
	{ "the checker sees one who was told too late",
	  LEASE("1.0", "1000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("199", "freeze", "server")
	  FAULT("200", "silence", "server") LOST("1201", "1.0", "1")
	  HEAL("2000", "silence", "server")
	  HEAL("2001", "freeze", "server"),
	  BAD(LATE_LOSS, 1, 5) },
	{ "the checker accepts who was told in time",
	  LEASE("1.0", "1000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("199", "freeze", "server")
	  FAULT("200", "silence", "server") LOST("1199", "1.0", "1")
	  HEAL("2000", "silence", "server")
	  HEAL("2001", "freeze", "server"),
	  GOOD },
	{ "the checker expects no loss of a short cut",
	  LEASE("1.0", "1000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("199", "drop", "1")
	  FAULT("200", "silence", "1") HEAL("1100", "silence", "1")
	  HEAL("1101", "drop", "1")
	  HELD("3000", "1.0", "1"),
	  GOOD },
	{ "the checker expects none of who released, or of another's cut",
	  LEASE("1.0", "1000") LEASE("2.0", "1000")
	  HOLD("100", "105", "1.0", "1", "a")
	  HOLD("100", "105", "2.0", "1", "b")
	  FAULT("199", "drop", "1")
	  FAULT("200", "silence", "1") END("300", "305", "1.0", "1")
	  HEAL("2000", "silence", "1")
	  HEAL("2001", "drop", "1") HELD("3000", "2.0", "1"),
	  GOOD },
	{ "the checker does not judge who was stopped meanwhile",
	  LEASE("1.0", "1000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("199", "drop", "1")
	  FAULT("200", "silence", "1") FAULT("300", "stop", "1")
	  HEAL("1900", "stop", "1") LOST("1901", "1.0", "1")
	  HEAL("2000", "silence", "1")
	  HEAL("2001", "drop", "1"),
	  GOOD },
	{ "the checker allows a loss no more than the time without CPU",
	  LEASE("1.0", "1000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("199", "freeze", "server")
	  FAULT("200", "silence", "server") FAULT("300", "busy", "1")
	  HEAL("315", "busy", "1") LOST("1216", "1.0", "1")
	  HEAL("2000", "silence", "server")
	  HEAL("2001", "freeze", "server"),
	  BAD(LATE_LOSS, 1, 5) },
	{ "the checker allows a loss the time without CPU",
	  LEASE("1.0", "1000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("199", "freeze", "server")
	  FAULT("200", "silence", "server") FAULT("300", "busy", "1")
	  HEAL("315", "busy", "1") LOST("1215", "1.0", "1")
	  HEAL("2000", "silence", "server")
	  HEAL("2001", "freeze", "server"),
	  GOOD },
	{ "the checker sees a loss without a callback",
	  FAULT("110", "proxy-cut", "1") HEAL("119", "proxy-cut", "1")
	  HOLD("100", "105", "1.0", "1", "a") GONE("120", "1.0", "1")
	  END_LOST("121", "125", "1.0", "1")
	  HOLD("130", "135", "1.0", "2", "b") HELD("1200", "1.0", "2"),
	  BAD(LATE_LOSS, 1, 4) },
	{ "the checker sees a loss that a call told without a callback",
	  FAULT("110", "proxy-cut", "1") HEAL("119", "proxy-cut", "1")
	  HOLD("100", "105", "1.0", "1", "a") "120 1.0 verify serial=1\n"
	  "121 1.0 verified serial=1 code=-4\n"
	  HOLD("130", "135", "1.0", "2", "b") HELD("1200", "1.0", "2"),
	  BAD(LATE_LOSS, 1, 5) },
	{ "the checker sees a callback long after the loss was told",
	  FAULT("110", "proxy-cut", "1") HEAL("119", "proxy-cut", "1")
	  HOLD("100", "105", "1.0", "1", "a") GONE("120", "1.0", "1")
	  LOST("1122", "1.0", "1") END_LOST("1123", "1125", "1.0", "1"),
	  BAD(LATE_LOSS, 1, 4) },
	{ "the checker accepts a callback soon after the loss was told",
	  FAULT("110", "proxy-cut", "1") HEAL("119", "proxy-cut", "1")
	  HOLD("100", "105", "1.0", "1", "a") GONE("120", "1.0", "1")
	  LOST("1119", "1.0", "1") END_LOST("1123", "1125", "1.0", "1"),
	  GOOD },
	{ "the checker allows a callback the time without CPU",
	  FAULT("110", "proxy-cut", "1") HEAL("119", "proxy-cut", "1")
	  HOLD("100", "105", "1.0", "1", "a") GONE("120", "1.0", "1")
	  FAULT("300", "busy", "1") HEAL("600", "busy", "1")
	  LOST("1419", "1.0", "1") END_LOST("1423", "1425", "1.0", "1"),
	  GOOD },
	{ "the checker sees two callbacks for one hold",
	  FAULT("110", "proxy-cut", "1") HEAL("119", "proxy-cut", "1")
	  HOLD("100", "105", "1.0", "1", "a") LOST("120", "1.0", "1")
	  LOST("130", "1.0", "1") END_LOST("1123", "1125", "1.0", "1"),
	  BAD(LATE_LOSS, 1, 3) },
	{ "the checker accepts callbacks for two holds",
	  FAULT("110", "proxy-cut", "1") HEAL("119", "proxy-cut", "1")
	  HOLD("100", "105", "1.0", "1", "a") HOLD("100", "105", "1.1", "1", "b")
	  LOST("120", "1.0", "1") LOST("130", "1.1", "1"),
	  GOOD },
	{ "the checker expects no callback of a loss during the release",
	  FAULT("110", "proxy-cut", "1") HEAL("119", "proxy-cut", "1")
	  HOLD("100", "105", "1.0", "1", "a") END_LOST("120", "125", "1.0", "1")
	  HOLD("130", "135", "1.0", "2", "b") HELD("1200", "1.0", "2"),
	  GOOD },
	{ "the checker waits a moment for the callback",
	  FAULT("110", "proxy-cut", "1") HEAL("119", "proxy-cut", "1")
	  HOLD("100", "105", "1.0", "1", "a") GONE("120", "1.0", "1")
	  END_LOST("121", "125", "1.0", "1")
	  HOLD("130", "135", "1.0", "2", "b") HELD("1100", "1.0", "2"),
	  GOOD },
	{ "the checker knows who has no callback",
	  "0 1.0 client ttl=30000 strategy=lease callback=0\n"
	  FAULT("110", "proxy-cut", "1") HEAL("119", "proxy-cut", "1")
	  HOLD("100", "105", "1.0", "1", "a") GONE("120", "1.0", "1")
	  END_LOST("121", "125", "1.0", "1")
	  HOLD("130", "135", "1.0", "2", "b") HELD("1200", "1.0", "2"),
	  GOOD },

	/* -------------------------------------------- S5: nothing for nothing */
	{ "the checker sees a hold that was lost for no reason",
	  HOLD("100", "105", "1.0", "1", "a") HELD("150", "1.0", "1")
	  LOST("200", "1.0", "1"),
	  BAD(TAKEN, 1, 3) },
	{ "the checker does not excuse it by another's fault",
	  HOLD("100", "105", "1.0", "1", "a") FAULT("150", "drop", "2")
	  LOST("200", "1.0", "1"),
	  BAD(TAKEN, 1, 3) },
	{ "the checker does not excuse a lease by a connection that was killed",
	  HOLD("100", "105", "1.0", "1", "a") FAULT("150", "cut", "server")
	  LOST("200", "1.0", "1"),
	  BAD(TAKEN, 1, 3) },
	{ "the checker does not excuse a lease by a fault that it outlives",
	  LEASE("1.0", "3000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "crash", "server") HEAL("790", "crash", "server")
	  LOST("800", "1.0", "1"),
	  BAD(TAKEN, 1, 3) },
	{ "the checker excuses it by one that may outlast it",
	  LEASE("1.0", "3000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "crash", "server") HEAL("810", "crash", "server")
	  LOST("815", "1.0", "1"),
	  GOOD },
	{ "the checker adds up faults that follow each other",
	  LEASE("1.0", "3000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "crash", "server") HEAL("510", "crash", "server")
	  FAULT("600", "stop", "1") HEAL("910", "stop", "1")
	  LOST("915", "1.0", "1"),
	  GOOD },
	{ "the checker adds none that was long ago",
	  LEASE("1.0", "3000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "crash", "server") HEAL("510", "crash", "server")
	  FAULT("9000", "stop", "1") HEAL("9310", "stop", "1")
	  LOST("9315", "1.0", "1"),
	  BAD(TAKEN, 1, 3) },
	{ "the checker does not excuse a loss by a moment without CPU",
	  LEASE("1.0", "2000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "starve", "1") HEAL("310", "starve", "1")
	  LOST("315", "1.0", "1"),
	  BAD(TAKEN, 1, 3) },
	{ "the checker excuses a row by a connection that was killed",
	  ROW("1.0", "10000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("150", "cut", "server") LOST("200", "1.0", "1"),
	  GOOD },
	{ "the checker does not excuse who watches beats by the server's clock",
	  OBSERVER("1.0", "30000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("150", "clock", "server") LOST("200", "1.0", "1"),
	  BAD(TAKEN, 1, 3) },
	{ "the checker excuses who believes the server's clock",
	  LEASE("1.0", "30000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("150", "clock", "server") LOST("200", "1.0", "1"),
	  GOOD },
	{ "the checker excuses a break, and a maximum that is over",
	  "0 1.0 client ttl=30000 strategy=lease max=1000\n"
	  HOLD("100", "105", "1.0", "1", "a") LOST("1100", "1.0", "1")
	  END_LOST("1101", "1102", "1.0", "1") "1200 0.0 broke name=b\n"
	  HOLD("1150", "1155", "2.0", "1", "b") LOST("1300", "2.0", "1"),
	  GOOD },
	{ "the checker does not excuse it by the break of another name",
	  "150 0.0 broke name=b\n" HOLD("100", "105", "1.0", "1", "a")
	  LOST("200", "1.0", "1"),
	  BAD(TAKEN, 1, 3) },
	{ "the checker excuses a short TTL, not a long one, by lost packets",
	  LEASE("1.0", "2000") LEASE("2.0", "10000") "50 0.0 fault kind=loss\n"
	  HOLD("100", "105", "1.0", "1", "a") LOST("200", "1.0", "1")
	  HOLD("100", "105", "2.0", "1", "b") LOST("200", "2.0", "1"),
	  BAD(TAKEN, 1, 3) },
	{ "the checker excuses no hold that began long after the fault",
	  LEASE("1.0", "1000") FAULT("10", "drop", "1") HEAL("20", "drop", "1")
	  HOLD("1100", "1105", "1.0", "1", "a") LOST("1200", "1.0", "1"),
	  BAD(TAKEN, 1, 3) },

	/* ------------------------------------------- L1: free is soon had */
	{ "the checker sees a name that is left free while one waits",
	  HOLD("100", "105", "1.0", "1", "a") END("200", "205", "1.0", "1")
	  HOLD("150", "1300", "2.0", "1", "a") END("1400", "1405", "2.0", "1"),
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker accepts that it takes a moment",
	  HOLD("100", "105", "1.0", "1", "a") END("200", "205", "1.0", "1")
	  HOLD("150", "1200", "2.0", "1", "a") END("1400", "1405", "2.0", "1"),
	  GOOD },
	{ "the checker accepts a name that nobody wants",
	  HOLD("100", "105", "1.0", "1", "a") END("200", "205", "1.0", "1")
	  HOLD("9000", "9005", "2.0", "1", "a") END("9100", "9105", "2.0", "1"),
	  GOOD },
	{ "the checker sees a wait in vain for a name that nobody has",
	  "100 1.0 acquire serial=1 name=a wait=2000\n"
	  "2105 1.0 acquired serial=1 code=-2\n",
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker sees short waits in vain for a name that nobody has",
	  TIMEDOUT("100", "500", "1.0", "1", "a")
	  TIMEDOUT("510", "910", "2.0", "1", "a")
	  TIMEDOUT("920", "1320", "1.0", "2", "a")
	  TIMEDOUT("1330", "1730", "2.0", "2", "a"),
	  BAD(IDLE_NAME, 1, 6) },
	{ "the checker sees a name that is busy for all who try and held by none",
	  BUSY("100", "101", "1.0", "1", "a")
	  BUSY("400", "401", "1.0", "2", "a")
	  BUSY("800", "801", "2.0", "1", "a")
	  BUSY("1105", "1106", "1.0", "3", "a"),
	  BAD(IDLE_NAME, 1, 6) },
	{ "the checker accepts tries that met each other for a moment",
	  BUSY("100", "101", "1.0", "1", "a")
	  BUSY("400", "401", "1.0", "2", "a")
	  BUSY("800", "801", "2.0", "1", "a")
	  BUSY("1098", "1099", "1.0", "3", "a"),
	  GOOD },
	{ "the checker accepts tries in vain that are far from each other",
	  BUSY("100", "101", "1.0", "1", "a")
	  BUSY("1200", "1201", "1.0", "2", "a")
	  BUSY("2300", "2301", "2.0", "1", "a")
	  BUSY("3400", "3401", "1.0", "3", "a"),
	  GOOD },
	{ "the checker accepts tries in vain for a name that is held",
	  HOLD("90", "99", "2.0", "1", "a")
	  BUSY("100", "101", "1.0", "1", "a")
	  BUSY("600", "601", "1.0", "2", "a")
	  BUSY("1100", "1101", "1.0", "3", "a") END("1102", "1103", "2.0", "1"),
	  GOOD },
	{ "the checker accepts a wait in vain for a name that is held",
	  HOLD("90", "99", "2.0", "1", "a")
	  "100 1.0 acquire serial=1 name=a wait=2000\n"
	  "2105 1.0 acquired serial=1 code=-2\n" END("2200", "2205", "2.0", "1"),
	  GOOD },
	{ "the checker sees a dead holder's name that stays busy",
	  LEASE("1.0", "1000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "kill", "1") HOLD("150", "2500", "2.0", "1", "a"),
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker gives a dead holder its TTL",
	  LEASE("1.0", "1000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "kill", "1") HOLD("150", "2200", "2.0", "1", "a"),
	  GOOD },
	{ "the checker gives who watches beats twice as long",
	  OBSERVER("1.0", "1000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "kill", "1") HOLD("150", "3300", "2.0", "1", "a"),
	  GOOD },
	{ "the checker sees a name that stays busy behind who was cut off",
	  LEASE("1.0", "1000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "drop", "1") LOST("1100", "1.0", "1")
	  HOLD("150", "6300", "2.0", "1", "a") HEAL("9000", "drop", "1"),
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker gives it time for those who waited cut off",
	  LEASE("1.0", "1000") HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "drop", "1") LOST("1100", "1.0", "1")
	  HOLD("150", "6100", "2.0", "1", "a") HEAL("9000", "drop", "1"),
	  GOOD },
	{ "the checker expects no grant for who waits cut off",
	  LEASE("1.0", "1000") HOLD("100", "105", "2.0", "1", "a")
	  FAULT("200", "drop", "1") END("300", "305", "2.0", "1")
	  HOLD("150", "8900", "1.0", "1", "a") HEAL("8800", "drop", "1"),
	  GOOD },
	{ "the checker lets who watches beats begin with his first look",
	  OBSERVER("1.0", "1000") OBSERVER("2.0", "1000")
	  HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "kill", "1") HOLD("9000", "11000", "2.0", "1", "a"),
	  GOOD },
	{ "the checker lets him look no longer than that",
	  OBSERVER("1.0", "1000") OBSERVER("2.0", "1000")
	  HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "kill", "1") HOLD("9000", "11200", "2.0", "1", "a"),
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker lets him look for nobody when it was given back",
	  OBSERVER("1.0", "1000") OBSERVER("2.0", "1000")
	  HOLD("100", "105", "1.0", "1", "a") END("200", "205", "1.0", "1")
	  HOLD("9000", "10100", "2.0", "1", "a"),
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker gives a dead row's holder no time",
	  ROW("1.0", "10000") ROW("2.0", "10000")
	  HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "kill", "1") HOLD("150", "1300", "2.0", "1", "a"),
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker expects no grants of a server that is away",
	  HOLD("100", "105", "1.0", "1", "a") END("200", "205", "1.0", "1")
	  FAULT("300", "crash", "server") HEAL("2300", "crash", "server")
	  HOLD("150", "2400", "2.0", "1", "a"),
	  GOOD },

	{ "the checker sees a row that a vanished host keeps too long",
	  ROW("1.0", "1000") ROW("2.0", "1000")
	  HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "drop", "1") FAULT("201", "silence", "1")
	  LOST("1100", "1.0", "1") HOLD("150", "2202", "2.0", "1", "a"),
	  BAD(IDLE_NAME, 1, 8) },
	{ "the checker gives a vanished host its idle bound and a second",
	  ROW("1.0", "1000") ROW("2.0", "1000")
	  HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "drop", "1") FAULT("201", "silence", "1")
	  LOST("1100", "1.0", "1") HOLD("150", "2201", "2.0", "1", "a"),
	  GOOD },
	{ "the checker accepts a vanished host's row that another has meanwhile",
	  ROW("1.0", "1000") ROW("2.0", "1000")
	  HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "drop", "1") FAULT("201", "silence", "1")
	  LOST("1100", "1.0", "1")
	  ROW("3.0", "1000") HOLD("150", "1300", "3.0", "1", "a")
	  HOLD("150", "2302", "2.0", "1", "a") END("2300", "2301", "3.0", "1"),
	  GOOD },
	{ "the checker does not call a host vanished whose requests arrive",
	  ROW("1.0", "1000") ROW("2.0", "1000")
	  HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "drop-in", "1") FAULT("201", "silence", "1")
	  LOST("1100", "1.0", "1") HOLD("150", "2202", "2.0", "1", "a"),
	  GOOD },
	{ "the checker does not blame a vanished host for a crash",
	  ROW("1.0", "1000") ROW("2.0", "1000")
	  HOLD("100", "105", "1.0", "1", "a")
	  FAULT("200", "drop", "1") FAULT("201", "silence", "1")
	  FAULT("500", "crash", "server") LOST("1100", "1.0", "1")
	  HEAL("2100", "crash", "server") HOLD("150", "2202", "2.0", "1", "a"),
	  GOOD },

	/* ------------------------------------------------ L2: back in time */
	{ "the checker sees an acquire that returns late",
	  "100 1.0 acquire serial=1 name=a wait=500\n"
	  GOT("701", "1.0", "1"),
	  BAD(LATE_CALL, 1, 2) },
	{ "the checker accepts one that does not",
	  "100 1.0 acquire serial=1 name=a wait=500\n"
	  GOT("700", "1.0", "1"),
	  GOOD },
	{ "the checker sees a release that returns late",
	  "0 1.0 client ttl=30000 strategy=lease call=1000\n"
	  HOLD("100", "105", "1.0", "1", "a") END("200", "1301", "1.0", "1"),
	  BAD(LATE_CALL, 1, 4) },
	{ "the checker knows the client's call timeout",
	  "0 1.0 client ttl=30000 strategy=lease call=2000\n"
	  HOLD("100", "105", "1.0", "1", "a") END("200", "1301", "1.0", "1"),
	  GOOD },
	{ "the checker sees a call that never returns",
	  HOLD("100", "105", "1.0", "1", "a") END("110", "115", "1.0", "1")
	  "200 1.0 acquire serial=2 name=a wait=500\n"
	  HOLD("100", "105", "2.0", "1", "b") END("900", "905", "2.0", "1"),
	  BAD(LATE_CALL, 1, 2) },
	{ "the checker blames a moment without CPU for a late return",
	  "100 1.0 acquire serial=1 name=a wait=500\n"
	  FAULT("600", "busy", "1") HEAL("640", "busy", "1")
	  GOT("720", "1.0", "1"),
	  GOOD },
	{ "the checker blames it for no more than it lasted",
	  "100 1.0 acquire serial=1 name=a wait=500\n"
	  FAULT("600", "busy", "1") HEAL("615", "busy", "1")
	  GOT("720", "1.0", "1"),
	  BAD(LATE_CALL, 1, 2) },
	{ "the checker counts time twice without CPU once",
	  "100 1.0 acquire serial=1 name=a wait=500\n"
	  FAULT("600", "busy", "1") FAULT("605", "stop", "1")
	  HEAL("610", "stop", "1") HEAL("615", "busy", "1")
	  GOT("717", "1.0", "1"),
	  BAD(LATE_CALL, 1, 2) },
	{ "the checker does not blame it for a loss",
	  HOLD("100", "105", "1.0", "1", "a") FAULT("600", "busy", "1")
	  HEAL("640", "busy", "1") LOST("641", "1.0", "1"),
	  BAD(TAKEN, 1, 3) },
	{ "the checker expects no return of the dead, or the stopped",
	  "200 1.0 acquire serial=1 name=a wait=500\n"
	  FAULT("300", "kill", "1")
	  "200 2.0 acquire serial=1 name=a wait=500\n"
	  FAULT("300", "stop", "2") HEAL("900", "stop", "2")
	  GOT("901", "2.0", "1"),
	  GOOD },

	/* ------------------------------------------------------ errors */
	{ "the checker lets no deadlock reach a caller",
	  FAULT("50", "crash", "server") ACQUIRE("100", "1.0", "1", "a")
	  "105 1.0 acquired serial=1 code=-16 mysql=1213\n",
	  BAD(ERROR, 1, 2) },
	{ "the checker lets no server error reach a caller without a fault",
	  HOLD("100", "105", "1.0", "1", "a") "106 1.0 release serial=1\n"
	  "109 1.0 released serial=1 code=-11 mysql=2013\n",
	  BAD(ERROR, 1, 3) },
	{ "the checker accepts that nothing is known after a moment's wait",
	  "100 1.0 acquire serial=1 name=a wait=50\n"
	  "180 1.0 acquired serial=1 code=-11\n",
	  GOOD },
	{ "the checker does not accept it before that time is over",
	  "100 1.0 acquire serial=1 name=a wait=50\n"
	  "149 1.0 acquired serial=1 code=-11\n",
	  BAD(ERROR, 1, 2) },
	{ "the checker does not accept it after a long wait",
	  HOLD("90", "99", "2.0", "1", "a")
	  "100 1.0 acquire serial=1 name=a wait=1000\n"
	  "1110 1.0 acquired serial=1 code=-11\n",
	  BAD(ERROR, 1, 2) },
	{ "the checker accepts server errors during a fault",
	  FAULT("50", "crash", "server") ACQUIRE("100", "1.0", "1", "a")
	  "105 1.0 acquired serial=1 code=-11\n",
	  GOOD },
	{ "the checker sees who does not wait his time",
	  HOLD("90", "99", "2.0", "1", "a")
	  "100 1.0 acquire serial=1 name=a wait=2000\n"
	  "2000 1.0 acquired serial=1 code=-2\n",
	  BAD(ERROR, 1, 2) },
	{ "the checker sees BUSY told to who would wait",
	  HOLD("90", "99", "2.0", "1", "a") ACQUIRE("100", "1.0", "1", "a")
	  "105 1.0 acquired serial=1 code=-1\n",
	  BAD(ERROR, 1, 2) },
	{ "the checker accepts BUSY of a try",
	  HOLD("90", "99", "2.0", "1", "a")
	  "100 1.0 acquire serial=1 name=a wait=0\n"
	  "105 1.0 acquired serial=1 code=-1\n",
	  GOOD },
	{ "the checker sees an owner refused",
	  FAULT("50", "crash", "server") HOLD("100", "105", "1.0", "1", "a")
	  "106 1.0 release serial=1\n109 1.0 released serial=1 code=-7\n",
	  BAD(ERROR, 1, 3) },

	/* -------------------------------------------------- all the others */
	{ "the checker sees rows that were left",
	  HOLD("100", "105", "1.0", "1", "a") END("110", "115", "1.0", "1")
	  "200 0.0 rows table=business_lease count=1\n",
	  BAD(LEAK, 1, 1) },
	{ "the checker accepts tokens that stay, and tables that are empty",
	  HOLD("100", "105", "1.0", "1", "a") END("110", "115", "1.0", "1")
	  "200 0.0 rows table=business_lease count=0\n"
	  "200 0.0 rows table=lock_token count=4\n",
	  GOOD },
	{ "the checker sees a starved thread",
	  HOLD("100", "105", "1.0", "1", "a") END("110", "115", "1.0", "1")
	  HOLD("120", "125", "1.0", "2", "a") END("130", "135", "1.0", "2")
	  HOLD("140", "145", "1.0", "3", "a") END("150", "155", "1.0", "3")
	  HOLD("160", "165", "1.0", "4", "a") END("170", "175", "1.0", "4")
	  ACQUIRE("100", "2.0", "1", "a"),
	  CHECK_UNFAIR, 1, 0, true },
	{ "the checker accepts uneven threads",
	  HOLD("100", "105", "1.0", "1", "a") END("110", "115", "1.0", "1")
	  HOLD("120", "125", "1.0", "2", "a") END("130", "135", "1.0", "2")
	  HOLD("90", "145", "2.0", "1", "a") END("150", "155", "2.0", "1"),
	  NO_VIOLATION, 0, 0, true },
	{ "the checker distrusts a return without its call",
	  GOT("100", "1.0", "1"), BAD(BROKEN, 1, 1) },
	{ "the checker distrusts a return before its call",
	  HOLD("100", "99", "1.0", "1", "a"), BAD(BROKEN, 1, 1) },
	{ "the checker distrusts a serial number used twice",
	  HOLD("100", "105", "1.0", "1", "a") ACQUIRE("110", "1.0", "1", "b"),
	  BAD(BROKEN, 1, 1) },
	{ "the checker distrusts what it cannot read",
	  "100 1.0 obtain serial=1\n" "100 1 acquire serial=1 name=a\n"
	  "100 1.0 acquire serial=x name=a\n" "100 1.0 acquire name=a\n",
	  BAD(BROKEN, 4, 1) },
	{ "the checker distrusts a fault that it does not know",
	  FAULT("100", "hiccup", "1") HEAL("200", "hiccup", "1"),
	  BAD(BROKEN, 1, 1) },
	{ "the checker knows the proxy's faults by how they begin",
	  FAULT("100", "proxy-drop-reply", "server")
	  HOLD("100", "105", "1.0", "1", "a") LOST("120", "1.0", "1"),
	  GOOD },
	{ "the checker distrusts a heal of nothing",
	  HEAL("100", "drop", "1"), BAD(BROKEN, 1, 1) },
	{ "the checker passes over a line that was torn by a kill",
	  HOLD("100", "105", "1.0", "1", "a") "107 1.0 he", GOOD },
	{ "the checker passes over keys that it does not know",
	  "100 1.0 acquire serial=1 name=a wait=-1 colour=blue\n", GOOD },
};

const size_t n_examples = sizeof(examples) / sizeof(examples[0]);
