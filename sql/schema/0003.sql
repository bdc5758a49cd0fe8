-- SPDX-License-Identifier: MIT
--
-- rowlock, schema version 3: a token says which hold drew it. Whoever reads the
-- name's token together with its lease sees whether the one is the other's: a
-- new holder that has drawn none yet is not shown with the token of the last.
--
-- As in 0001 every statement can be run again.

-- MySQL has no ADD COLUMN IF NOT EXISTS.
SET @rowlock_do = IF((SELECT COUNT(*) FROM information_schema.columns
	WHERE table_schema = DATABASE() AND table_name = 'lock_token'
	AND column_name = 'attempt') = 0,
	'ALTER TABLE lock_token ADD COLUMN /*M! IF NOT EXISTS */
	attempt BIGINT UNSIGNED NULL
	COMMENT ''lease: which hold drew it; NULL: not known''', 'DO 0');
PREPARE rowlock_step FROM @rowlock_do;
EXECUTE rowlock_step;
DEALLOCATE PREPARE rowlock_step;

-- As in 0001, but for the token: that of this very hold, or none.
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
LEFT JOIN lock_token t ON t.strategy = 'lease' AND t.name = l.name
	AND t.attempt = l.attempt;
