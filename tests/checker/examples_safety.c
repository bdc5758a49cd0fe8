// SPDX-License-Identifier: MIT
/* S1 to S5: one at a time, tokens, told in time, and nothing for nothing. */
#include "examples.h"

/* clang-format off */
const struct example examples_safety[] = {
	/* ------------------------------------------ S1, S3: one at a time */
	{ "the checker finds nothing in a good history",
	  HOLD(100, 105, 1.0, 1, a) DRAW(106, 108, 1.0, 1, 7) HELD(190, 1.0, 1)
	  END(200, 205, 1.0, 1) HOLD(90, 203, 2.0, 1, a)
	  DRAW(206, 208, 2.0, 1, 8) END(300, 305, 2.0, 1)
	  HOLD(400, 405, 1.0, 2, a) END(500, 505, 1.0, 2),
	  GOOD },
	{ "the checker sees two holders at once",
	  HOLD(100, 105, 1.0, 1, a) HELD(199, 1.0, 1) END(200, 205, 1.0, 1)
	  HOLD(90, 150, 2.0, 1, a) HELD(160, 2.0, 1) END(300, 305, 2.0, 1),
	  BAD(DOUBLE, 1, 6) },
	{ "the checker sees an acquire that lies within a hold",
	  HOLD(100, 105, 1.0, 1, a) END(200, 205, 1.0, 1)
	  HOLD(110, 120, 2.0, 1, a),
	  BAD(DOUBLE, 1, 6) },
	{ "the checker shows held() rather than a call",
	  HOLD(100, 105, 1.0, 1, a) HELD(190, 1.0, 1) END(200, 205, 1.0, 1)
	  HOLD(110, 120, 2.0, 1, a),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker accepts a hand-over in the same instant",
	  HOLD(100, 105, 1.0, 1, a) END(200, 205, 1.0, 1)
	  HOLD(90, 200, 2.0, 1, a) END(300, 305, 2.0, 1),
	  GOOD },
	{ "the checker accepts a late clock of who was stopped in its acquire",
	  HOLD(100, 105, 1.0, 1, a) END(400, 405, 1.0, 1) LEASE(2.0, 300)
	  FAULT(50, stop, 2) HOLD(20, 200, 2.0, 1, a) HEAL(199, stop, 2)
	  GONE(210, 2.0, 1) LOST(211, 2.0, 1),
	  GOOD },
	{ "the checker sees holds inside a long one",
	  HOLD(100, 105, 1.0, 1, a) END(1000, 1005, 1.0, 1)
	  HOLD(110, 115, 3.0, 1, a) END(120, 125, 3.0, 1)
	  HOLD(800, 805, 3.0, 2, a) END(810, 815, 3.0, 2),
	  BAD(DOUBLE, 2, 6) },
	{ "the checker lets many read at once",
	  READ(100, 105, 1.0, 1, a) READ(110, 115, 2.0, 1, a)
	  DRAW(116, 117, 1.0, 1, 7) DRAW(118, 119, 2.0, 1, 7) HELD(190, 1.0, 1)
	  HELD(195, 2.0, 1) END(200, 205, 1.0, 1) END(210, 215, 2.0, 1),
	  GOOD },
	{ "the checker sees one that reads while another writes",
	  READ(100, 105, 1.0, 1, a) READ(106, 107, 3.0, 1, a) HELD(199, 1.0, 1)
	  END(108, 109, 3.0, 1) END(200, 205, 1.0, 1) HOLD(90, 150, 2.0, 1, a)
	  HELD(160, 2.0, 1) END(300, 305, 2.0, 1),
	  BAD(DOUBLE, 1, 6) },
	{ "the checker sees one that writes while another reads",
	  HOLD(100, 105, 1.0, 1, a) HELD(199, 1.0, 1) END(200, 205, 1.0, 1)
	  READ(90, 150, 2.0, 1, a) HELD(160, 2.0, 1) END(300, 305, 2.0, 1),
	  BAD(DOUBLE, 1, 6) },
	{ "the checker lets permits be held at once",
	  TAKE(100, 105, 1.0, 1, a, 5, 3) TAKE(110, 115, 2.0, 1, a, 5, 2)
	  HELD(190, 1.0, 1) HELD(195, 2.0, 1) END(200, 205, 1.0, 1)
	  TAKE(120, 202, 3.0, 1, a, 5, 3) END(210, 215, 2.0, 1)
	  END(220, 225, 3.0, 1),
	  GOOD },
	{ "the checker sees more permits than there are",
	  TAKE(100, 105, 1.0, 1, a, 5, 1) TAKE(110, 115, 2.0, 1, a, 5, 2)
	  TAKE(112, 117, 4.0, 1, a, 5, 2) HELD(190, 1.0, 1) HELD(195, 2.0, 1)
	  HELD(196, 4.0, 1) TAKE(120, 180, 3.0, 1, a, 5, 2) HELD(181, 3.0, 1)
	  END(200, 205, 1.0, 1) END(206, 207, 4.0, 1) END(210, 215, 2.0, 1)
	  END(220, 225, 3.0, 1),
	  BAD(TOO_MANY, 1, 8) },
	{ "the checker sees permits that are taken before others begin",
	  TAKE(100, 105, 1.0, 1, a, 2, 1) HELD(190, 1.0, 1)
	  TAKE(90, 150, 2.0, 1, a, 2, 2) HELD(160, 2.0, 1),
	  BAD(TOO_MANY, 1, 6) },
	{ "the checker sees permits that are taken while all are held",
	  TAKE(100, 105, 1.0, 1, a, 2, 1) TAKE(110, 115, 2.0, 1, a, 2, 1)
	  END(200, 205, 1.0, 1) END(210, 215, 2.0, 1)
	  TAKE(120, 130, 3.0, 1, a, 2, 1),
	  BAD(TOO_MANY, 1, 10) },
	{ "the checker counts no permits that may have been given back",
	  TAKE(100, 105, 1.0, 1, a, 2, 1) TAKE(110, 115, 2.0, 1, a, 2, 1)
	  HELD(125, 1.0, 1) HELD(210, 2.0, 1) TAKE(120, 130, 3.0, 1, a, 2, 1)
	  HELD(140, 3.0, 1),
	  GOOD },
	{ "the checker sees a reader with the token of a later writer",
	  HOLD(100, 105, 1.0, 1, a) DRAW(106, 108, 1.0, 1, 7)
	  END(200, 205, 1.0, 1) READ(210, 215, 2.0, 1, a)
	  DRAW(216, 218, 2.0, 1, 6) END(300, 305, 2.0, 1),
	  BAD(TOKENS, 1, 6) },
	{ "the checker knows names apart",
	  HOLD(100, 105, 1.0, 1, a) END(200, 205, 1.0, 1)
	  HOLD(110, 115, 2.0, 1, b) END(300, 305, 2.0, 1),
	  GOOD },
	{ "the checker knows strategies apart",
	  LEASE(1.0, 30000) ROW(2.0, 10000) HOLD(100, 105, 1.0, 1, a)
	  END(200, 205, 1.0, 1) HOLD(110, 115, 2.0, 1, a) END(300, 305, 2.0, 1),
	  GOOD },
	{ "the checker believes a lost hold up to its last proof",
	  LEASE(1.0, 300) FAULT(210, stop, 1) HEAL(490, stop, 1)
	  HOLD(100, 105, 1.0, 1, a) HELD(200, 1.0, 1) LOST(495, 1.0, 1)
	  END_LOST(500, 505, 1.0, 1) HOLD(290, 300, 2.0, 1, a)
	  END(400, 405, 2.0, 1),
	  GOOD },
	{ "the checker does not believe it longer",
	  LEASE(1.0, 300) FAULT(210, stop, 1) HEAL(490, stop, 1)
	  HOLD(100, 105, 1.0, 1, a) HELD(301, 1.0, 1) LOST(495, 1.0, 1)
	  END_LOST(500, 505, 1.0, 1) HOLD(290, 300, 2.0, 1, a)
	  END(400, 405, 2.0, 1),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker sees a token drawn by who lost his hold",
	  LEASE(1.0, 300) FAULT(210, stop, 1) HEAL(490, stop, 1)
	  HOLD(100, 105, 1.0, 1, a) DRAW(350, 360, 1.0, 1, 9) LOST(495, 1.0, 1)
	  END_LOST(500, 505, 1.0, 1) HOLD(290, 300, 2.0, 1, a)
	  END(400, 405, 2.0, 1),
	  BAD(DOUBLE, 1, 6) },
	{ "the checker counts a killed holder up to what it wrote",
	  LEASE(1.0, 1000) FAULT(250, kill, 1) HOLD(100, 105, 1.0, 1, a)
	  HELD(200, 1.0, 1) HOLD(110, 210, 2.0, 1, a) END(300, 305, 2.0, 1),
	  GOOD },
	{ "the checker sees a killed holder overtaken",
	  LEASE(1.0, 1000) FAULT(250, kill, 1) HOLD(100, 105, 1.0, 1, a)
	  HELD(220, 1.0, 1) HOLD(110, 210, 2.0, 1, a) END(300, 305, 2.0, 1),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker knows that a break is told at the next beat only",
	  HOLD(100, 105, 1.0, 1, a) HELD(240, 1.0, 1) "150 0.0 broke name=a\n"
	  LOST(250, 1.0, 1) END_LOST(255, 260, 1.0, 1) HOLD(110, 210, 2.0, 1, a)
	  END(300, 305, 2.0, 1),
	  GOOD },
	{ "the checker lets a row's end go unnoticed for a moment",
	  ROW(1.0, 10000) ROW(2.0, 10000) FAULT(200, cut, server)
	  HOLD(100, 105, 1.0, 1, a) HELD(260, 1.0, 1) LOST(265, 1.0, 1)
	  END_LOST(270, 275, 1.0, 1) HOLD(110, 201, 2.0, 1, a)
	  END(400, 405, 2.0, 1),
	  GOOD },
	{ "the checker lets it go unnoticed for no more than that",
	  ROW(1.0, 10000) ROW(2.0, 10000) FAULT(200, cut, server)
	  HOLD(100, 105, 1.0, 1, a) HELD(310, 1.0, 1) LOST(315, 1.0, 1)
	  END_LOST(320, 325, 1.0, 1) HOLD(110, 201, 2.0, 1, a)
	  END(400, 405, 2.0, 1),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker lets it go unnoticed while packets are lost",
	  ROW(1.0, 1000) ROW(2.0, 1000) FAULT(50, idle, 1) FAULT(90, loss, all)
	  HEAL(190, loss, all) HOLD(100, 105, 1.0, 1, a) HELD(1200, 1.0, 1)
	  LOST(1205, 1.0, 1) END_LOST(1270, 1275, 1.0, 1)
	  HOLD(110, 201, 2.0, 1, a) END(1400, 1405, 2.0, 1),
	  GOOD },
	{ "the checker lets it then for no longer than the idle bound",
	  ROW(1.0, 1000) ROW(2.0, 1000) FAULT(50, idle, 1) FAULT(90, loss, all)
	  HEAL(190, loss, all) HOLD(100, 105, 1.0, 1, a) HELD(1202, 1.0, 1)
	  LOST(1205, 1.0, 1) END_LOST(1270, 1275, 1.0, 1)
	  HOLD(110, 201, 2.0, 1, a) END(1400, 1405, 2.0, 1),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker lets who is cut off not hear that his row has ended",
	  ROW(1.0, 1000) ROW(2.0, 1000) FAULT(50, idle, all)
	  HOLD(100, 105, 1.0, 1, a) FAULT(190, drop, 1) HELD(1100, 1.0, 1)
	  LOST(1110, 1.0, 1) HOLD(110, 201, 2.0, 1, a) END(1400, 1405, 2.0, 1),
	  GOOD },
	{ "the checker lets him for no longer than the idle bound",
	  ROW(1.0, 1000) ROW(2.0, 1000) FAULT(50, idle, all)
	  HOLD(100, 105, 1.0, 1, a) FAULT(190, drop, 1) HELD(1300, 1.0, 1)
	  LOST(1310, 1.0, 1) HOLD(110, 201, 2.0, 1, a) END(1400, 1405, 2.0, 1),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker lets him only if others may have ended it",
	  ROW(1.0, 1000) ROW(2.0, 1000) HOLD(100, 105, 1.0, 1, a)
	  FAULT(190, drop, 1) HELD(1100, 1.0, 1) LOST(1110, 1.0, 1)
	  HOLD(110, 201, 2.0, 1, a) END(1400, 1405, 2.0, 1),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker lets nobody whose packets are not those that are lost",
	  ROW(1.0, 1000) ROW(2.0, 1000) FAULT(50, idle, all)
	  HOLD(100, 105, 1.0, 1, a) FAULT(190, drop, 3) HELD(1100, 1.0, 1)
	  LOST(1110, 1.0, 1) HOLD(110, 201, 2.0, 1, a) END(1400, 1405, 2.0, 1),
	  BAD(DOUBLE, 1, 5) },
	{ "the checker lets no server confirm a row that has ended",
	  ROW(1.0, 10000) ROW(2.0, 10000) FAULT(200, cut, server)
	  HOLD(100, 105, 1.0, 1, a) VERIFY(260, 262, 1.0, 1) LOST(265, 1.0, 1)
	  END_LOST(270, 275, 1.0, 1) HOLD(110, 201, 2.0, 1, a)
	  END(400, 405, 2.0, 1),
	  BAD(DOUBLE, 1, 6) },
	{ "the checker takes no release that a neighbour got for the server's",
	  ROW(1.0, 10000) ROW(2.0, 10000) FAULT(200, cut, server)
	  HOLD(100, 105, 1.0, 1, a) END(260, 262, 1.0, 1)
	  ACQUIRE(150, 1.1, 2, a) HOLD(110, 201, 2.0, 1, a)
	  END(400, 405, 2.0, 1),
	  GOOD },
	{ "the checker takes one for it that no neighbour waited for",
	  ROW(1.0, 10000) ROW(2.0, 10000) FAULT(200, cut, server)
	  HOLD(100, 105, 1.0, 1, a) END(260, 262, 1.0, 1)
	  ACQUIRE(150, 1.1, 2, b) BUSY(120, 130, 1.1, 1, a)
	  HOLD(110, 201, 2.0, 1, a) END(400, 405, 2.0, 1),
	  BAD(DOUBLE, 1, 6) },
	{ "the checker excuses two who trust a clock that jumped",
	  FAULT(150, clock, server) HOLD(100, 105, 1.0, 1, a) HELD(240, 1.0, 1)
	  LOST(250, 1.0, 1) END_LOST(255, 260, 1.0, 1) HOLD(110, 210, 2.0, 1, a)
	  END(300, 305, 2.0, 1),
	  GOOD },

	/* -------------------------------------------- S3: lost is for ever */
	{ "the checker sees a hold that held() took back",
	  FAULT(110, proxy-cut, 1) HEAL(119, proxy-cut, 1)
	  HOLD(100, 105, 1.0, 1, a) GONE(120, 1.0, 1) LOST(121, 1.0, 1)
	  HELD(130, 1.0, 1),
	  BAD(REVIVED, 1, 3) },
	{ "the checker sees a hold that lives after its lost callback",
	  FAULT(110, proxy-cut, 1) HEAL(119, proxy-cut, 1)
	  HOLD(100, 105, 1.0, 1, a) LOST(120, 1.0, 1) VERIFY(130, 135, 1.0, 1),
	  BAD(REVIVED, 1, 4) },
	{ "the checker accepts held() that was asked before the callback ran",
	  FAULT(110, proxy-cut, 1) HEAL(119, proxy-cut, 1)
	  HOLD(100, 105, 1.0, 1, a) HELD(119, 1.0, 1) LOST(120, 1.0, 1)
	  END_LOST(130, 135, 1.0, 1),
	  GOOD },

	{ "the checker sees a hold that is held after its release",
	  HOLD(100, 105, 1.0, 1, a) END(110, 112, 1.0, 1) HELD(113, 1.0, 1),
	  BAD(REVIVED, 1, 3) },
	{ "the checker sees a hold that is verified after its release",
	  HOLD(100, 105, 1.0, 1, a) END(110, 112, 1.0, 1)
	  VERIFY(113, 115, 1.0, 1),
	  BAD(REVIVED, 1, 4) },
	{ "the checker accepts held() that was asked before the release",
	  HOLD(100, 105, 1.0, 1, a) HELD(109, 1.0, 1) END(110, 112, 1.0, 1)
	  GONE(113, 1.0, 1),
	  GOOD },
	{ "the checker sees a hold past its maximum",
	  "0 1.0 client ttl=30000 strategy=lease max=3000\n"
	  HOLD(100, 105, 1.0, 1, a) HELD(3206, 1.0, 1) END(3300, 3301, 1.0, 1),
	  BAD(REVIVED, 1, 4) },
	{ "the checker sees a hold that a server confirms past its maximum",
	  "0 1.0 client ttl=30000 strategy=lease max=3000\n"
	  HOLD(100, 105, 1.0, 1, a) VERIFY(3206, 3207, 1.0, 1)
	  LOST(3300, 1.0, 1),
	  BAD(REVIVED, 1, 5) },
	{ "the checker gives a maximum a moment",
	  "0 1.0 client ttl=30000 strategy=lease max=3000\n"
	  HOLD(100, 105, 1.0, 1, a) HELD(3205, 1.0, 1) LOST(3206, 1.0, 1),
	  GOOD },
	{ "the checker sees a break that its holder does not notice",
	  LEASE(1.0, 2000) HOLD(100, 105, 1.0, 1, a) "200 0.0 broke name=a\n"
	  HELD(7201, 1.0, 1),
	  BAD(REVIVED, 1, 5) },
	{ "the checker accepts a break that is noticed within a TTL",
	  LEASE(1.0, 2000) HOLD(100, 105, 1.0, 1, a) "200 0.0 broke name=a\n"
	  HELD(7200, 1.0, 1) LOST(7201, 1.0, 1),
	  GOOD },
	{ "the checker expects no notice of a break before the grant",
	  LEASE(1.0, 2000) "104 0.0 broke name=a\n"
	  "200 0.0 broke name=b\n"
	  HOLD(100, 105, 1.0, 1, a) HELD(7201, 1.0, 1),
	  GOOD },

	/* --------------------------------------------------- S2: tokens */
	{ "the checker sees a token that does not grow",
	  HOLD(100, 105, 1.0, 1, a) DRAW(106, 108, 1.0, 1, 7)
	  END(110, 115, 1.0, 1) HOLD(120, 125, 2.0, 1, a)
	  DRAW(126, 128, 2.0, 1, 6) END(130, 135, 2.0, 1)
	  HOLD(140, 145, 3.0, 1, a) DRAW(146, 148, 3.0, 1, 8),
	  BAD(TOKENS, 1, 6) },
	{ "the checker sees a token that does not grow for who waited",
	  HOLD(100, 105, 1.0, 1, a) DRAW(106, 108, 1.0, 1, 7)
	  END(110, 115, 1.0, 1) HOLD(90, 125, 2.0, 1, a)
	  DRAW(126, 128, 2.0, 1, 6),
	  BAD(TOKENS, 1, 6) },
	{ "the checker sees a token given twice",
	  HOLD(100, 105, 1.0, 1, a) DRAW(106, 108, 1.0, 1, 7)
	  END(110, 115, 1.0, 1) HOLD(120, 125, 2.0, 1, a)
	  DRAW(126, 128, 2.0, 1, 7),
	  BAD(TOKENS, 1, 6) },
	{ "the checker sees tokens out of order that came with the grant",
	  ACQUIRE(100, 1.0, 1, a) "105 1.0 acquired serial=1 code=0 token=7\n"
	  END(110, 115, 1.0, 1) ACQUIRE(120, 2.0, 1, a)
	  "125 2.0 acquired serial=1 code=0 token=5\n",
	  BAD(TOKENS, 1, 4) },
	{ "the checker sees a larger token drawn by who held before",
	  LEASE(1.0, 300) FAULT(107, stop, 1) HEAL(490, stop, 1)
	  HOLD(100, 105, 1.0, 1, a) DRAW(106, 495, 1.0, 1, 11) LOST(496, 1.0, 1)
	  END_LOST(500, 505, 1.0, 1) HOLD(290, 300, 2.0, 1, a)
	  DRAW(301, 305, 2.0, 1, 10) END(600, 605, 2.0, 1),
	  BAD(TOKENS, 1, 7) },
	{ "the checker accepts the smaller token of who held before",
	  LEASE(1.0, 300) FAULT(107, stop, 1) HEAL(490, stop, 1)
	  HOLD(100, 105, 1.0, 1, a) DRAW(106, 495, 1.0, 1, 9) LOST(496, 1.0, 1)
	  END_LOST(500, 505, 1.0, 1) HOLD(290, 300, 2.0, 1, a)
	  DRAW(301, 305, 2.0, 1, 10) END(600, 605, 2.0, 1),
	  GOOD },
	{ "the checker orders no tokens of who asked at once",
	  FAULT(107, stop, 1) HEAL(490, stop, 1) HOLD(100, 105, 1.0, 1, a)
	  DRAW(106, 495, 1.0, 1, 11) END(500, 505, 1.0, 1)
	  HOLD(104, 601, 2.0, 1, a) DRAW(602, 605, 2.0, 1, 12)
	  HOLD(20, 99, 3.0, 1, a) DRAW(50, 600, 3.0, 1, 10) FAULT(51, stop, 3)
	  HEAL(599, stop, 3),
	  GOOD },
	{ "the checker sees a hold with two tokens",
	  HOLD(100, 105, 1.0, 1, a) DRAW(106, 108, 1.0, 1, 7)
	  DRAW(109, 111, 1.0, 1, 8),
	  BAD(TOKENS, 1, 5) },
	{ "the checker accepts a token that is asked for again",
	  HOLD(100, 105, 1.0, 1, a) DRAW(106, 108, 1.0, 1, 7)
	  DRAW(109, 111, 1.0, 1, 7),
	  GOOD },
	{ "the checker compares no tokens of two names",
	  HOLD(100, 105, 1.0, 1, a) DRAW(106, 108, 1.0, 1, 7)
	  HOLD(120, 125, 2.0, 1, b) DRAW(126, 128, 2.0, 1, 7),
	  GOOD },

	/* --------------------------------------------------- S4: told in time */
	{ "the checker sees one who was cut off and never told",
	  LEASE(1.0, 1000) HOLD(100, 105, 1.0, 1, a) FAULT(199, drop, 1)
	  FAULT(200, silence, 1) HELD(300, 1.0, 1) HEAL(2000, silence, 1)
	  HEAL(2001, drop, 1),
	  BAD(LATE_LOSS, 1, 5) },
	{ "the checker sees one who was told too late",
	  LEASE(1.0, 1000) HOLD(100, 105, 1.0, 1, a) FAULT(199, freeze, server)
	  FAULT(200, silence, server) LOST(1201, 1.0, 1)
	  HEAL(2000, silence, server) HEAL(2001, freeze, server),
	  BAD(LATE_LOSS, 1, 5) },
	{ "the checker accepts who was told in time",
	  LEASE(1.0, 1000) HOLD(100, 105, 1.0, 1, a) FAULT(199, freeze, server)
	  FAULT(200, silence, server) LOST(1199, 1.0, 1)
	  HEAL(2000, silence, server) HEAL(2001, freeze, server),
	  GOOD },
	{ "the checker expects no loss of a short cut",
	  LEASE(1.0, 1000) HOLD(100, 105, 1.0, 1, a) FAULT(199, drop, 1)
	  FAULT(200, silence, 1) HEAL(1100, silence, 1) HEAL(1101, drop, 1)
	  HELD(3000, 1.0, 1),
	  GOOD },
	{ "the checker expects none of who released, or of another's cut",
	  LEASE(1.0, 1000) LEASE(2.0, 1000) HOLD(100, 105, 1.0, 1, a)
	  HOLD(100, 105, 2.0, 1, b) FAULT(199, drop, 1) FAULT(200, silence, 1)
	  END(300, 305, 1.0, 1) HEAL(2000, silence, 1) HEAL(2001, drop, 1)
	  HELD(3000, 2.0, 1),
	  GOOD },
	{ "the checker does not judge who was stopped meanwhile",
	  LEASE(1.0, 1000) HOLD(100, 105, 1.0, 1, a) FAULT(199, drop, 1)
	  FAULT(200, silence, 1) FAULT(300, stop, 1) HEAL(1900, stop, 1)
	  LOST(1901, 1.0, 1) HEAL(2000, silence, 1) HEAL(2001, drop, 1),
	  GOOD },
	{ "the checker allows a loss no more than the time without CPU",
	  LEASE(1.0, 1000) HOLD(100, 105, 1.0, 1, a) FAULT(199, freeze, server)
	  FAULT(200, silence, server) FAULT(300, busy, 1) HEAL(315, busy, 1)
	  LOST(1216, 1.0, 1) HEAL(2000, silence, server)
	  HEAL(2001, freeze, server),
	  BAD(LATE_LOSS, 1, 5) },
	{ "the checker allows a loss the time without CPU",
	  LEASE(1.0, 1000) HOLD(100, 105, 1.0, 1, a) FAULT(199, freeze, server)
	  FAULT(200, silence, server) FAULT(300, busy, 1) HEAL(315, busy, 1)
	  LOST(1215, 1.0, 1) HEAL(2000, silence, server)
	  HEAL(2001, freeze, server),
	  GOOD },
	{ "the checker sees a loss without a callback",
	  FAULT(110, proxy-cut, 1) HEAL(119, proxy-cut, 1)
	  HOLD(100, 105, 1.0, 1, a) GONE(120, 1.0, 1) END_LOST(121, 125, 1.0, 1)
	  HOLD(130, 135, 1.0, 2, b) HELD(1200, 1.0, 2),
	  BAD(LATE_LOSS, 1, 4) },
	{ "the checker sees a loss that a call told without a callback",
	  FAULT(110, proxy-cut, 1) HEAL(119, proxy-cut, 1)
	  HOLD(100, 105, 1.0, 1, a) "120 1.0 verify serial=1\n"
	  "121 1.0 verified serial=1 code=-4\n"
	  HOLD(130, 135, 1.0, 2, b) HELD(1200, 1.0, 2),
	  BAD(LATE_LOSS, 1, 5) },
	{ "the checker sees a callback long after the loss was told",
	  FAULT(110, proxy-cut, 1) HEAL(119, proxy-cut, 1)
	  HOLD(100, 105, 1.0, 1, a) GONE(120, 1.0, 1) LOST(1122, 1.0, 1)
	  END_LOST(1123, 1125, 1.0, 1),
	  BAD(LATE_LOSS, 1, 4) },
	{ "the checker accepts a callback soon after the loss was told",
	  FAULT(110, proxy-cut, 1) HEAL(119, proxy-cut, 1)
	  HOLD(100, 105, 1.0, 1, a) GONE(120, 1.0, 1) LOST(1119, 1.0, 1)
	  END_LOST(1123, 1125, 1.0, 1),
	  GOOD },
	{ "the checker allows a callback the time without CPU",
	  FAULT(110, proxy-cut, 1) HEAL(119, proxy-cut, 1)
	  HOLD(100, 105, 1.0, 1, a) GONE(120, 1.0, 1) FAULT(300, busy, 1)
	  HEAL(600, busy, 1) LOST(1419, 1.0, 1) END_LOST(1423, 1425, 1.0, 1),
	  GOOD },
	{ "the checker sees two callbacks for one hold",
	  FAULT(110, proxy-cut, 1) HEAL(119, proxy-cut, 1)
	  HOLD(100, 105, 1.0, 1, a) LOST(120, 1.0, 1) LOST(130, 1.0, 1)
	  END_LOST(1123, 1125, 1.0, 1),
	  BAD(LATE_LOSS, 1, 3) },
	{ "the checker accepts callbacks for two holds",
	  FAULT(110, proxy-cut, 1) HEAL(119, proxy-cut, 1)
	  HOLD(100, 105, 1.0, 1, a) HOLD(100, 105, 1.1, 1, b) LOST(120, 1.0, 1)
	  LOST(130, 1.1, 1),
	  GOOD },
	{ "the checker expects no callback of a loss during the release",
	  FAULT(110, proxy-cut, 1) HEAL(119, proxy-cut, 1)
	  HOLD(100, 105, 1.0, 1, a) END_LOST(120, 125, 1.0, 1)
	  HOLD(130, 135, 1.0, 2, b) HELD(1200, 1.0, 2),
	  GOOD },
	{ "the checker waits a moment for the callback",
	  FAULT(110, proxy-cut, 1) HEAL(119, proxy-cut, 1)
	  HOLD(100, 105, 1.0, 1, a) GONE(120, 1.0, 1) END_LOST(121, 125, 1.0, 1)
	  HOLD(130, 135, 1.0, 2, b) HELD(1100, 1.0, 2),
	  GOOD },
	{ "the checker knows who has no callback",
	  "0 1.0 client ttl=30000 strategy=lease callback=0\n"
	  FAULT(110, proxy-cut, 1) HEAL(119, proxy-cut, 1)
	  HOLD(100, 105, 1.0, 1, a) GONE(120, 1.0, 1) END_LOST(121, 125, 1.0, 1)
	  HOLD(130, 135, 1.0, 2, b) HELD(1200, 1.0, 2),
	  GOOD },

	/* -------------------------------------------- S5: nothing for nothing */
	{ "the checker sees a hold that was lost for no reason",
	  HOLD(100, 105, 1.0, 1, a) HELD(150, 1.0, 1) LOST(200, 1.0, 1),
	  BAD(TAKEN, 1, 3) },
	{ "the checker does not excuse it by another's fault",
	  HOLD(100, 105, 1.0, 1, a) FAULT(150, drop, 2) LOST(200, 1.0, 1),
	  BAD(TAKEN, 1, 3) },
	{ "the checker does not excuse a lease by a connection that was killed",
	  HOLD(100, 105, 1.0, 1, a) FAULT(150, cut, server) LOST(200, 1.0, 1),
	  BAD(TAKEN, 1, 3) },
	{ "the checker does not excuse a lease by a fault that it outlives",
	  LEASE(1.0, 3000) HOLD(100, 105, 1.0, 1, a) FAULT(200, crash, server)
	  HEAL(790, crash, server) LOST(800, 1.0, 1),
	  BAD(TAKEN, 1, 3) },
	{ "the checker excuses it by one that may outlast it",
	  LEASE(1.0, 3000) HOLD(100, 105, 1.0, 1, a) FAULT(200, crash, server)
	  HEAL(810, crash, server) LOST(815, 1.0, 1),
	  GOOD },
	{ "the checker adds up faults that follow each other",
	  LEASE(1.0, 3000) HOLD(100, 105, 1.0, 1, a) FAULT(200, crash, server)
	  HEAL(510, crash, server) FAULT(600, stop, 1) HEAL(910, stop, 1)
	  LOST(915, 1.0, 1),
	  GOOD },
	{ "the checker adds none that was long ago",
	  LEASE(1.0, 3000) HOLD(100, 105, 1.0, 1, a) FAULT(200, crash, server)
	  HEAL(510, crash, server) FAULT(9000, stop, 1) HEAL(9310, stop, 1)
	  LOST(9315, 1.0, 1),
	  BAD(TAKEN, 1, 3) },
	{ "the checker does not excuse a loss by a moment without CPU",
	  LEASE(1.0, 2000) HOLD(100, 105, 1.0, 1, a) FAULT(200, starve, 1)
	  HEAL(310, starve, 1) LOST(315, 1.0, 1),
	  BAD(TAKEN, 1, 3) },
	{ "the checker excuses a row by a connection that was killed",
	  ROW(1.0, 10000) HOLD(100, 105, 1.0, 1, a) FAULT(150, cut, server)
	  LOST(200, 1.0, 1),
	  GOOD },
	{ "the checker does not excuse who watches beats by the server's clock",
	  OBSERVER(1.0, 30000) HOLD(100, 105, 1.0, 1, a)
	  FAULT(150, clock, server) LOST(200, 1.0, 1),
	  BAD(TAKEN, 1, 3) },
	{ "the checker excuses who believes the server's clock",
	  LEASE(1.0, 30000) HOLD(100, 105, 1.0, 1, a) FAULT(150, clock, server)
	  LOST(200, 1.0, 1),
	  GOOD },
	{ "the checker excuses a break, and a maximum that is over",
	  "0 1.0 client ttl=30000 strategy=lease max=1000\n"
	  HOLD(100, 105, 1.0, 1, a) LOST(1100, 1.0, 1)
	  END_LOST(1101, 1102, 1.0, 1) "1200 0.0 broke name=b\n"
	  HOLD(1150, 1155, 2.0, 1, b) LOST(1300, 2.0, 1),
	  GOOD },
	{ "the checker does not excuse it by the break of another name",
	  "150 0.0 broke name=b\n"
	  HOLD(100, 105, 1.0, 1, a) LOST(200, 1.0, 1),
	  BAD(TAKEN, 1, 3) },
	{ "the checker excuses a short TTL, not a long one, by lost packets",
	  LEASE(1.0, 2000) LEASE(2.0, 10000) "50 0.0 fault kind=loss\n"
	  HOLD(100, 105, 1.0, 1, a) LOST(200, 1.0, 1) HOLD(100, 105, 2.0, 1, b)
	  LOST(200, 2.0, 1),
	  BAD(TAKEN, 1, 3) },
	{ "the checker excuses no hold that began long after the fault",
	  LEASE(1.0, 1000) FAULT(10, drop, 1) HEAL(20, drop, 1)
	  HOLD(1100, 1105, 1.0, 1, a) LOST(1200, 1.0, 1),
	  BAD(TAKEN, 1, 3) },
};

const size_t n_examples_safety =
    sizeof(examples_safety) / sizeof(examples_safety[0]);
