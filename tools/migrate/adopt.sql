-- SPDX-License-Identifier: MIT
--
-- What rowlock-migrate asks about tables that are there already (adopt.c), in this order; a question mark would be a parameter.

-- Tables that are not ours, and the migration that makes ours.
SELECT table_name, CAST(CASE table_name WHEN 'lock_token_floor' THEN 2 WHEN 'lock_permits' THEN 4 ELSE 1 END AS UNSIGNED)
FROM (SELECT t.table_name AS table_name, MAX(t.engine) AS engine,
		GROUP_CONCAT(LOWER(c.column_name) ORDER BY c.ordinal_position) AS cols
	FROM information_schema.tables t
	JOIN information_schema.columns c ON c.table_schema = t.table_schema AND c.table_name = t.table_name
	WHERE t.table_schema = DATABASE() AND t.table_name IN ('business_lease', 'lease_session',
		'lock_token', 'lock_token_floor', 'lock_permits', 'rowlock_schema')
	GROUP BY t.table_name) x
WHERE engine IS NULL OR engine <> 'InnoDB' OR cols <> CASE table_name
	WHEN 'business_lease' THEN 'name,slot,session,attempt,acquired_at,expires_at,info,guards'
	WHEN 'lease_session' THEN 'id,ttl,expires_at,beat,breaks,host,pid,program,started_at'
	WHEN 'lock_token' THEN CONCAT('strategy,name,token,drawn_at', IF(cols LIKE '%,attempt', ',attempt', ''))
	WHEN 'lock_token_floor' THEN 'id,token,raised_at'
	WHEN 'lock_permits' THEN 'name,permits'
	ELSE CONCAT('version,checksum,applied_at', IF(cols LIKE '%,secret', ',secret', '')) END;

-- What business_lock needs: why it is not usable and a remedy, changes of the ALTER, and
-- reasons why the user has to agree.
WITH c AS (SELECT LOWER(column_name) AS name, data_type AS type, is_nullable AS nullable,
		IFNULL(character_maximum_length, 0) AS size, IFNULL(datetime_precision, 0) AS digits,
		IFNULL(character_set_name, '-') AS charset, IFNULL(collation_name, '-') AS coll,
		column_default IS NOT NULL OR extra LIKE '%auto_increment%' OR extra LIKE '%GENERATED%' AS filled
	FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'business_lock'),
t AS (SELECT table_type AS type, IFNULL(engine, '-') AS engine
	FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'business_lock'),
k AS (SELECT index_name AS name, LOWER(GROUP_CONCAT(column_name ORDER BY seq_in_index)) AS cols, MAX(sub_part) AS part
	FROM information_schema.statistics
	WHERE table_schema = DATABASE() AND table_name = 'business_lock' AND non_unique = 0 GROUP BY index_name),
w AS (SELECT 'name' AS name, 'varchar,char,varbinary' AS types, 'VARCHAR(100)' AS wanted
	UNION ALL SELECT 'info', 'char,varchar,tinytext,text,mediumtext,longtext', 'VARCHAR(255)'
	UNION ALL SELECT 'created_at', 'datetime,timestamp', 'DATETIME(6)')
SELECT 'unusable', 'it is not a table', 'Rename it' FROM t WHERE type <> 'BASE TABLE'
UNION ALL SELECT 'unusable', CONCAT('it has no column ''', name, ''''), 'Add it: name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, info VARCHAR(255) NULL, created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)'
	FROM w WHERE name NOT IN (SELECT name FROM c)
UNION ALL SELECT 'unusable', 'its primary key is not the column ''name''', 'Make it so: without it, a lock on one name is a lock on many'
	FROM t WHERE NOT EXISTS (SELECT 1 FROM k WHERE name = 'PRIMARY' AND cols = 'name' AND part IS NULL)
UNION ALL SELECT 'unusable', CONVERT(CONCAT('it has a unique key of its own, ', name) USING utf8mb4), 'Drop it: more than one unique key lets the INSERTs of two programs deadlock'
	FROM k WHERE name <> 'PRIMARY'
UNION ALL SELECT 'unusable', CONVERT(CONCAT('its column ''', name, ''' has no default') USING utf8mb4), 'rowlock inserts name, info and created_at only: give it a default, or allow NULL'
	FROM c WHERE nullable = 'NO' AND NOT filled AND name NOT IN (SELECT name FROM w)
UNION ALL SELECT 'unusable', CONVERT(CONCAT('its column ''', c.name, ''' is of type ', type) USING utf8mb4), CONCAT('Make it ', wanted)
	FROM c JOIN w ON w.name = c.name WHERE NOT FIND_IN_SET(type, types)
UNION ALL SELECT 'change', 'MODIFY name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL', ''
	FROM c WHERE name = 'name' AND (type <> 'varchar' OR coll <> 'utf8mb4_bin' OR size <> 100 OR nullable = 'YES')
UNION ALL SELECT 'reason', CONVERT(CONCAT('name is ', type, '(', size, '), collation ', coll, '; it has to be varchar(100), utf8mb4_bin') USING utf8mb4), ''
	FROM c WHERE name = 'name' AND (type <> 'varchar' OR coll <> 'utf8mb4_bin' OR size > 100)
UNION ALL SELECT 'change', 'MODIFY info VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL', ''
	FROM c WHERE name = 'info' AND (type <> 'varchar' OR charset <> 'utf8mb4' OR size <> 255 OR nullable = 'NO')
UNION ALL SELECT 'reason', CONVERT(CONCAT('info is ', type, '(', size, '); it has to be varchar(255), so that longer texts are refused') USING utf8mb4), ''
	FROM c WHERE name = 'info' AND size > 255
UNION ALL SELECT 'change', CONCAT('MODIFY created_at DATETIME(6) ', IF(nullable = 'YES', 'NULL', 'NOT NULL'), ' DEFAULT CURRENT_TIMESTAMP(6)'), ''
	FROM c WHERE name = 'created_at' AND (type <> 'datetime' OR digits <> 6 OR (nullable = 'NO' AND NOT filled))
UNION ALL SELECT 'change', 'ENGINE=InnoDB', '' FROM t WHERE engine <> 'InnoDB'
UNION ALL SELECT 'reason', CONVERT(CONCAT('the engine is ', engine, ', which locks no rows; it has to be InnoDB') USING utf8mb4), ''
	FROM t WHERE engine <> 'InnoDB';

-- Lists of names below their titles: two to be read, and rows that would not survive.
SELECT 'Today names that differ only in case or accents are one lock. Afterwards they are two. A program that asks for another spelling than the one that is stored finds no row then, so it does not exclude the others any more. Stored with capitals or accents (the first 20); see whether all programs write them so:',
	QUOTE(CONVERT(name USING utf8mb4)) FROM business_lock
WHERE (SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE()
		AND table_name = 'business_lock' AND column_name = 'name' AND collation_name NOT LIKE '%bin') > 0
	AND (CAST(LOWER(CONVERT(name USING utf8mb4)) AS BINARY) <> CAST(CONVERT(name USING utf8mb4) AS BINARY)
		OR LENGTH(CONVERT(name USING utf8mb4)) <> CHAR_LENGTH(CONVERT(name USING utf8mb4))) ORDER BY name LIMIT 20;

SELECT 'These end in a blank, which rowlock refuses in a name; other programs may go on using them, as the same lock as the name without the blank:',
	QUOTE(CONVERT(name USING utf8mb4)) FROM business_lock WHERE CONVERT(name USING utf8mb4) LIKE '% ' LIMIT 20;

SELECT 'These names are not UTF-8:', CONCAT('0x', HEX(name)) FROM business_lock
WHERE (SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE()
		AND table_name = 'business_lock' AND column_name = 'name' AND data_type = 'varbinary') > 0
	AND NOT (CAST(CONVERT(name USING utf8mb4) AS BINARY) <=> CAST(name AS BINARY)) LIMIT 20;

SELECT 'These names are longer than 100 characters:', QUOTE(CONVERT(name USING utf8mb4)) FROM business_lock
WHERE CHAR_LENGTH(CONVERT(name USING utf8mb4)) > 100 LIMIT 20;

SELECT 'Their info is longer than 255 characters:', QUOTE(CONVERT(name USING utf8mb4)) FROM business_lock
WHERE CHAR_LENGTH(info) > 255 LIMIT 20;

SELECT 'These would become the same name:', GROUP_CONCAT(QUOTE(CONVERT(name USING utf8mb4)) SEPARATOR ' and ')
FROM business_lock GROUP BY CONVERT(name USING utf8mb4) COLLATE utf8mb4_bin HAVING COUNT(*) > 1 LIMIT 20;

-- Before 0002, which bounds tokens: the rows that it could not take.
SELECT 'These tokens are 2^53 or more (the first 20):', CONCAT(strategy, ' ', QUOTE(name), ': ', token) FROM lock_token
WHERE token >= 9007199254740992 ORDER BY strategy, name LIMIT 20;
