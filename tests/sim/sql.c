/* SPDX-License-Identifier: MIT */
/*
 * From a statement's text to what it means. Only what the library says is
 * known; a text that is not ends the run, so that nobody can change a statement
 * and have it simulated as the old one.
 */
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/packet.h"
#include "runs.h"
#include "script.h"
#include "sim.h"

uint64_t sim_verb_counts[SIM_VERBS];

struct pattern {
	enum sim_verb verb;
	const char *label;
	const char *begins;
	const char *has;    /* NULL: anything */
	const char *not_in; /* NULL: anything */
};

#define NOWAIT "SET STATEMENT innodb_lock_wait_timeout = 0 FOR "

/* clang-format off */
static const struct pattern patterns[] = {
	{ SIM_TIME, "time", "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', "
	  "UTC_TIMESTAMP(6))", NULL, "FROM" },
	{ SIM_FIND_MARK, "find-mark",
	  "SELECT CAST(IS_USED_LOCK(?) AS UNSIGNED)", NULL, "FROM" },
	{ SIM_FIND_ID, "find-id",
	  "SELECT CAST(ID AS UNSIGNED) FROM information_schema.PROCESSLIST "
	  "WHERE ID = ?", NULL, NULL },
	{ SIM_FIND_TAG, "find-tag",
	  "SELECT CAST(ID AS UNSIGNED) FROM information_schema.PROCESSLIST "
	  "WHERE INFO LIKE ? AND ID <> CONNECTION_ID()", NULL, NULL },
	{ SIM_BLOCKER, "blocker", "SELECT b.trx_mysql_thread_id "
	  "FROM information_schema.INNODB_LOCK_WAITS", NULL, NULL },
	{ SIM_READ_CHOSEN, "read-chosen",
	  "SELECT CAST(@rowlock_holder AS UNSIGNED)", NULL, NULL },
	{ SIM_ROW_HOLDERS, "row-holders", "SELECT l.lock_data", NULL, NULL },
	{ SIM_ROW_HOLDERS, "row-holders", "SELECT l.LOCK_DATA", NULL, NULL },
	{ SIM_BLOCKER, "blocker", "SELECT b.PROCESSLIST_ID "
	  "FROM performance_schema.data_lock_waits", NULL, NULL },
	{ SIM_LOOK, "look", "SELECT l.attempt, l.session, "
	  "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), s.expires_at), "
	  "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_at), "
	  "s.beat, s.ttl, TIMESTAMPDIFF(MICROSECOND, l.acquired_at, "
	  "l.expires_at) DIV 1000 FROM business_lease l LEFT JOIN "
	  "lease_session s ON s.id = l.session WHERE l.name = ? AND "
	  "l.slot = ?", NULL, NULL },
	{ SIM_LEASES_OF_NAME, "leases-of-name", "SELECT slot, attempt, session "
	  "FROM business_lease WHERE name = ? AND slot >= ? ORDER BY slot LIMIT ?",
	  NULL, NULL },
	{ SIM_LOOK_RWLOCK, "look-rwlock", "SELECT l.attempt, l.session, "
	  "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), s.expires_at), "
	  "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_at), "
	  "s.beat, s.ttl, TIMESTAMPDIFF(MICROSECOND, l.acquired_at, "
	  "l.expires_at) DIV 1000, l.slot FROM business_lease l LEFT JOIN "
	  "lease_session s ON s.id = l.session WHERE l.name = ? AND "
	  "l.slot >= 2147483648 ORDER BY l.slot LIMIT ?", NULL, NULL },
	{ SIM_LOOK_PERMITS, "look-permits", "SELECT l.attempt, l.session, "
	  "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), s.expires_at), "
	  "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_at), "
	  "s.beat, s.ttl, TIMESTAMPDIFF(MICROSECOND, l.acquired_at, "
	  "l.expires_at) DIV 1000, l.slot, p.permits, p.bell FROM (SELECT "
	  "name, permits, CAST(IS_USED_LOCK(?) AS UNSIGNED) AS bell FROM "
	  "lock_permits WHERE name = ? LIMIT 1) p LEFT JOIN business_lease l "
	  "ON l.name = p.name AND l.slot BETWEEN 1 AND 1073741823 LEFT JOIN "
	  "lease_session s ON s.id = l.session", NULL, NULL },
	{ SIM_LOOK_CANDIDATES, "look-candidates", "SELECT l.info, "
	  "TIMESTAMPDIFF(MICROSECOND, l.acquired_at, UTC_TIMESTAMP(6)), "
	  "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), s.expires_at) FROM "
	  "business_lease l JOIN lease_session s ON s.id = l.session WHERE "
	  "l.name = ? AND l.slot BETWEEN 1073741824 AND 2147483647 "
	  "LIMIT 500", NULL, NULL },
	{ SIM_ACQUIRE_GUESS, "insert-guess", "INSERT INTO business_lease "
	  "(name, slot, session, attempt, acquired_at, expires_at, info) "
	  "SELECT ?, ?, ?, ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL ? "
	  "MICROSECOND, ? FROM lock_permits q WHERE q.name = ? AND q.permits = "
	  "? AND IFNULL(IS_USED_LOCK(?), CONNECTION_ID()) = CONNECTION_ID() "
	  "AND (SELECT COUNT(*) FROM business_lease l WHERE l.name = q.name "
	  "AND l.slot > q.permits AND l.slot <= 1073741823) = 0 LOCK IN "
	  "SHARE MODE ON DUPLICATE KEY UPDATE attempt = "
	  "business_lease.attempt", NULL, NULL },
	{ SIM_PERMITS_MAKE, "make-permits", "INSERT INTO lock_permits (name, "
	  "permits) VALUES (?, ?) ON DUPLICATE KEY UPDATE name = name", NULL,
	  NULL },
	{ SIM_PERMITS_SET, "set-permits", "INSERT INTO lock_permits (name, "
	  "permits) VALUES (?, ?) ON DUPLICATE KEY UPDATE permits = "
	  "VALUES(permits)", NULL, NULL },
	{ SIM_LIST_LEASES, "list-leases", "SELECT l.name, l.slot, l.info, "
	  "l.session, l.attempt, l.acquired_at, ", "FROM business_lease l "
	  "LEFT JOIN lease_session s ON s.id = l.session LEFT JOIN lock_token "
	  "t ON t.strategy = 'lease' AND t.name = l.name WHERE l.name LIKE ? "
	  "ESCAPE '!' AND (l.name > ? OR (l.name = ? AND l.slot >= ?)) ORDER BY "
	  "l.name, l.slot LIMIT ?", NULL },
	{ SIM_LIST_ROWS, "list-rows", "SELECT l.name, l.info, t.token FROM "
	  "business_lock l LEFT JOIN lock_token t ON t.strategy = 'row' AND "
	  "t.name = l.name WHERE l.name LIKE ? ESCAPE '!' AND (l.name > ? OR "
	  "? = 1) ORDER BY l.name LIMIT ?",
	  NULL, NULL },
	{ SIM_CONFIRM, "confirm", "SELECT s.id FROM business_lease l JOIN "
	  "lease_session s ON s.id = l.session WHERE l.name = ? AND "
	  "l.slot = ? AND l.attempt = ?", NULL, NULL },
	{ SIM_LEASES_OF, "leases-of",
	  "SELECT attempt, name, slot FROM business_lease WHERE (session = ? OR "
	  "session IN (SELECT k.id FROM lease_session k WHERE k.breaks = ?)) "
	  "AND (name > ? OR (name = ? AND slot >= ?)) ORDER BY name, slot "
	  "LIMIT ?", NULL, NULL },
	{ SIM_KEEP_STILL, "still-in-time", "SELECT l.attempt FROM "
	  "business_lease l JOIN lease_session k ON k.id = ? WHERE l.name = ? "
	  "AND l.slot = ? AND l.attempt = ? AND l.session = k.id AND "
	  "k.started_at + INTERVAL ? MICROSECOND > UTC_TIMESTAMP(6)", NULL,
	  NULL },
	{ SIM_KEEP_TAKEN, "taken-keep", "SELECT l.session, s.id IS NULL FROM "
	  "business_lease l JOIN lease_session k ON k.id = ? LEFT JOIN "
	  "lease_session s ON s.id = l.session WHERE l.name = ? AND l.slot = ? "
	  "AND l.attempt = ?", NULL, NULL },
	{ SIM_OFFER_ADOPT, "adopt", "UPDATE business_lease l JOIN "
	  "lease_session s ON s.id = l.session JOIN lease_session c ON c.id = ? "
	  "LEFT JOIN lease_revocation r ON r.name = ? AND r.attempt = ? SET "
	  "r.attempt = ?, r.answer = 0, l.session = c.id, l.attempt = ?, "
	  "l.guards = 0, l.acquired_at = UTC_TIMESTAMP(6), s.breaks = s.breaks + 1, c.breaks = "
	  "c.breaks + 1 WHERE l.name = ? AND l.slot = ? AND l.attempt = ? AND "
	  "l.session = ?", NULL, NULL },
	{ SIM_OFFER_LOOK, "look-offer", "SELECT l.attempt, l.session, s.id IS "
	  "NULL, c.id IS NULL FROM business_lease l LEFT JOIN lease_session s ON "
	  "s.id = l.session LEFT JOIN lease_session c ON c.id = ? WHERE l.name = "
	  "? AND l.slot = ?", NULL, NULL },
	{ SIM_OFFER_HOLDER, "look-adopter", "SELECT s.host, s.pid, s.program, "
	  "l.acquired_at FROM business_lease l JOIN lease_session s ON s.id = "
	  "l.session WHERE l.name = ? AND l.slot = ?", NULL, NULL },
	{ SIM_KEEP_TAKE, "take-keep", "UPDATE business_lease l JOIN "
	  "lease_session s ON s.id = l.session JOIN lease_session k ON k.id = ? "
	  "SET l.session = k.id, k.breaks = ? WHERE l.name = ? AND l.slot = ? "
	  "AND l.attempt = ? AND l.session = ?", NULL, NULL },
	{ SIM_KEEP_LEAVE, "leave-kept", "UPDATE business_lease l JOIN "
	  "lease_session k ON k.id = ? SET l.expires_at = k.started_at + "
	  "INTERVAL ? MICROSECOND, l.acquired_at = LEAST(l.acquired_at, "
	  "k.started_at), l.attempt = ?, k.breaks = ? WHERE l.name = "
	  "? AND l.slot = ? AND l.attempt = ? AND l.session = k.id AND "
	  "k.started_at + INTERVAL ? MICROSECOND > UTC_TIMESTAMP(6)", NULL,
	  NULL },
	{ SIM_STILL_LEASE, "still-lease", "SELECT attempt FROM business_lease "
	  "WHERE ", NULL, NULL },
	{ SIM_STILL_SESSION, "still-session", "SELECT id FROM lease_session "
	  "WHERE ", NULL, NULL },
	{ SIM_BEATS, "beats", "SELECT beat FROM lease_session WHERE id = ?",
	  NULL, NULL },
	{ SIM_LAST_ID, "last-id", "SELECT LAST_INSERT_ID()", NULL, NULL },
	{ SIM_SESSIONS_AFTER, "sessions", "SELECT id, beat, ttl, host, pid, "
	  "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at) FROM "
	  "lease_session WHERE id > ? ORDER BY id LIMIT ?", NULL, NULL },
	{ SIM_DEAD_OF_NAME, "dead-of-name", "SELECT l.slot, l.attempt FROM "
	  "business_lease l LEFT JOIN lease_session s ON s.id = l.session "
	  "WHERE l.name = ? AND s.id IS NULL ORDER BY l.slot LIMIT 256", NULL,
	  NULL },
	{ SIM_LEASES_DEAD, "dead-leases", "SELECT l.attempt, l.session, "
	  "s.id IS NULL, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), "
	  "l.expires_at), TIMESTAMPDIFF(MICROSECOND, l.acquired_at, "
	  "l.expires_at) DIV 1000, l.name, l.slot FROM business_lease l "
	  "LEFT JOIN lease_session s ON s.id = l.session WHERE (l.name > ? OR "
	  "(l.name = ? AND l.slot > ?)) AND (s.id IS NULL OR l.expires_at <= "
	  "UTC_TIMESTAMP(6) OR (? = 1 AND l.expires_at IS NOT NULL)) "
	  "ORDER BY l.name, l.slot LIMIT ?", NULL, NULL },
	{ SIM_DUTY_LOOK, "look-who-reaps", "SELECT ABS(TIMESTAMPDIFF("
	  "MICROSECOND, drawn_at, UTC_TIMESTAMP(6))) FROM lock_token WHERE "
	  "strategy = 'reaper' AND name = 'pass'", NULL, NULL },
	{ SIM_DUTY_TAKE, "take-duty", "INSERT INTO lock_token (strategy, name, "
	  "token, drawn_at) VALUES ('reaper', 'pass', LAST_INSERT_ID(1), "
	  "UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE token = IF(ABS("
	  "TIMESTAMPDIFF(MICROSECOND, drawn_at, VALUES(drawn_at))) < ?, token, "
	  "LAST_INSERT_ID(token + 1)), drawn_at = IF(ABS(TIMESTAMPDIFF("
	  "MICROSECOND, drawn_at, VALUES(drawn_at))) < ?, drawn_at, "
	  "VALUES(drawn_at))", NULL, NULL },
	{ SIM_DUTY_KEEP, "keep-duty", "UPDATE lock_token SET drawn_at = "
	  "UTC_TIMESTAMP(6) WHERE strategy = 'reaper' AND name = 'pass' AND "
	  "token = ?", NULL, NULL },
	{ SIM_TOKENS_OLD, "old-tokens",
	  "SELECT t.strategy, t.name, t.token FROM lock_token t WHERE ", NULL,
	  NULL },
	{ SIM_REQUESTS_OVER, "old-requests",
	  "SELECT r.name, r.attempt FROM lease_revocation r LEFT JOIN "
	  "business_lease l ON l.name = r.name AND l.slot = 0 AND l.attempt = "
	  "r.attempt WHERE l.name IS NULL LIMIT ?", NULL, NULL },
	{ SIM_BELL_WAIT_READING, "bell-wait-reading", "SELECT CAST(GET_LOCK(?, "
	  "?) AS SIGNED), CAST(IF(IS_USED_LOCK(b.bell) = CONNECTION_ID() AND "
	  "IS_USED_LOCK(CONCAT(b.bell, '/gate')) IS NOT NULL, CASE ", NULL,
	  NULL },
	{ SIM_BELL_WAIT_WRITING, "bell-wait-writing", "SELECT CAST(GET_LOCK(?, "
	  "?) AS SIGNED), CAST(IF(IS_USED_LOCK(b.bell) = CONNECTION_ID(), 0 * ",
	  NULL, NULL },
	{ SIM_BELL_WAIT, "bell-wait", "SELECT CAST(GET_LOCK(?, ?) AS SIGNED)",
	  NULL, NULL },
	{ SIM_GATE_OPEN, "gate-open", "SELECT CAST(GET_LOCK(CONCAT(?, '/gate'),"
	  " 0) AS SIGNED), CAST(RELEASE_LOCK(?) AS SIGNED), "
	  "CAST(IS_USED_LOCK(?) AS UNSIGNED)", NULL, NULL },
	{ SIM_GATE_LOOK, "gate-look", "SELECT CAST(IF(COALESCE(NULL, "
	  "IS_USED_LOCK(CONCAT(b.bell, '/1'))", NULL, NULL },
	{ SIM_GATE_LEAVE, "gate-leave", "SELECT CAST(COALESCE(RELEASE_LOCK("
	  "b.bell), 0) + COALESCE(RELEASE_LOCK(CONCAT(b.bell, '/1')), 0)",
	  NULL, NULL },
	{ SIM_GATE_CLOSE, "gate-close", "DO RELEASE_LOCK(CONCAT(?, '/gate'))",
	  NULL, NULL },
	{ SIM_LANE_LEAVE, "lane-leave", "DO RELEASE_LOCK(CONCAT(?, '/', ?))",
	  NULL, NULL },
	{ SIM_BELL_RING, "bell-ring", "DO RELEASE_LOCK(?)", NULL, NULL },
	{ SIM_BELL_RING, "bell-leave", "SELECT CAST(RELEASE_LOCK(?) AS SIGNED), "
	  "CAST(IS_USED_LOCK(?) AS UNSIGNED)", NULL, NULL },
	{ SIM_ROW_TRY, "row-try",
	  "SELECT name FROM business_lock WHERE name = ? FOR UPDATE NOWAIT",
	  NULL, NULL },
	{ SIM_ROW_SKIP, "row-skip",
	  "SELECT name FROM business_lock WHERE name = ? FOR UPDATE SKIP LOCKED",
	  NULL, NULL },
	{ SIM_ROW_WAIT, "row-wait",
	  "SELECT name FROM business_lock WHERE name = ? FOR UPDATE", NULL,
	  "NOWAIT" },
	{ SIM_ROW_MAKE, "row-make",
	  "INSERT INTO business_lock (name, info, created_at)",
	  "ON DUPLICATE KEY UPDATE", NULL },
	{ SIM_ACQUIRE_RINGING, "insert-ringing", NOWAIT "INSERT INTO "
	  "business_lease "
	  "(name, slot, session, attempt, acquired_at, expires_at, info) "
	  "VALUES (?, ?, ?, ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL ? "
	  "MICROSECOND, ?) ON DUPLICATE KEY UPDATE name = name "
	  "RETURNING attempt, IF(attempt = ?, GET_LOCK(?, 0), 0)", NULL,
	  NULL },
	{ SIM_ACQUIRE, "insert", NOWAIT "INSERT INTO business_lease (name, slot, "
	  "session, attempt, acquired_at, expires_at, info) VALUES (?, ?, ?, "
	  "?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, ?) "
	  "ON DUPLICATE KEY UPDATE name = name RETURNING attempt",
	  NULL, NULL },
	{ SIM_ACQUIRE_LOOKING, "insert-looking", "INSERT INTO business_lease "
	  "(name, slot, session, attempt, acquired_at, expires_at, info) "
	  "SELECT p.n, p.s, p.c, p.a,",
	  "WHERE NOT EXISTS (SELECT 1 FROM business_lease l "
	  "WHERE l.name = p.n AND l.slot = p.s)", NULL },
	{ SIM_ACQUIRE_SEEING, "insert-seeing", "INSERT INTO business_lease "
	  "(name, slot, session, attempt, acquired_at, expires_at, info) "
	  "SELECT p.n, p.s + 0 * LAST_INSERT_ID(COALESCE(IS_USED_LOCK(p.b), "
	  "0)), p.c, p.a,",
	  "WHERE NOT EXISTS (SELECT 1 FROM business_lease l "
	  "WHERE l.name = p.n AND l.slot = p.s)", NULL },
	{ SIM_DRAW_LEASE, "draw", "INSERT INTO lock_token (strategy, name, "
	  "token, drawn_at, attempt) SELECT 'lease', name, LAST_INSERT_ID(",
	  "attempt = VALUES(attempt)", NULL },
	{ SIM_DRAW_ROW, "draw-row", "INSERT INTO lock_token (strategy, name, "
	  "token, drawn_at) VALUES ('row', ?, LAST_INSERT_ID(", NULL, NULL },
	{ SIM_RAISE_LEASE, "raise-token", "UPDATE lock_token SET token = ?, "
	  "attempt = NULL WHERE strategy = 'lease' AND name = ? AND attempt = "
	  "? AND token < ?", NULL, NULL },
	{ SIM_RAISE_ROW, "raise-row-token", "UPDATE lock_token SET token = ? "
	  "WHERE strategy = 'row' AND name = ? AND token < ?", NULL, NULL },
	{ SIM_RAISE_FLOOR, "raise-floor", "UPDATE lock_token_floor SET token = "
	  "?, raised_at = UTC_TIMESTAMP(6) WHERE id = 1 AND token < ?", NULL,
	  NULL },
	{ SIM_PLEA_MAKE, "plead", "INSERT INTO lock_token (strategy, name, "
	  "token, drawn_at) VALUES ('permits', ?, 1, UTC_TIMESTAMP(6)) ON "
	  "DUPLICATE KEY UPDATE drawn_at = VALUES(drawn_at)", NULL, NULL },
	{ SIM_PLEA_LOOK, "look-at-plea", "SELECT token FROM lock_token WHERE "
	  "strategy = 'permits' AND name = ?", NULL, NULL },
	{ SIM_PLEA_COUNT, "count-permits", "SELECT q.permits, (SELECT COUNT(*) "
	  "FROM business_lease l WHERE l.name = q.name AND l.slot BETWEEN 1 "
	  "AND 1073741823) FROM lock_permits q WHERE q.name = ?", NULL, NULL },
	{ SIM_PLEA_HEAR, "hear-plea", "DELETE FROM lock_token WHERE strategy = "
	  "'permits' AND name = ?", NULL, NULL },
	{ SIM_DROP_TOKEN, "drop-token", "DELETE FROM lock_token WHERE ", NULL,
	  NULL },
	{ SIM_SESSION_OPEN, "open-session", "INSERT INTO lease_session (id, "
	  "ttl, expires_at, beat, breaks, host, pid, program, started_at) "
	  "VALUES (?, ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, 0, 0, ?, "
	  "?, ?, UTC_TIMESTAMP(6))", NULL, "DUPLICATE" },
	{ SIM_BEAT, "beat", "UPDATE lease_session SET expires_at = ",
	  "WHERE id = ?", NULL },
	{ SIM_BREAK, "break", "UPDATE business_lease l LEFT JOIN lease_session "
	  "s ON s.id = l.session LEFT JOIN lease_session c ON c.id = "
	  "IF(s.breaks > 4294967295, s.breaks, s.id) SET l.attempt = 0, "
	  "l.session = 0, c.breaks = c.breaks + 1 WHERE l.name = ? AND l.slot "
	  "= ? AND l.attempt = ?",
	  NULL, NULL },
	{ SIM_DELETE_SESSION, "delete-session",
	  "DELETE FROM lease_session WHERE ", NULL, NULL },
	{ SIM_DELETE_LEASE, "delete-lease",
	  "DELETE FROM business_lease WHERE ", NULL, NULL },
	{ SIM_OVERTAKE, "outcome", "UPDATE business_lease SET guards = (guards "
	  "& 4026531840) | ((guards + 2) & 268435455) WHERE name = ? AND slot "
	  "= ? AND attempt = ? AND guards & 268435455 = ?",
	  NULL, NULL },
	{ SIM_LOOK_GUARDS, "outcome-look", "SELECT guards FROM business_lease "
	  "WHERE name = ? AND slot = ? AND attempt = ?", "FOR UPDATE", NULL },
	{ SIM_GLANCE_GUARDS, "outcome-glance", "SELECT guards FROM "
	  "business_lease WHERE name = ? AND slot = ? AND attempt = ?",
	  NULL, NULL },
	{ SIM_BE_CONSISTENT, "be-consistent", SIM_BE_CONSISTENT_TEXT, NULL,
	  NULL },
	{ SIM_BE_AS_BEFORE, "be-as-before", SIM_BE_AS_BEFORE_TEXT, NULL, NULL },
	{ SIM_LOOK_BREAKS, "look-at-breaks", "SELECT breaks FROM lease_session "
	  "WHERE id = ?", NULL, NULL },
	{ SIM_LOOK_RECEIPT, "outcome-receipt", "SELECT guards FROM "
	  "business_lease WHERE name = ? AND slot = 0 AND attempt = ?", NULL,
	  NULL },
	{ SIM_BEGIN, "begin", "BEGIN", NULL, NULL },
	{ SIM_COMMIT, "commit", "COMMIT", NULL, NULL },
	{ SIM_ROLLBACK, "rollback", "ROLLBACK", NULL, NULL },
	{ SIM_KILL_CONN, "kill", "KILL CONNECTION ", NULL, NULL },
	{ SIM_KILL_STMT, "kill-query", "KILL QUERY ", NULL, NULL },
	{ SIM_KEEP, "keep", "SET SESSION wait_timeout = ", NULL, NULL },
	{ SIM_PING, "ping", "ping", NULL, NULL },
	{ SIM_PING, "barrier", "SET @rowlock_consistency = ", NULL, NULL },
	{ SIM_PING, "barrier", "SET SESSION group_replication_consistency = "
	  "@rowlock_consistency", NULL, NULL },
};

#define LONG_AGO "UTC_TIMESTAMP(6) - INTERVAL 30 DAY"
static const struct {
	enum sim_test test;
	const char *text;
} tests[] = {
	{ SIM_IF_NAME, "name = ?" },
	{ SIM_IF_SLOT, "slot = ?" },
	{ SIM_IF_ATTEMPT, "attempt = ?" },
	{ SIM_IF_SESSION, "session = ?" },
	{ SIM_IF_ID, "id = ?" },
	{ SIM_IF_BEAT, "beat = ?" },
	{ SIM_IF_KEEP, "breaks > 4294967295" },
	{ SIM_IF_NOBODY_PLEADS, "IS_USED_LOCK(?) IS NULL" },
	{ SIM_IF_EXPIRED, "expires_at <= UTC_TIMESTAMP(6)" },
	{ SIM_IF_NO_SESSION, "(SELECT COUNT(*) FROM lease_session s WHERE "
	  "s.id = session) = 0" },
	{ SIM_IF_STRATEGY, "strategy = ?" },
	{ SIM_IF_OLD, "drawn_at < " LONG_AGO },
	{ SIM_IF_OLD, "t.drawn_at < " LONG_AGO },
	{ SIM_IF_PAST, "token < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', "
	  LONG_AGO ")" },
	{ SIM_IF_PAST, "t.token < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', "
	  LONG_AGO ")" },
	{ SIM_IF_FLOOR, "token <= (SELECT f.token FROM lock_token_floor f "
	  "WHERE f.id = 1)" },
	{ SIM_IF_NO_LEASE, "NOT EXISTS (SELECT 1 FROM business_lease l WHERE "
	  "t.strategy = 'lease' AND l.name = t.name)" },
};

/* Of packets; what follows a DELETE's or a SELECT's WHERE is read. */
#define ATTEMPTS "SELECT attempt FROM business_lease WHERE "
#define DELETES "FROM business_lease WHERE "
#define PERMITS                                                                \
	"l.name IN ({?0|, }) AND l.slot IN ({?1|, }) AND l.attempt IN ({?2|, "    \
	"})"
#define NO_PARAMS                                                              \
	{ SIM_ZERO, SIM_ZERO, SIM_ZERO, SIM_ZERO, SIM_ZERO, SIM_ZERO }
static const struct {
	enum sim_verb verb;
	const char *label;
	const char *text;
	const char *or_else; /* begins so, and has a WHERE for who reads it */
	int at[8];
} manies[] = {
	{ SIM_ACQUIRE_LOOKING, "insert-many", "INSERT INTO business_lease "
	  "(name, slot, session, attempt, acquired_at, expires_at, info) "
	  "WITH p (n, c, a, m, i) AS ({SELECT ?0 COLLATE utf8mb4_bin, ?1, ?2, "
	  "?3, ?4| UNION ALL }) SELECT p.n, 0, p.c, p.a, UTC_TIMESTAMP(6), "
	  "UTC_TIMESTAMP(6) + INTERVAL p.m MICROSECOND, p.i FROM p WHERE NOT "
	  "EXISTS (SELECT 1 FROM business_lease l WHERE l.name = p.n AND "
	  "l.slot = 0) ON DUPLICATE KEY UPDATE name = name", NULL,
	  { 0, SIM_ZERO, 1, 2, 3, 4 } },
	{ SIM_ACQUIRE_SET, "insert-set", "INSERT INTO business_lease "
	  "(name, slot, session, attempt, acquired_at, expires_at, info) "
	  "WITH p (n, c, a, m, i) AS ({SELECT ?0 COLLATE utf8mb4_bin, ?1, ?2, "
	  "?3, ?4| UNION ALL }) SELECT p.n, 0, p.c, p.a, UTC_TIMESTAMP(6), "
	  "UTC_TIMESTAMP(6) + INTERVAL p.m MICROSECOND, p.i FROM p WHERE p.a "
	  "NOT IN (SELECT q.a FROM p q JOIN business_lease l ON l.name = q.n "
	  "AND l.slot = 0) ORDER BY p.n ON DUPLICATE KEY UPDATE attempt = "
	  "(SELECT 1 UNION SELECT 2)", NULL, { 0, SIM_ZERO, 1, 2, 3, 4 } },
	{ SIM_ACQUIRE_PERMITS, "insert-permits", "INSERT INTO business_lease "
	  "(name, slot, session, attempt, acquired_at, expires_at, info) "
	  "SELECT q.name, p.s, p.c, p.a, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + "
	  "INTERVAL p.m MICROSECOND, p.i FROM ({SELECT ?0 COLLATE utf8mb4_bin "
	  "AS n, ?1 AS s, ?2 AS c, ?3 AS a, ?4 AS m, ?5 AS i, ?6 AS k, ?7 AS t| "
	  "UNION ALL }) p JOIN lock_permits q ON q.name = p.n AND q.permits = "
	  "p.k WHERE (SELECT COUNT(*) FROM business_lease l WHERE l.name = "
	  "q.name AND l.slot > p.t AND l.slot <= 1073741823) <= p.k - p.t "
	  "ORDER BY p.s LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE attempt = "
	  "(SELECT 1 UNION SELECT 2)", NULL, { 0, 1, 2, 3, 4, 5, 6, 7 } },
	{ SIM_COUNT, "count", "SELECT COUNT(*) FROM business_lease l "
	  "WHERE " PERMITS, NULL, { 0, 1, 2 } },
	{ SIM_COUNT_LIVE, "confirm-many", "SELECT COUNT(*) FROM "
	  "business_lease l JOIN lease_session s ON s.id = l.session WHERE "
	  PERMITS, NULL, { 0, 1, 2 } },
	{ SIM_DELETE_LEASE, "delete-some", "DELETE l FROM business_lease l "
	  "FORCE INDEX (PRIMARY) WHERE " PERMITS, NULL, { 0, 1, 2 } },
	{ SIM_DELETE_LEASE, "delete-some-quietly", "DELETE l FROM "
	  "business_lease l FORCE INDEX (PRIMARY) WHERE " PERMITS " AND "
	  "IS_USED_LOCK(ELT(1, {?3|, })) IS NULL", NULL, { 0, 1, 2, 3 } },
	{ SIM_KEEP_BEAT, "beat-keeps", "UPDATE lease_session k FORCE INDEX "
	  "(PRIMARY) JOIN lease_session c ON c.id = k.breaks SET k.ttl = "
	  "IF(k.expires_at <= UTC_TIMESTAMP(6) + INTERVAL c.ttl * 1000 "
	  "MICROSECOND, c.ttl, k.ttl), k.expires_at = GREATEST(k.expires_at, "
	  "UTC_TIMESTAMP(6) + INTERVAL c.ttl * 1000 MICROSECOND), k.beat = "
	  "k.beat + 1 WHERE k.id IN ({?0|, })", NULL,
	  { 0, SIM_ZERO, SIM_ZERO, SIM_ZERO, SIM_ZERO, SIM_ZERO, SIM_ZERO,
	    SIM_ZERO } },
	{ SIM_KEEP_BEAT_WHOLE, "beat-whole", "UPDATE lease_session k FORCE "
	  "INDEX (PRIMARY) SET k.expires_at = UTC_TIMESTAMP(6) + INTERVAL "
	  "k.ttl * 1000 MICROSECOND, k.beat = k.beat + 1 WHERE k.id IN "
	  "({?0|, })", NULL,
	  { 0, SIM_ZERO, SIM_ZERO, SIM_ZERO, SIM_ZERO, SIM_ZERO, SIM_ZERO,
	    SIM_ZERO } },
	{ SIM_DELETE_LEASE, "sweep-name", "DELETE l FROM business_lease l "
	  "FORCE INDEX (PRIMARY) WHERE " PERMITS " AND (SELECT COUNT(*) "
	  "FROM lease_session s WHERE s.id = l.session) = 0", NULL, { 0, 1, 2 } },
	{ SIM_ACQUIRE_SEEING, "insert-one-seeing", "INSERT INTO business_lease "
	  "(name, slot, session, attempt, acquired_at, expires_at, info) "
	  "SELECT p.n, 0 + 0 * LAST_INSERT_ID(COALESCE(IS_USED_LOCK(p.b), 0))"
	  ", p.c, p.a, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL p.m "
	  "MICROSECOND, p.i FROM ({SELECT ?0 COLLATE utf8mb4_bin AS n, ?1 AS "
	  "c, ?2 AS a, ?3 AS m, ?4 AS i, ?5 AS b|}) p WHERE NOT EXISTS (SELECT "
	  "1 FROM business_lease l WHERE l.name = p.n AND l.slot = 0) ON "
	  "DUPLICATE KEY UPDATE name = name", NULL,
	  { 0, SIM_ZERO, 1, 2, 3, 4, 5, SIM_ZERO } },
	{ SIM_LOOK, "look-many", "SELECT l.attempt, l.session, "
	  "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), s.expires_at), "
	  "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_at), "
	  "s.beat, s.ttl, TIMESTAMPDIFF(MICROSECOND, l.acquired_at, "
	  "l.expires_at) DIV 1000, l.name FROM business_lease l LEFT JOIN "
	  "lease_session s ON s.id = l.session WHERE l.name IN ({?0|, }) AND "
	  "l.slot = 0", NULL, { 0, SIM_ZERO, SIM_ZERO } },
	{ SIM_ACQUIRE_READER, "insert-reader", "INSERT INTO business_lease "
	  "(name, slot, session, attempt, acquired_at, info) SELECT p.n, p.s, "
	  "p.c, p.a, UTC_TIMESTAMP(6), p.i FROM ({SELECT ?0 COLLATE "
	  "utf8mb4_bin AS n, ?1 AS s, ?2 AS c, ?3 AS a, ?4 AS i, ?5 AS u|}) p "
	  "WHERE NOT EXISTS (SELECT 1 FROM business_lease l WHERE l.name = p.n "
	  "AND l.slot = 2147483648 AND l.attempt <> p.u) ON DUPLICATE KEY "
	  "UPDATE name = name", NULL,
	  { 0, 1, 2, 3, 5, SIM_ZERO, SIM_ZERO, SIM_ZERO } },
	{ SIM_LOOK_READER, "look-reader", "SELECT l.attempt, l.session, "
	  "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), s.expires_at), "
	  "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_at), "
	  "s.beat, s.ttl, TIMESTAMPDIFF(MICROSECOND, l.acquired_at, "
	  "l.expires_at) DIV 1000, l.slot FROM business_lease l LEFT JOIN "
	  "lease_session s ON s.id = l.session WHERE l.name IN ({?0|, "
	  "}) AND l.slot IN (2147483648, {?1|, })", NULL,
	  { 0, 1, SIM_ZERO, SIM_ZERO, SIM_ZERO, SIM_ZERO } },
	{ SIM_DRAW_LEASE, "draw-many", NULL, "INSERT INTO lock_token "
	  "(strategy, name, token, drawn_at, attempt) SELECT 'lease', name, "
	  "LAST_INSERT_ID(", { 0, SIM_ZERO, 1 } },
	{ SIM_DRAW_LEASE, "draw-all", NULL, "INSERT INTO lock_token "
	  "(strategy, name, token, drawn_at, attempt) SELECT 'lease', name, "
	  "GREATEST(TIMESTAMPDIFF(", { 0, SIM_ZERO, 1 } },
	{ SIM_BELL_RING, "ring-many", "DO {RELEASE_LOCK(?0)|}", NULL,
	  { 0, SIM_ZERO, SIM_ZERO, SIM_ZERO, SIM_ZERO, SIM_ZERO } },
	{ SIM_PRESENT, "present-of-ours", "SELECT l.attempt FROM "
	  "business_lease l WHERE " PERMITS, NULL, { 0, 1, 2 } },
	{ SIM_PRESENT, "present-many", NULL, ATTEMPTS, { 0, SIM_ZERO, 1 } },
	{ SIM_DELETE_LEASE, "delete-many", NULL, "SET STATEMENT "
	  "sql_safe_updates = 1 FOR DELETE " DELETES, { 0, SIM_ZERO, 1 } },
	{ SIM_DELETE_LEASE, "delete-many", NULL, "DELETE /*+ INDEX("
	  "business_lease PRIMARY) */ " DELETES, { 0, SIM_ZERO, 1 } },
	{ SIM_AHEAD, "look-ahead", "SELECT t.name, t.attempt FROM (SELECT "
	  "l.name, l.slot, l.session, l.attempt FROM business_lease l WHERE "
	  "{l.name > ?0|} ORDER BY l.name, l.slot LIMIT 64) t LEFT JOIN "
	  "lease_session s ON s.id = t.session WHERE t.slot = 0 AND (s.id IS "
	  "NULL OR s.expires_at <= UTC_TIMESTAMP(6))", NULL, { 0 } },
	{ SIM_DELETE_LEASE, "sweep-many", NULL, "DELETE l FROM business_lease "
	  "l FORCE INDEX (PRIMARY) WHERE ", { 0, SIM_ZERO, 1 } },
	{ SIM_DELETE_SESSION, "evict-many", NULL, "DELETE s FROM "
	  "lease_session s FORCE INDEX (PRIMARY) WHERE ", { 0, 1 } },
	{ SIM_ACQUIRE_LOOKING, "insert-many", NOWAIT "INSERT INTO "
	  "business_lease (name, slot, session, attempt, acquired_at, "
	  "expires_at, info) VALUES {(?0, 0, ?1, ?2, UTC_TIMESTAMP(6), "
	  "UTC_TIMESTAMP(6) + INTERVAL ?3 MICROSECOND, ?4)|, } ON DUPLICATE "
	  "KEY UPDATE name = name", NULL,
	  { 0, SIM_ZERO, 1, 2, 3, 4 } },
	{ SIM_ACQUIRE_RINGING, "insert-one-ringing", NOWAIT "INSERT INTO "
	  "business_lease (name, slot, session, attempt, acquired_at, "
	  "expires_at, info) VALUES {(?0, 0, ?1, ?2, UTC_TIMESTAMP(6), "
	  "UTC_TIMESTAMP(6) + INTERVAL ?3 MICROSECOND, ?4)|, } ON DUPLICATE "
	  "KEY UPDATE name = name RETURNING attempt, "
	  "{IF(attempt = ?2, GET_LOCK(?5, 0), 0)|}", NULL,
	  { 0, SIM_ZERO, 1, 2, 3, 4, 2, 5 } },
	{ SIM_CHOOSE_BLOCKER, "choose-blocker", NULL, "SET @rowlock_holder = "
	  "({SELECT MAX(b.trx_mysql_thread_id) FROM ", { 0, 1 } },
	{ SIM_CHOOSE_BLOCKER, "choose-blocker", NULL, "SET @rowlock_holder = "
	  "({SELECT MAX(b.PROCESSLIST_ID) FROM ", { 0, 1 } },
	{ SIM_KILL_CHOSEN, "kill-chosen", "KILL CONNECTION @rowlock_holder",
	  NULL, NO_PARAMS },
	{ SIM_BEGIN, "begin", "BEGIN", NULL, NO_PARAMS },
	{ SIM_COMMIT, "commit", "COMMIT", NULL, NO_PARAMS },
	{ SIM_ROLLBACK, "rollback", "ROLLBACK", NULL, NO_PARAMS },
};

static const struct {
	struct sim_condition condition;
	const char *text;
	bool goes_on; /* the next one is about the same text */
} many_tests[] = {
	{ { SIM_IF_NAME, 0 }, "name IN ({?0|, })", false },
	{ { SIM_IF_SLOT, 1 }, "slot = 0", false },
	{ { SIM_IF_ATTEMPT, 2 }, "attempt IN ({?1|, })", false },
	{ { SIM_IF_NAME, 0 }, "l.name IN ({?0|, })", false },
	{ { SIM_IF_SLOT, 1 }, "l.slot = 0", false },
	{ { SIM_IF_SLOT, 1 }, "l.slot IN ({?1|, })", false },
	{ { SIM_IF_ATTEMPT, 2 }, "l.attempt IN ({?2|, })", false },
	{ { SIM_IF_ATTEMPT, 2 }, "l.attempt IN ({?1|, })", false },
	{ { SIM_IF_EXPIRED, 0 }, "l.expires_at <= UTC_TIMESTAMP(6)", false },
	{ { SIM_IF_NO_SESSION, 0 }, "(SELECT COUNT(*) FROM lease_session s "
	  "WHERE s.id = l.session) = 0", false },
	{ { SIM_IF_NOBODY_PLEADS, 3 },
	  "IS_USED_LOCK(ELT(1, {?3|, })) IS NULL", false },
	{ { SIM_IF_ID, 0 }, "s.id IN ({?0|, })", false },
	{ { SIM_IF_EXPIRED, 0 }, "s.expires_at <= UTC_TIMESTAMP(6)", false },
	{ { SIM_IF_BEAT, 1 }, "{(s.id = ?0 AND s.beat = ?1)| OR }", true },
	{ { SIM_IF_ID, 0 }, "{(s.id = ?0 AND s.beat = ?1)| OR }", false },
};
/* clang-format on */

const char *sim_verb_name(enum sim_verb verb)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(patterns); i++)
		if (patterns[i].verb == verb)
			return patterns[i].label;
	for (size_t i = 0; i < RLK_ARRAY_SIZE(manies); i++)
		if (manies[i].verb == verb)
			return manies[i].label;
	return sim_run_label(verb) ? sim_run_label(verb) : sim_said_label(verb);
}

static _Noreturn void unknown(const char *sql)
{
	sim_violation("the simulated server does not know this statement; "
		      "teach it in tests/sim/sql.c: %s",
		      sql);
}

/* Blanks and line breaks in a row are one blank. */
static void squeeze(const char *sql, char *to, size_t size)
{
	size_t n = 0;

	for (; *sql && n + 1 < size; sql++) {
		if (*sql == ' ' && n && to[n - 1] == ' ')
			continue;
		to[n++] = *sql;
	}
	to[n] = '\0';
}

static const struct pattern *find(const char *sql)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(patterns); i++) {
		const struct pattern *pattern = &patterns[i];

		if (strncmp(sql, pattern->begins, strlen(pattern->begins)))
			continue;
		if (pattern->has && !strstr(sql, pattern->has))
			continue;
		if (pattern->not_in && strstr(sql, pattern->not_in))
			continue;
		return pattern;
	}
	unknown(sql);
}

/* One condition at @at; returns what follows it. */
static const char *read_condition(struct sim_op *op, const char *at,
				  unsigned int *param, const char *sql)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(tests); i++) {
		size_t length = strlen(tests[i].text);

		if (strncmp(at, tests[i].text, length))
			continue;
		if (op->conditions == RLK_ARRAY_SIZE(op->condition))
			break;
		op->condition[op->conditions++] =
		    (struct sim_condition){ tests[i].test, *param };
		*param += strchr(tests[i].text, '?') != NULL;
		return at + length;
	}
	unknown(sql);
}

static void read_where(struct sim_op *op, const char *sql)
{
	const char *at = strstr(sql, " WHERE ") + strlen(" WHERE ");
	unsigned int param = 0;

	for (;;) {
		at = read_condition(op, at, &param, sql);
		if (!*at || strcmp(at, " AND ? IS NOT NULL") == 0 ||
		    strcmp(at, " LIMIT ?") == 0)
			return;
		op->rings = strcmp(at, " RETURNING RELEASE_LOCK(?)") == 0;
		if (op->rings)
			return;
		if (strncmp(at, " AND ", 5))
			unknown(sql);
		at += 5;
	}
}

static unsigned int count_params(const char *sql)
{
	unsigned int count = 0;

	for (; *sql; sql++)
		count += *sql == '?';
	return count;
}

/* Locked, so that nobody raises it before the draw has happened. */
#define FLOOR_READ                                                             \
	"(SELECT f.token + 1 FROM lock_token_floor f WHERE f.id = 1 "          \
	"LOCK IN SHARE MODE)"

static bool never_goes_back(const char *sql)
{
	return strstr(sql, "GREATEST(expires_at") ||
	       strstr(sql, "GREATEST(token + 1");
}

static void compile(struct sim_op *op, const char *text)
{
	char sql[2048];
	const struct pattern *pattern;

	squeeze(text, sql, sizeof(sql));
	if (sim_run_read(op, sql)) {
		op->params = count_params(sql);
		return;
	}
	pattern = find(sql);
	*op = (struct sim_op){
		.verb = pattern->verb,
		.label = pattern->label,
		.params = count_params(sql),
		.writes = pattern->verb >= SIM_ROW_MAKE,
		.greatest = never_goes_back(sql),
		.floor = strstr(sql, FLOOR_READ) != NULL,
		.counts = strstr(sql, "beat = beat + 1") != NULL,
		.by_attempt = strstr(sql, "attempt = ?") != NULL,
		.nowait = strncmp(sql, NOWAIT, strlen(NOWAIT)) == 0,
	};
	if (op->verb == SIM_DELETE_SESSION || op->verb == SIM_DELETE_LEASE ||
	    op->verb == SIM_STILL_LEASE || op->verb == SIM_STILL_SESSION ||
	    op->verb == SIM_TOKENS_OLD || op->verb == SIM_DROP_TOKEN)
		read_where(op, sql);
}

const struct sim_op *sim_op_of(const struct rlk_stmt_def *def)
{
	static struct {
		const struct rlk_stmt_def *def;
		struct sim_op op;
	} known[128];
	size_t at = (size_t) ((uintptr_t) def >> 4) % RLK_ARRAY_SIZE(known);

	for (size_t i = 0; i < RLK_ARRAY_SIZE(known); i++) {
		if (known[at].def == def)
			return &known[at].op;
		if (!known[at].def) {
			known[at].def = def;
			compile(&known[at].op, def->sql);
			return &known[at].op;
		}
		at = (at + 1) % RLK_ARRAY_SIZE(known);
	}
	unknown("too many");
}

const struct sim_op *sim_op_of_text(const char *sql, uint64_t *ret_number)
{
	static struct sim_op ops[SIM_VERBS];
	const struct pattern *pattern = find(sql);
	struct sim_op *op = &ops[pattern->verb];

	if (!op->label)
		compile(op, sql);
	if (op->verb == SIM_KILL_CONN || op->verb == SIM_KILL_STMT ||
	    op->verb == SIM_KEEP)
		*ret_number = strtoull(sql + strlen(pattern->begins), NULL, 10);
	return op;
}

/* --------------------------------------------------------------- packets */

static const char *read_many_condition(struct sim_op *op, const char *at,
				       const char *sql)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(many_tests); i++) {
		size_t length = strlen(many_tests[i].text);

		if (strncmp(at, many_tests[i].text, length))
			continue;
		op->condition[op->conditions++] = many_tests[i].condition;
		if (!many_tests[i].goes_on)
			return at + length;
	}
	unknown(sql);
}

static void read_many_where(struct sim_many *many, const char *sql)
{
	const char *at = strstr(sql, " WHERE ") + strlen(" WHERE ");

	for (;;) {
		at = read_many_condition(&many->each, at, sql);
		if (!*at)
			return;
		if (strcmp(at, " RETURNING attempt") == 0)
			break;
		if (strncmp(at, " AND ", 5))
			unknown(sql);
		at += 5;
	}
	many->returns = true;
}

static void compile_many(struct sim_many *many, const char *text)
{
	char sql[2048];
	size_t i = 0;

	squeeze(text, sql, sizeof(sql));
	while (i < RLK_ARRAY_SIZE(manies) &&
	       (manies[i].text ? strcmp(sql, manies[i].text)
			       : strncmp(sql, manies[i].or_else,
					 strlen(manies[i].or_else))))
		i++;
	if (i == RLK_ARRAY_SIZE(manies))
		unknown(sql);
	*many = (struct sim_many){
		.each = {
			.verb = manies[i].verb,
			.label = manies[i].label,
			.params = RLK_ARRAY_SIZE(many->at),
			.writes = manies[i].verb >= SIM_ROW_MAKE,
			.greatest = never_goes_back(sql),
			.floor = strstr(sql, FLOOR_READ) != NULL,
			.by_attempt = strstr(sql, "attempt = ?1") ||
				      strstr(sql, "attempt IN ({?1|, })"),
			.nowait = strncmp(sql, NOWAIT, strlen(NOWAIT)) == 0,
			.passes = strstr(sql, " SKIP LOCKED ") != NULL,
		},
	};
	memcpy(many->at, manies[i].at, sizeof(many->at));
	many->returns = strstr(sql, " RETURNING name, token") != NULL;
	if (many->each.verb == SIM_PRESENT || many->each.verb == SIM_COUNT ||
	    many->each.verb == SIM_COUNT_LIVE ||
	    many->each.verb == SIM_DELETE_SESSION ||
	    many->each.verb == SIM_DELETE_LEASE)
		read_many_where(many, sql);
}

const struct sim_many *sim_many_of(const struct rlk_many_def *def)
{
	static struct {
		const struct rlk_many_def *def;
		struct sim_many many;
	} known[64];

	for (size_t i = 0; i < RLK_ARRAY_SIZE(known); i++) {
		if (known[i].def == def)
			return &known[i].many;
		if (known[i].def)
			continue;
		known[i].def = def;
		compile_many(&known[i].many, def->sql);
		return &known[i].many;
	}
	unknown("too many");
}
