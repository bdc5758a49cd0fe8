-- SPDX-License-Identifier: MIT
--
-- rowlock_guard(), for accounts that may not change rowlock's tables: the guard of
-- a transaction (rowlock_guard_call(), `rowlock run --guarded`), with the rights
-- of whoever made it. All that one can do by it is to count a hold's commits.

DELIMITER //
CREATE PROCEDURE rowlock_guard(
	IN p_name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	IN p_attempt BIGINT UNSIGNED)
	MODIFIES SQL DATA SQL SECURITY DEFINER
	COMMENT 'rowlock: fails (1644) if the hold is lost'
BEGIN
	UPDATE business_lease SET guards = guards + 1
	WHERE name = p_name AND slot = 0 AND attempt = p_attempt;
	IF ROW_COUNT() <> 1 THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
		'rowlock_guard: the hold is lost; ROLLBACK';
	END IF;
END//
DELIMITER ;
