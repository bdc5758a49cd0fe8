-- SPDX-License-Identifier: MIT
--
-- rowlock, schema version 2: a token that is collected leaves a floor, so that
-- no later one of its name is smaller whatever the server's clock says; and no
-- token may reach 2^53, behind which its name, or the floor, could draw no more
-- (as microseconds since 1970 that is the year 2255; it also survives JSON).
--
-- As in 0001 every statement can be run again. Tokens that are above the bound
-- already are told by rowlock-migrate, with their names, before it begins; one
-- that is written meanwhile stops it at the ALTER.

CREATE TABLE IF NOT EXISTS lock_token_floor (
	id TINYINT UNSIGNED NOT NULL PRIMARY KEY COMMENT '1: there is one row',
	token BIGINT UNSIGNED NOT NULL
		COMMENT 'the largest that was ever collected; new names start above',
	raised_at DATETIME(6) NULL,
	CONSTRAINT lock_token_floor_one CHECK (id = 1),
	CONSTRAINT lock_token_floor_bound CHECK (token < 9007199254740992)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
	COMMENT='rowlock: what the rows that went from lock_token have left';

INSERT INTO lock_token_floor (id, token, raised_at) VALUES (1, 0, NULL)
	ON DUPLICATE KEY UPDATE id = 1;

-- MySQL has no ADD CONSTRAINT IF NOT EXISTS; on MariaDB it lets two nodes of a
-- cluster do this at once.
SET @rowlock_do = IF((SELECT COUNT(*) FROM information_schema.table_constraints
	WHERE table_schema = DATABASE() AND table_name = 'lock_token'
	AND constraint_name = 'lock_token_bound') = 0,
	'ALTER TABLE lock_token ADD CONSTRAINT /*M! IF NOT EXISTS */
	lock_token_bound CHECK (token < 9007199254740992)', 'DO 0');
PREPARE rowlock_step FROM @rowlock_do;
EXECUTE rowlock_step;
DEALLOCATE PREPARE rowlock_step;
