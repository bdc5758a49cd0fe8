// SPDX-License-Identifier: MIT
/* L1, L2, errors, and lines that are none. */
#include "examples.h"

/* clang-format off */
const struct example examples_liveness[] = {
	/* ------------------------------------------- L1: free is soon had */
	{ "the checker sees a name that is left free while one waits",
	  HOLD(100, 105, 1.0, 1, a) END(200, 205, 1.0, 1)
	  HOLD(150, 1300, 2.0, 1, a) END(1400, 1405, 2.0, 1),
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker lets a set wait while one of its names is free",
	  HOLD(100, 105, 1.0, 1, a) END(200, 205, 1.0, 1)
	  HOLD(106, 107, 1.0, 2, b) END(3000, 3005, 1.0, 2)
	  "150 2.0 acquire serial=1 name=a wait=-1 of=2\n"
	  "150 2.0 acquire serial=2 name=b wait=-1 of=2\n"
	  GOT(3010, 2.0, 1) GOT(3010, 2.0, 2) END(3400, 3405, 2.0, 1)
	  END(3400, 3405, 2.0, 2),
	  GOOD },
	{ "the checker accepts that it takes a moment",
	  HOLD(100, 105, 1.0, 1, a) END(200, 205, 1.0, 1)
	  HOLD(150, 1200, 2.0, 1, a) END(1400, 1405, 2.0, 1),
	  GOOD },
	{ "the checker accepts a name that nobody wants",
	  HOLD(100, 105, 1.0, 1, a) END(200, 205, 1.0, 1)
	  HOLD(9000, 9005, 2.0, 1, a) END(9100, 9105, 2.0, 1),
	  GOOD },
	{ "the checker sees a wait in vain for a name that nobody has",
	  "100 1.0 acquire serial=1 name=a wait=2000\n"
	  "2105 1.0 acquired serial=1 code=-2\n",
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker sees short waits in vain for a name that nobody has",
	  TIMEDOUT(100, 500, 1.0, 1, a) TIMEDOUT(510, 910, 2.0, 1, a)
	  TIMEDOUT(920, 1320, 1.0, 2, a) TIMEDOUT(1330, 1730, 2.0, 2, a),
	  BAD(IDLE_NAME, 1, 6) },
	{ "the checker sees a name that is busy for all who try and held by none",
	  BUSY(100, 101, 1.0, 1, a) BUSY(400, 401, 1.0, 2, a)
	  BUSY(800, 801, 2.0, 1, a) BUSY(1105, 1106, 1.0, 3, a),
	  BAD(IDLE_NAME, 1, 6) },
	{ "the checker accepts tries that met each other for a moment",
	  BUSY(100, 101, 1.0, 1, a) BUSY(400, 401, 1.0, 2, a)
	  BUSY(800, 801, 2.0, 1, a) BUSY(1098, 1099, 1.0, 3, a),
	  GOOD },
	{ "the checker accepts tries in vain that are far from each other",
	  BUSY(100, 101, 1.0, 1, a) BUSY(1200, 1201, 1.0, 2, a)
	  BUSY(2300, 2301, 2.0, 1, a) BUSY(3400, 3401, 1.0, 3, a),
	  GOOD },
	{ "the checker accepts tries in vain for a name that is held",
	  HOLD(90, 99, 2.0, 1, a) BUSY(100, 101, 1.0, 1, a)
	  BUSY(600, 601, 1.0, 2, a) BUSY(1100, 1101, 1.0, 3, a)
	  END(1102, 1103, 2.0, 1),
	  GOOD },
	{ "the checker accepts a wait in vain for a name that is held",
	  HOLD(90, 99, 2.0, 1, a) "100 1.0 acquire serial=1 name=a wait=2000\n"
	  "2105 1.0 acquired serial=1 code=-2\n"
	  END(2200, 2205, 2.0, 1),
	  GOOD },
	{ "the checker sees a dead holder's name that stays busy",
	  LEASE(1.0, 1000) HOLD(100, 105, 1.0, 1, a) FAULT(200, kill, 1)
	  HOLD(150, 2500, 2.0, 1, a),
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker gives a dead holder its TTL",
	  LEASE(1.0, 1000) HOLD(100, 105, 1.0, 1, a) FAULT(200, kill, 1)
	  HOLD(150, 2200, 2.0, 1, a),
	  GOOD },
	{ "the checker gives who watches beats twice as long",
	  OBSERVER(1.0, 1000) HOLD(100, 105, 1.0, 1, a) FAULT(200, kill, 1)
	  HOLD(150, 3300, 2.0, 1, a),
	  GOOD },
	{ "the checker sees a name that stays busy behind who was cut off",
	  LEASE(1.0, 1000) HOLD(100, 105, 1.0, 1, a) FAULT(200, drop, 1)
	  LOST(1100, 1.0, 1) HOLD(150, 6300, 2.0, 1, a) HEAL(9000, drop, 1),
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker gives it time for those who waited cut off",
	  LEASE(1.0, 1000) HOLD(100, 105, 1.0, 1, a) FAULT(200, drop, 1)
	  LOST(1100, 1.0, 1) HOLD(150, 6100, 2.0, 1, a) HEAL(9000, drop, 1),
	  GOOD },
	{ "the checker expects no grant for who waits cut off",
	  LEASE(1.0, 1000) HOLD(100, 105, 2.0, 1, a) FAULT(200, drop, 1)
	  END(300, 305, 2.0, 1) HOLD(150, 8900, 1.0, 1, a) HEAL(8800, drop, 1),
	  GOOD },
	{ "the checker lets who watches beats begin with his first look",
	  OBSERVER(1.0, 1000) OBSERVER(2.0, 1000) HOLD(100, 105, 1.0, 1, a)
	  FAULT(200, kill, 1) HOLD(9000, 11000, 2.0, 1, a),
	  GOOD },
	{ "the checker lets him look no longer than that",
	  OBSERVER(1.0, 1000) OBSERVER(2.0, 1000) HOLD(100, 105, 1.0, 1, a)
	  FAULT(200, kill, 1) HOLD(9000, 11200, 2.0, 1, a),
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker lets him look for nobody when it was given back",
	  OBSERVER(1.0, 1000) OBSERVER(2.0, 1000) HOLD(100, 105, 1.0, 1, a)
	  END(200, 205, 1.0, 1) HOLD(9000, 10100, 2.0, 1, a),
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker gives a dead row's holder no time",
	  ROW(1.0, 10000) ROW(2.0, 10000) HOLD(100, 105, 1.0, 1, a)
	  FAULT(200, kill, 1) HOLD(150, 1300, 2.0, 1, a),
	  BAD(IDLE_NAME, 1, 2) },
	{ "the checker expects no grants of a server that is away",
	  HOLD(100, 105, 1.0, 1, a) END(200, 205, 1.0, 1)
	  FAULT(300, crash, server) HEAL(2300, crash, server)
	  HOLD(150, 2400, 2.0, 1, a),
	  GOOD },

	{ "the checker sees a row that a vanished host keeps too long",
	  ROW(1.0, 1000) ROW(2.0, 1000) HOLD(100, 105, 1.0, 1, a)
	  FAULT(200, drop, 1) FAULT(201, silence, 1) LOST(1100, 1.0, 1)
	  HOLD(150, 2202, 2.0, 1, a),
	  BAD(IDLE_NAME, 1, 8) },
	{ "the checker gives a vanished host its idle bound and a second",
	  ROW(1.0, 1000) ROW(2.0, 1000) HOLD(100, 105, 1.0, 1, a)
	  FAULT(200, drop, 1) FAULT(201, silence, 1) LOST(1100, 1.0, 1)
	  HOLD(150, 2201, 2.0, 1, a),
	  GOOD },
	{ "the checker accepts a vanished host's row that another has meanwhile",
	  ROW(1.0, 1000) ROW(2.0, 1000) HOLD(100, 105, 1.0, 1, a)
	  FAULT(200, drop, 1) FAULT(201, silence, 1) LOST(1100, 1.0, 1)
	  ROW(3.0, 1000) HOLD(150, 1300, 3.0, 1, a) HOLD(150, 2302, 2.0, 1, a)
	  END(2300, 2301, 3.0, 1),
	  GOOD },
	{ "the checker does not call a host vanished whose requests arrive",
	  ROW(1.0, 1000) ROW(2.0, 1000) HOLD(100, 105, 1.0, 1, a)
	  FAULT(200, drop-in, 1) FAULT(201, silence, 1) LOST(1100, 1.0, 1)
	  HOLD(150, 2202, 2.0, 1, a),
	  GOOD },
	{ "the checker does not blame a vanished host for a crash",
	  ROW(1.0, 1000) ROW(2.0, 1000) HOLD(100, 105, 1.0, 1, a)
	  FAULT(200, drop, 1) FAULT(201, silence, 1) FAULT(500, crash, server)
	  LOST(1100, 1.0, 1) HEAL(2100, crash, server)
	  HOLD(150, 2202, 2.0, 1, a),
	  GOOD },

	/* ------------------------------------------------ L2: back in time */
	{ "the checker sees an acquire that returns late",
	  "100 1.0 acquire serial=1 name=a wait=500\n"
	  GOT(701, 1.0, 1),
	  BAD(LATE_CALL, 1, 2) },
	{ "the checker accepts one that does not",
	  "100 1.0 acquire serial=1 name=a wait=500\n"
	  GOT(700, 1.0, 1),
	  GOOD },
	{ "the checker sees a release that returns late",
	  "0 1.0 client ttl=30000 strategy=lease call=1000\n"
	  HOLD(100, 105, 1.0, 1, a) END(200, 1301, 1.0, 1),
	  BAD(LATE_CALL, 1, 4) },
	{ "the checker knows the client's call timeout",
	  "0 1.0 client ttl=30000 strategy=lease call=2000\n"
	  HOLD(100, 105, 1.0, 1, a) END(200, 1301, 1.0, 1),
	  GOOD },
	{ "the checker sees a call that never returns",
	  HOLD(100, 105, 1.0, 1, a) END(110, 115, 1.0, 1)
	  "200 1.0 acquire serial=2 name=a wait=500\n"
	  HOLD(100, 105, 2.0, 1, b) END(900, 905, 2.0, 1),
	  BAD(LATE_CALL, 1, 2) },
	{ "the checker blames a moment without CPU for a late return",
	  "100 1.0 acquire serial=1 name=a wait=500\n"
	  FAULT(600, busy, 1) HEAL(640, busy, 1) GOT(720, 1.0, 1),
	  GOOD },
	{ "the checker blames it for no more than it lasted",
	  "100 1.0 acquire serial=1 name=a wait=500\n"
	  FAULT(600, busy, 1) HEAL(615, busy, 1) GOT(720, 1.0, 1),
	  BAD(LATE_CALL, 1, 2) },
	{ "the checker counts time twice without CPU once",
	  "100 1.0 acquire serial=1 name=a wait=500\n"
	  FAULT(600, busy, 1) FAULT(605, stop, 1) HEAL(610, stop, 1)
	  HEAL(615, busy, 1) GOT(717, 1.0, 1),
	  BAD(LATE_CALL, 1, 2) },
	{ "the checker does not blame it for a loss",
	  HOLD(100, 105, 1.0, 1, a) FAULT(600, busy, 1) HEAL(640, busy, 1)
	  LOST(641, 1.0, 1),
	  BAD(TAKEN, 1, 3) },
	{ "the checker expects no return of the dead, or the stopped",
	  "200 1.0 acquire serial=1 name=a wait=500\n"
	  FAULT(300, kill, 1) "200 2.0 acquire serial=1 name=a wait=500\n"
	  FAULT(300, stop, 2) HEAL(900, stop, 2) GOT(901, 2.0, 1),
	  GOOD },

	/* ------------------------------------------------------ errors */
	{ "the checker lets no deadlock reach a caller",
	  FAULT(50, crash, server) ACQUIRE(100, 1.0, 1, a)
	  "105 1.0 acquired serial=1 code=-16 mysql=1213\n",
	  BAD(ERROR, 1, 2) },
	{ "the checker lets no server error reach a caller without a fault",
	  HOLD(100, 105, 1.0, 1, a) "106 1.0 release serial=1\n"
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
	  HOLD(90, 99, 2.0, 1, a) "100 1.0 acquire serial=1 name=a wait=1000\n"
	  "1110 1.0 acquired serial=1 code=-11\n",
	  BAD(ERROR, 1, 2) },
	{ "the checker accepts server errors during a fault",
	  FAULT(50, crash, server) ACQUIRE(100, 1.0, 1, a)
	  "105 1.0 acquired serial=1 code=-11\n",
	  GOOD },
	{ "the checker sees who does not wait his time",
	  HOLD(90, 99, 2.0, 1, a) "100 1.0 acquire serial=1 name=a wait=2000\n"
	  "2000 1.0 acquired serial=1 code=-2\n",
	  BAD(ERROR, 1, 2) },
	{ "the checker sees BUSY told to who would wait",
	  HOLD(90, 99, 2.0, 1, a) ACQUIRE(100, 1.0, 1, a)
	  "105 1.0 acquired serial=1 code=-1\n",
	  BAD(ERROR, 1, 2) },
	{ "the checker accepts BUSY of a try",
	  HOLD(90, 99, 2.0, 1, a) "100 1.0 acquire serial=1 name=a wait=0\n"
	  "105 1.0 acquired serial=1 code=-1\n",
	  GOOD },
	{ "the checker sees an owner refused",
	  FAULT(50, crash, server) HOLD(100, 105, 1.0, 1, a)
	  "106 1.0 release serial=1\n109 1.0 released serial=1 code=-7\n",
	  BAD(ERROR, 1, 3) },

	/* -------------------------------------------------- all the others */
	{ "the checker sees rows that were left",
	  HOLD(100, 105, 1.0, 1, a) END(110, 115, 1.0, 1)
	  "200 0.0 rows table=business_lease count=1\n",
	  BAD(LEAK, 1, 1) },
	{ "the checker accepts tokens that stay, and tables that are empty",
	  HOLD(100, 105, 1.0, 1, a) END(110, 115, 1.0, 1)
	  "200 0.0 rows table=business_lease count=0\n"
	  "200 0.0 rows table=lock_token count=4\n",
	  GOOD },
	{ "the checker sees a starved thread",
	  HOLD(100, 105, 1.0, 1, a) END(110, 115, 1.0, 1)
	  HOLD(120, 125, 1.0, 2, a) END(130, 135, 1.0, 2)
	  HOLD(140, 145, 1.0, 3, a) END(150, 155, 1.0, 3)
	  HOLD(160, 165, 1.0, 4, a) END(170, 175, 1.0, 4)
	  ACQUIRE(100, 2.0, 1, a),
	  CHECK_UNFAIR, 1, 0, true },
	{ "the checker accepts uneven threads",
	  HOLD(100, 105, 1.0, 1, a) END(110, 115, 1.0, 1)
	  HOLD(120, 125, 1.0, 2, a) END(130, 135, 1.0, 2)
	  HOLD(90, 145, 2.0, 1, a) END(150, 155, 2.0, 1),
	  NO_VIOLATION, 0, 0, true },
	{ "the checker distrusts a return without its call",
	  GOT(100, 1.0, 1), BAD(BROKEN, 1, 1) },
	{ "the checker distrusts a return before its call",
	  HOLD(100, 99, 1.0, 1, a), BAD(BROKEN, 1, 1) },
	{ "the checker distrusts a serial number used twice",
	  HOLD(100, 105, 1.0, 1, a) ACQUIRE(110, 1.0, 1, b),
	  BAD(BROKEN, 1, 1) },
	{ "the checker distrusts what it cannot read",
	  "100 1.0 obtain serial=1\n"
	  "100 1 acquire serial=1 name=a\n"
	  "100 1.0 acquire serial=x name=a\n"
	  "100 1.0 acquire name=a\n",
	  BAD(BROKEN, 4, 1) },
	{ "the checker distrusts a fault that it does not know",
	  FAULT(100, hiccup, 1) HEAL(200, hiccup, 1),
	  BAD(BROKEN, 1, 1) },
	{ "the checker knows the proxy's faults by how they begin",
	  FAULT(100, proxy-drop-reply, server) HOLD(100, 105, 1.0, 1, a)
	  LOST(120, 1.0, 1),
	  GOOD },
	{ "the checker distrusts a heal of nothing",
	  HEAL(100, drop, 1), BAD(BROKEN, 1, 1) },
	{ "the checker passes over a line that was torn by a kill",
	  HOLD(100, 105, 1.0, 1, a) "107 1.0 he", GOOD },
	{ "the checker passes over keys that it does not know",
	  "100 1.0 acquire serial=1 name=a wait=-1 colour=blue\n", GOOD },
};

const size_t n_examples_liveness =
    sizeof(examples_liveness) / sizeof(examples_liveness[0]);
