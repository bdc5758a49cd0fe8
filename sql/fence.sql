-- SPDX-License-Identifier: MIT
--
-- rowlock, beside data that are not on the locks' server: the largest fencing
-- token of each resource (rowlock-migrate --fence-only).

CREATE TABLE IF NOT EXISTS lock_fence (
	resource VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
		PRIMARY KEY COMMENT 'what the tokens protect',
	token BIGINT UNSIGNED NOT NULL
		COMMENT 'the largest that a transaction has passed with',
	passes BIGINT UNSIGNED NOT NULL
		COMMENT 'counts the transactions that have passed',
	passed_at DATETIME(6) NOT NULL COMMENT 'the last of them, UTC'
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
	COMMENT='rowlock: the largest fencing token of each resource';
