-- SPDX-License-Identifier: MIT
--
-- rowlock, schema version 1: the tables of both strategies, the tokens, the
-- list of applied migrations, and the view for people.
--
-- Every statement here can be run again: DDL commits by itself, so a migration
-- that was killed half way is simply applied once more. ../README.md explains
-- each table, column and index. Times are UTC.

CREATE TABLE IF NOT EXISTS rowlock_schema (
	version INT UNSIGNED NOT NULL PRIMARY KEY,
	checksum CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
		COMMENT 'SHA-256 of the migration file',
	applied_at DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
	COMMENT='rowlock: the migrations that were applied';

CREATE TABLE IF NOT EXISTS business_lock (
	name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
		PRIMARY KEY,
	info VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
	created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
	COMMENT='rowlock, row strategy: SELECT ... FOR UPDATE of a row holds it';

CREATE TABLE IF NOT EXISTS lease_session (
	id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
	ttl INT UNSIGNED NOT NULL COMMENT 'milliseconds',
	expires_at DATETIME(6) NOT NULL,
	beat BIGINT UNSIGNED NOT NULL DEFAULT 0,
	breaks BIGINT UNSIGNED NOT NULL DEFAULT 0,
	host VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
	pid INT UNSIGNED NULL,
	program VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
	started_at DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
	COMMENT='rowlock, lease strategy: one row per client that is alive';

CREATE TABLE IF NOT EXISTS business_lease (
	name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	slot INT UNSIGNED NOT NULL,
	session BIGINT UNSIGNED NOT NULL COMMENT 'lease_session.id',
	attempt BIGINT UNSIGNED NOT NULL COMMENT 'the identity of this hold',
	acquired_at DATETIME(6) NOT NULL,
	expires_at DATETIME(6) NULL COMMENT 'only for a maximum hold',
	info VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
	guards INT UNSIGNED NOT NULL DEFAULT 0,
	PRIMARY KEY (name, slot)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
	COMMENT='rowlock, lease strategy: the row is there while it is held';

CREATE TABLE IF NOT EXISTS lock_token (
	strategy VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	token BIGINT UNSIGNED NOT NULL,
	drawn_at DATETIME(6) NOT NULL,
	PRIMARY KEY (strategy, name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
	COMMENT='rowlock: the last fencing token of each name';

-- For people and monitoring. ALGORITHM=TEMPTABLE keeps `SELECT ... FOR UPDATE`
-- on the view from locking a row of the tables; SQL SECURITY DEFINER lets an
-- account read it that has no right on any table.
CREATE OR REPLACE ALGORITHM=TEMPTABLE SQL SECURITY DEFINER VIEW lock_status AS
SELECT
	l.name AS name,
	l.slot AS slot,
	CASE
	WHEN s.id IS NULL THEN 'dead'
	WHEN s.expires_at <= UTC_TIMESTAMP(6) THEN 'dead'
	WHEN l.expires_at <= UTC_TIMESTAMP(6) THEN 'dead'
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
	l.session AS session,
	l.attempt AS attempt
FROM business_lease l
LEFT JOIN lease_session s ON s.id = l.session
LEFT JOIN lock_token t ON t.strategy = 'lease' AND t.name = l.name;
