-- SPDX-License-Identifier: MIT
--
-- rowlock_guard(), for accounts that may not change rowlock's tables: the guard of
-- a transaction (rowlock_guard_call(), `rowlock run --guarded`), with the rights
-- of whoever made it. All that one can do by it is to count a hold whose attempt
-- one knows, in the upper four bits of guards: the commits of the holder's library
-- are in the others.
--
-- The comment has the version of this text: by it rowlock-migrate tells an older one.

DELIMITER //
CREATE PROCEDURE rowlock_guard(
	IN p_name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	IN p_attempt BIGINT UNSIGNED)
	MODIFIES SQL DATA SQL SECURITY DEFINER
	COMMENT 'rowlock 8: rolls back and fails (1644) if the hold is lost'
BEGIN
	DECLARE counted BIGINT;
	-- A client that goes on after an error has nothing left to commit.
	DECLARE EXIT HANDLER FOR SQLEXCEPTION
	BEGIN
		ROLLBACK;
		RESIGNAL;
	END;
	-- An UPDATE that finds nothing locks what it has looked at, up to the next
	-- name, for as long as the transaction is open; a look locks nothing.
	-- The index: a TEMPORARY copy of the caller's, which hides the table, has none.
	SELECT COUNT(*) INTO counted FROM business_lease FORCE INDEX (PRIMARY)
	WHERE name = p_name AND slot = 0 AND attempt = p_attempt;
	IF counted = 1 THEN
		UPDATE business_lease FORCE INDEX (PRIMARY)
		SET guards = (guards + 268435456) & 4294967295
		WHERE name = p_name AND slot = 0 AND attempt = p_attempt;
		SET counted = ROW_COUNT();
	END IF;
	IF counted <> 1 THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
		'rowlock_guard: the hold is lost; all is rolled back';
	END IF;
END//
DELIMITER ;
