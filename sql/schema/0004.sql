-- SPDX-License-Identifier: MIT
--
-- rowlock, schema version 4: how many permits each semaphore has. The permits
-- that are in use are rows of business_lease, as locks are.
--
-- As in 0001 every statement can be run again.

CREATE TABLE IF NOT EXISTS lock_permits (
	name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
		PRIMARY KEY COMMENT 'of the semaphore',
	permits INT UNSIGNED NOT NULL
		COMMENT 'so many at a time; whoever uses it has to say the same',
	CONSTRAINT lock_permits_bound CHECK (permits BETWEEN 1 AND 1000)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
	COMMENT='rowlock: how many permits each semaphore has';
