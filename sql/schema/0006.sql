-- SPDX-License-Identifier: MIT
--
-- rowlock, schema version 6: a secret. User-level locks (GET_LOCK) are anybody's
-- on a server: waiters of a lease stand in line for one, and rowlock-migrate
-- takes one. Their names are made with a secret, so that only who can read this
-- table can tell them. It is in a row of its own, version 0, which is no
-- migration.
--
-- As in 0001 every statement can be run again; rowlock-migrate does it before it
-- takes that lock.

-- MySQL has no ADD COLUMN IF NOT EXISTS.
SET @rowlock_do = IF((SELECT COUNT(*) FROM information_schema.columns
	WHERE table_schema = DATABASE() AND table_name = 'rowlock_schema'
	AND column_name = 'secret') = 0,
	'ALTER TABLE rowlock_schema ADD COLUMN /*M! IF NOT EXISTS */
	secret CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL
	COMMENT ''version 0: names of user-level locks are made with it''', 'DO 0');
PREPARE rowlock_step FROM @rowlock_do;
EXECUTE rowlock_step;
DEALLOCATE PREPARE rowlock_step;

INSERT INTO rowlock_schema (version, checksum, applied_at, secret)
VALUES (0, '', UTC_TIMESTAMP(6), SHA2(RANDOM_BYTES(32), 256))
ON DUPLICATE KEY UPDATE version = version;
