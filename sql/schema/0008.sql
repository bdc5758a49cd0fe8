-- SPDX-License-Identifier: MIT
--
-- rowlock, schema version 8: the view shows what is kept. A lease whose name stays
-- taken for some time after its grant belongs to a session of its own, its keep,
-- which has the session of its client in `breaks`: a number that no count of breaks
-- comes to. If that session is gone, nobody holds the lease any more.
--
-- The tables of locks stay as they are, so programs of the version before see such a
-- lease as held for as long.
--
-- The table job_run has the runs of jobs that run once per window of time: which runs
-- were begun, and by which of them the work of a window is done. A run is claimed, and
-- a success noted, by the holder of the lease of the same name. No older program looks
-- at it. The view job_status shows these runs, and which of them run.
--
-- The table lease_revocation has requests to holders to give a lease back. A program
-- that does not know it goes on holding.
--
-- The view lock_summary counts what lock_status shows, for people and monitors that
-- only have SQL. Of the row strategy it counts the names that are known: its holds are
-- transactions, no data, so their state is unknown to a view. The oldest hold's name
-- stands behind its time, which has 26 characters. It reads the tables, as lock_status
-- does: a dump that has a view on a view cannot be read where the account that made
-- them is not there.
--
-- As in 0001 every statement can be run again.

CREATE TABLE IF NOT EXISTS job_run (
	name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
		COMMENT 'of the lease that it ran under',
	run BIGINT UNSIGNED NOT NULL COMMENT 'a random number',
	number BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'of the name''s runs, in their order',
	attempt BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'of the lease',
	from_at DATETIME(6) NOT NULL COMMENT 'the window, UTC: from this moment',
	until_at DATETIME(6) NOT NULL COMMENT '... until before this one',
	nth INT UNSIGNED NOT NULL COMMENT 'run of its window',
	began_at DATETIME(6) NOT NULL COMMENT 'UTC; its window is by this',
	ended_at DATETIME(6) NULL DEFAULT NULL COMMENT 'UTC; NULL: it runs, or died',
	code INT NULL DEFAULT NULL COMMENT 'it ended with',
	succeeded TINYINT UNSIGNED NOT NULL DEFAULT 0,
	host VARCHAR(255) NOT NULL DEFAULT '',
	pid INT UNSIGNED NOT NULL DEFAULT 0,
	program VARCHAR(255) NOT NULL DEFAULT '',
	PRIMARY KEY (name, run),
	KEY newest_first (name, began_at DESC, run)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
	COMMENT='rowlock: runs of jobs, once per window';

CREATE TABLE IF NOT EXISTS lease_revocation (
	name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	attempt BIGINT UNSIGNED NOT NULL COMMENT 'of the lease that is asked for',
	request BIGINT UNSIGNED NOT NULL COMMENT 'a random number',
	answer TINYINT UNSIGNED NOT NULL DEFAULT 0
		COMMENT 'of the holder: 1 it knows, 2 when it is done, 3 no; 0: none yet',
	host VARCHAR(255) NOT NULL DEFAULT '' COMMENT 'of the one who asks',
	pid INT UNSIGNED NOT NULL DEFAULT 0,
	program VARCHAR(255) NOT NULL DEFAULT '',
	reason VARCHAR(255) NOT NULL DEFAULT '',
	asked_at DATETIME(6) NOT NULL COMMENT 'UTC',
	PRIMARY KEY (name, attempt)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
	COMMENT='rowlock: requests to give a lease back';

CREATE OR REPLACE ALGORITHM=TEMPTABLE SQL SECURITY DEFINER VIEW lock_status AS
SELECT
	l.name AS name,
	CASE
	WHEN l.slot = 0 THEN 'lock'
	WHEN l.slot <= 1073741823 THEN 'permit'
	WHEN l.slot <= 2147483647 THEN 'candidate'
	WHEN l.slot = 2147483648 THEN 'writer'
	ELSE 'reader'
	END AS kind,
	l.slot AS slot,
	CASE
	WHEN s.id IS NULL THEN 'dead'
	WHEN s.expires_at <= UTC_TIMESTAMP(6) THEN 'dead'
	WHEN l.expires_at <= UTC_TIMESTAMP(6) THEN 'dead'
	WHEN l.slot BETWEEN 1073741824 AND 2147483647 THEN 'waiting'
	WHEN s.breaks > 4294967295 AND NOT EXISTS (
		SELECT 1 FROM lease_session c
		WHERE c.id = s.breaks AND c.expires_at > UTC_TIMESTAMP(6)
		) THEN 'kept'
	ELSE 'held'
	END AS state,
	l.acquired_at AS acquired_at,
	TIMESTAMPDIFF(MICROSECOND, l.acquired_at, UTC_TIMESTAMP(6)) / 1000000
		AS held_s,
	CASE
	WHEN l.expires_at < s.expires_at THEN l.expires_at
	ELSE s.expires_at
	END AS expires_at,
	TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), CASE
		WHEN l.expires_at < s.expires_at THEN l.expires_at
		ELSE s.expires_at
		END) / 1000000 AS remaining_s,
	s.host AS host,
	s.pid AS pid,
	s.program AS program,
	l.info AS info,
	t.token AS token,
	t.drawn_at AS token_drawn_at,
	l.expires_at AS max_until,
	s.ttl / 1000 AS ttl_s,
	s.beat AS beat,
	s.started_at AS session_started_at,
	l.session AS session
FROM business_lease l
LEFT JOIN lease_session s ON s.id = l.session
LEFT JOIN lock_token t ON t.strategy = 'lease' AND t.name = l.name
	AND t.attempt = l.attempt
WHERE l.name >= ' ';

CREATE OR REPLACE ALGORITHM=TEMPTABLE SQL SECURITY DEFINER VIEW job_status AS
SELECT
	j.name AS name,
	CASE
	WHEN j.succeeded > 0 THEN 'succeeded'
	WHEN j.ended_at IS NOT NULL THEN 'failed'
	WHEN s.expires_at > UTC_TIMESTAMP(6)
		AND COALESCE(l.expires_at > UTC_TIMESTAMP(6), 1) THEN 'running'
	ELSE 'died'
	END AS state,
	j.began_at AS began_at,
	j.ended_at AS ended_at,
	TIMESTAMPDIFF(MICROSECOND, j.began_at, j.ended_at) / 1000000 AS took_s,
	j.code AS code,
	j.nth AS nth,
	j.from_at AS from_at,
	j.until_at AS until_at,
	j.host AS host,
	j.pid AS pid,
	j.program AS program
FROM job_run j
LEFT JOIN business_lease l ON l.name = j.name AND l.slot = 0
	AND l.attempt = j.attempt
LEFT JOIN lease_session s ON s.id = l.session;

CREATE OR REPLACE ALGORITHM=TEMPTABLE SQL SECURITY DEFINER VIEW lock_summary AS
SELECT
	'lease' AS strategy,
	kind,
	state,
	COUNT(*) AS holds,
	COUNT(DISTINCT name) AS names,
	MIN(acquired_at) AS oldest_acquired_at,
	MAX(held_s) AS oldest_held_s,
	SUBSTRING(MIN(CONCAT(acquired_at, name)), 27) AS oldest_name
FROM (
	SELECT
		l.name AS name,
		CASE
		WHEN l.slot = 0 THEN 'lock'
		WHEN l.slot <= 1073741823 THEN 'permit'
		WHEN l.slot <= 2147483647 THEN 'candidate'
		WHEN l.slot = 2147483648 THEN 'writer'
		ELSE 'reader'
		END AS kind,
		CASE
		WHEN s.id IS NULL THEN 'dead'
		WHEN s.expires_at <= UTC_TIMESTAMP(6) THEN 'dead'
		WHEN l.expires_at <= UTC_TIMESTAMP(6) THEN 'dead'
		WHEN l.slot BETWEEN 1073741824 AND 2147483647 THEN 'waiting'
		WHEN s.breaks > 4294967295 AND NOT EXISTS (
			SELECT 1 FROM lease_session c
			WHERE c.id = s.breaks AND c.expires_at > UTC_TIMESTAMP(6)
			) THEN 'kept'
		ELSE 'held'
		END AS state,
		l.acquired_at AS acquired_at,
		TIMESTAMPDIFF(MICROSECOND, l.acquired_at, UTC_TIMESTAMP(6)) / 1000000
			AS held_s
	FROM business_lease l
	LEFT JOIN lease_session s ON s.id = l.session
	WHERE l.name >= ' '
	) h
GROUP BY kind, state
UNION ALL
SELECT 'row', 'lock', 'unknown', COUNT(*), COUNT(*), NULL, NULL, NULL
FROM business_lock
HAVING COUNT(*) > 0;
