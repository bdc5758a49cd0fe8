-- SPDX-License-Identifier: MIT
--
-- rowlock_fence(), for those who talk to the server in another way than by the C
-- function of this name. It does the same: in the caller's transaction, with the
-- caller's rights.

DELIMITER //
CREATE PROCEDURE rowlock_fence(
	IN p_resource VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	IN p_token BIGINT UNSIGNED)
	MODIFIES SQL DATA SQL SECURITY INVOKER
	COMMENT 'rowlock: fails (1644) if a later holder has passed'
BEGIN
	DECLARE EXIT HANDLER FOR 1242
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
		'rowlock_fence: a later holder has been there; ROLLBACK';
	INSERT INTO lock_fence (resource, token, passes, passed_at)
	VALUES (p_resource, p_token, 1, UTC_TIMESTAMP(6))
	ON DUPLICATE KEY UPDATE
		passes = IF(token <= VALUES(token), passes + 1, (SELECT 1 UNION SELECT 2)),
		token = VALUES(token), passed_at = VALUES(passed_at);
END//
DELIMITER ;
