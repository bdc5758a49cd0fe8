-- SPDX-License-Identifier: MIT
--
-- A template: the accounts that rowlock needs, each with the least that it
-- works with. Replace, then run as an administrator:
--
--   ROWLOCK_DATABASE                      the database with the tables, and no others
--   ROWLOCK_HOST                          from where: '10.1.%', 'localhost', ...
--   CHANGE_ME_MIGRATE ... CHANGE_ME_MONITOR   one password each, and not the same;
--                                             docs/connect.md has the commands
--
-- Add REQUIRE SSL to accounts that come over a network. Look for an anonymous
-- account (SELECT user, host FROM mysql.user WHERE user = ''): from its host it
-- is taken instead of an account for '%'. Drop it.

-- 1. Before rowlock-migrate.

CREATE DATABASE IF NOT EXISTS ROWLOCK_DATABASE;

-- The migration account makes and changes the tables. It stays afterwards: the
-- views read the tables with its rights. DROP is for CREATE OR
-- REPLACE VIEW.
CREATE USER IF NOT EXISTS 'rowlock_migrate'@'ROWLOCK_HOST'
	IDENTIFIED BY 'CHANGE_ME_MIGRATE';
-- Of a whole database '_' in its name would be any character, and so the rights
-- be had on other databases, too: CHAR(92) is the backslash before it. (Under
-- partial_revokes of MySQL it is not any character: leave REPLACE out there.)
SET @rowlock_grant = CONCAT('GRANT SELECT, INSERT, UPDATE, CREATE, ALTER, INDEX, DROP,
	CREATE VIEW, SHOW VIEW ON `', REPLACE('ROWLOCK_DATABASE', '_', CONCAT(CHAR(92), '_')),
	'`.* TO ''rowlock_migrate''@''ROWLOCK_HOST''');
PREPARE rowlock_grant FROM @rowlock_grant;
EXECUTE rowlock_grant;
DEALLOCATE PREPARE rowlock_grant;

-- 2. After rowlock-migrate: a right on a table needs the table.

-- The application: programs that link the library, and the command rowlock.
-- To `break` a lease it needs nothing more. A hold of the row strategy is broken
-- by killing its connection, which has to be found first (but for one of the very
-- client that breaks it); grant an operator's account besides, if you want that:
--   MariaDB: GRANT PROCESS, CONNECTION ADMIN ON *.* TO ...
--   MySQL:   GRANT CONNECTION_ADMIN ON *.* TO ...
--            GRANT SELECT ON performance_schema.* TO ...
-- With PROCESS, or SELECT on performance_schema, `rowlock list` shows the holders of
-- the row strategy as well, and `rowlock list --waiting` those that wait.
CREATE USER IF NOT EXISTS 'rowlock_app'@'ROWLOCK_HOST'
	IDENTIFIED BY 'CHANGE_ME_APP';
GRANT SELECT, INSERT, UPDATE, DELETE
	ON ROWLOCK_DATABASE.business_lock TO 'rowlock_app'@'ROWLOCK_HOST';
GRANT SELECT, INSERT, UPDATE, DELETE
	ON ROWLOCK_DATABASE.business_lease TO 'rowlock_app'@'ROWLOCK_HOST';
GRANT SELECT, INSERT, UPDATE, DELETE
	ON ROWLOCK_DATABASE.lease_session TO 'rowlock_app'@'ROWLOCK_HOST';
GRANT SELECT, INSERT, UPDATE, DELETE
	ON ROWLOCK_DATABASE.lock_token TO 'rowlock_app'@'ROWLOCK_HOST';
GRANT SELECT, UPDATE
	ON ROWLOCK_DATABASE.lock_token_floor TO 'rowlock_app'@'ROWLOCK_HOST';
GRANT SELECT, INSERT, UPDATE
	ON ROWLOCK_DATABASE.lock_permits TO 'rowlock_app'@'ROWLOCK_HOST';
GRANT SELECT, INSERT, UPDATE, DELETE
	ON ROWLOCK_DATABASE.job_run TO 'rowlock_app'@'ROWLOCK_HOST';
GRANT SELECT, INSERT, UPDATE, DELETE
	ON ROWLOCK_DATABASE.lease_revocation TO 'rowlock_app'@'ROWLOCK_HOST';
GRANT SELECT
	ON ROWLOCK_DATABASE.rowlock_schema TO 'rowlock_app'@'ROWLOCK_HOST';

-- The reaper (rowlock-reaperd): finds and deletes; makes nothing, and changes
-- nothing but the floor that a token leaves.
-- business_lock and lock_permits are there for the check of the schema only.
CREATE USER IF NOT EXISTS 'rowlock_reaper'@'ROWLOCK_HOST'
	IDENTIFIED BY 'CHANGE_ME_REAPER';
GRANT SELECT, DELETE
	ON ROWLOCK_DATABASE.business_lease TO 'rowlock_reaper'@'ROWLOCK_HOST';
GRANT SELECT, DELETE
	ON ROWLOCK_DATABASE.lease_session TO 'rowlock_reaper'@'ROWLOCK_HOST';
GRANT SELECT, DELETE
	ON ROWLOCK_DATABASE.lease_revocation TO 'rowlock_reaper'@'ROWLOCK_HOST';
GRANT SELECT, DELETE
	ON ROWLOCK_DATABASE.lock_token TO 'rowlock_reaper'@'ROWLOCK_HOST';
GRANT SELECT, UPDATE
	ON ROWLOCK_DATABASE.lock_token_floor TO 'rowlock_reaper'@'ROWLOCK_HOST';
GRANT SELECT
	ON ROWLOCK_DATABASE.business_lock TO 'rowlock_reaper'@'ROWLOCK_HOST';
GRANT SELECT
	ON ROWLOCK_DATABASE.lock_permits TO 'rowlock_reaper'@'ROWLOCK_HOST';
GRANT SELECT
	ON ROWLOCK_DATABASE.rowlock_schema TO 'rowlock_reaper'@'ROWLOCK_HOST';

-- Transactions that are tied to a lock (rowlock/mysql.h), for the account that
-- writes the data, if that is not rowlock_app: either
--   GRANT SELECT, UPDATE ON ROWLOCK_DATABASE.business_lease TO ...;
-- by which it could take leases away; or, after rowlock-migrate
-- --guard-procedure (for which rowlock_migrate needs CREATE ROUTINE besides), as
-- a call:
--   GRANT EXECUTE ON PROCEDURE ROWLOCK_DATABASE.rowlock_guard TO ...;

-- Data that are protected by tokens of locks on another server (rowlock_fence(),
-- after rowlock-migrate --fence-only): there, for the account that writes them,
--   GRANT SELECT, INSERT, UPDATE ON DATA_DATABASE.lock_fence TO ...;
--   GRANT EXECUTE ON PROCEDURE DATA_DATABASE.rowlock_fence TO ...;
-- The account that makes both needs CREATE, CREATE ROUTINE and SELECT.

-- Monitoring: the views and nothing else. Never SELECT on the tables: on MariaDB
-- that is enough for SELECT ... FOR UPDATE, so it could hold up everybody. By the
-- view it can, too, if it means to: README.md beside this file has a procedure for
-- an account that is not trusted so far.
CREATE USER IF NOT EXISTS 'rowlock_monitor'@'ROWLOCK_HOST'
	IDENTIFIED BY 'CHANGE_ME_MONITOR';
GRANT SELECT
	ON ROWLOCK_DATABASE.lock_status TO 'rowlock_monitor'@'ROWLOCK_HOST';
GRANT SELECT
	ON ROWLOCK_DATABASE.lock_summary TO 'rowlock_monitor'@'ROWLOCK_HOST';
GRANT SELECT
	ON ROWLOCK_DATABASE.job_status TO 'rowlock_monitor'@'ROWLOCK_HOST';
