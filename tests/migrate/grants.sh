#!/bin/sh
# SPDX-License-Identifier: MIT
# The accounts of sql/grants.sql can do what they are for, and no more.
# shellcheck disable=SC1091,SC2034,SC2154 # shared with lib.sh
. "$(dirname -- "$0")/lib.sh"

password=Pw-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
accounts='migrate app reaper monitor'

part() { sed -e "s/ROWLOCK_DATABASE/$db/g" -e 's/ROWLOCK_HOST/%/g' \
	-e "s/'rowlock_\([a-z]*\)'/'rlk_\1_$$'/g" -e "s/CHANGE_ME_[A-Z]*/$password/" \
	"$root/sql/grants.sql"; }

set_up()
{
	part | sed '/^-- 2\. After/,$d' | sql
	for who in $accounts; do
		sed -e "s/^user=.*/user=rlk_${who}_$$/" -e "s/^password=.*/password=$password/" \
			"$tmp/root.cnf" >"$tmp/$who.cnf"
		grep -q ^password= "$tmp/$who.cnf" || echo "password=$password" >>"$tmp/$who.cnf"
	done
	# MySQL does with the hash once an account has logged in with its password.
	echo "DO 0" | "$client" --defaults-file="$tmp/migrate.cnf"
	"$migrate" --defaults-file="$tmp/migrate.cnf" --database="$db"
	part | sed '1,/^-- 2\. After/d' | sql
}
drop_accounts() { for who in $accounts caller stranger; do echo "DROP USER IF EXISTS rlk_${who}_$$@'%';"; done | sql; }
trap 'drop_accounts; rm -rf -- "$tmp"' EXIT

# may WHO SQL / may_not WHO SQL: one session, all statements; or the first one
may()
{
	echo "$2" | "$client" --defaults-file="$tmp/$1.cnf" --batch --skip-column-names "$db" 2>&1 ||
		{ echo "$1 may not: $2"; return 1; }
}
may_not()
{
	if echo "$2" | "$client" --defaults-file="$tmp/$1.cnf" --batch "$db" >"$tmp/out" 2>&1; then
		echo "$1 may: $2"
		return 1
	fi
	cat "$tmp/out"
	grep -Eq 'ERROR (1142|1143|1044|1227|1370)' "$tmp/out"
}
# It has the right, but a CHECK refuses what it writes.
may_not_beyond()
{
	! may "$1" "$2" >"$tmp/out" 2>&1 || { echo "$1 may: $2"; return 1; }
	grep -E 'ERROR (4025|3819)' "$tmp/out"
}

# What the library looks at when a client opens: it has to see all of it.
sees_the_schema()
{
	equal "$(may "$1" "SELECT MAX(version) FROM rowlock_schema;
		SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND engine = 'InnoDB'
			AND table_name IN ('business_lock', 'business_lease', 'lease_session', 'lock_token', 'lock_token_floor', 'lock_permits');
		SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE()
			AND table_name IN ('business_lock', 'business_lease', 'lease_session', 'lock_token', 'lock_token_floor', 'lock_permits');
		SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE()
			AND table_name IN ('business_lock', 'business_lease', 'lease_session', 'lock_token', 'lock_token_floor', 'lock_permits')" |
		xargs)" "8 6 30 8"
}

application()
{
	set_up
	sees_the_schema app
	returning=
	! echo "SELECT VERSION()" | sql | grep -q MariaDB || returning='RETURNING attempt'
	may app "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
	SELECT GET_LOCK('$db.marker', 0), CONNECTION_ID();
	INSERT INTO lease_session VALUES (7, 30000, UTC_TIMESTAMP(6) + INTERVAL 30000000 MICROSECOND,
		0, 0, 'host', 1, 'program', UTC_TIMESTAMP(6));
	INSERT INTO business_lease (name, slot, session, attempt, acquired_at) VALUES
		('n', 0, 7, 11, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE name = name $returning;
	INSERT INTO business_lease (name, slot, session, attempt, acquired_at)
		SELECT 'n', 0, 7, 12, UTC_TIMESTAMP(6) FROM DUAL WHERE NOT EXISTS
		(SELECT 1 FROM business_lease WHERE name = 'n' AND slot = 0)
		ON DUPLICATE KEY UPDATE name = name;
	UPDATE lease_session SET expires_at = GREATEST(expires_at, UTC_TIMESTAMP(6) + INTERVAL 30000000 MICROSECOND),
		beat = beat + 1, breaks = LAST_INSERT_ID(breaks) WHERE id = 7;
	INSERT INTO lock_token (strategy, name, token, drawn_at, attempt)
		SELECT 'lease', name, LAST_INSERT_ID((SELECT token + 1 FROM lock_token_floor WHERE id = 1
		LOCK IN SHARE MODE)), UTC_TIMESTAMP(6), attempt FROM business_lease
		WHERE name = 'n' AND slot = 0 AND attempt = 11 LOCK IN SHARE MODE
		ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(GREATEST(token + 1, VALUES(token))),
		drawn_at = VALUES(drawn_at), attempt = VALUES(attempt);
	BEGIN;
	SELECT attempt FROM business_lease WHERE name = 'n' AND slot = 0 AND attempt = 11 LOCK IN SHARE MODE;
	UPDATE business_lease SET guards = guards + 1 WHERE name = 'n' AND slot = 0 AND attempt = 11;
	COMMIT;
	BEGIN;
	DELETE FROM business_lease WHERE name = 'n' AND slot = 0 AND attempt = 11;
	UPDATE business_lease l JOIN lease_session k ON k.id = 7 SET l.session = k.id, k.breaks = 8
		WHERE l.name = 'n' AND l.slot = 0 AND l.attempt = 11;
	UPDATE business_lease l JOIN lease_session k ON k.id = 7 SET l.expires_at = k.started_at + INTERVAL 5 MICROSECOND,
		l.attempt = 11, k.breaks = 9 WHERE l.name = 'n' AND l.slot = 0 AND l.attempt = 11 AND l.session = k.id
		AND k.started_at + INTERVAL 5 MICROSECOND > UTC_TIMESTAMP(6);
	UPDATE lease_session SET breaks = breaks + 1 WHERE id = 7;
	COMMIT;
	DELETE FROM lease_session WHERE id = 7 AND expires_at <= UTC_TIMESTAMP(6);
	DELETE FROM lease_session WHERE id = 7 AND beat = 1;
	DELETE FROM business_lease WHERE name = 'n' AND slot = 0 AND attempt = 12 AND NOT EXISTS
		(SELECT 1 FROM lease_session WHERE id = session);
	UPDATE lock_token_floor SET token = 1, raised_at = UTC_TIMESTAMP(6) WHERE id = 1 AND token < 1;
	DELETE FROM lock_token WHERE strategy = 'lease' AND name = 'n'
		AND drawn_at < UTC_TIMESTAMP(6) - INTERVAL 30 DAY AND token <=
		(SELECT token FROM lock_token_floor WHERE id = 1);
	INSERT INTO lock_permits (name, permits) VALUES ('n', 2) ON DUPLICATE KEY UPDATE permits = permits;
	INSERT INTO business_lease (name, slot, session, attempt, acquired_at)
		SELECT name, 1, 7, 13, UTC_TIMESTAMP(6) FROM lock_permits WHERE name = 'n' AND permits = 2
		LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE attempt = (SELECT 1 UNION SELECT 2);
	UPDATE lock_permits SET permits = 3 WHERE name = 'n';
	INSERT INTO job_run (name, run, from_at, until_at, nth, began_at)
		SELECT 'n', 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), 1, UTC_TIMESTAMP(6);
	UPDATE job_run SET succeeded = 1 WHERE name = 'n' AND run = 1;
	DELETE FROM job_run WHERE name = 'n' AND run = 1;
	INSERT INTO lease_revocation (name, attempt, request, asked_at) VALUES ('n', 11, 1, UTC_TIMESTAMP(6))
		ON DUPLICATE KEY UPDATE request = VALUES(request), answer = 0;
	UPDATE lease_revocation SET answer = 2 WHERE name = 'n' AND attempt = 11 AND request = 1;
	DELETE FROM lease_revocation WHERE name = 'n' AND attempt = 11;
	DELETE FROM business_lease WHERE name = 'n' AND slot IN (1) AND attempt = 13;
	INSERT INTO business_lock (name, info, created_at) VALUES ('n', NULL, UTC_TIMESTAMP(6))
		ON DUPLICATE KEY UPDATE name = name;
	SET autocommit = 0;
	SELECT name FROM business_lock WHERE name = 'n' FOR UPDATE;
	COMMIT;
	SELECT version FROM rowlock_schema;
	SELECT secret FROM rowlock_schema WHERE version = 0;"
	for statement in "CREATE TABLE x (a INT)" "DROP TABLE business_lock" \
		"ALTER TABLE business_lease ADD x INT" "TRUNCATE TABLE lock_token" \
		"INSERT INTO rowlock_schema VALUES (9, '', NOW(6), NULL)" \
		"DELETE FROM rowlock_schema" "DELETE FROM lock_token_floor" "DELETE FROM lock_permits" "CREATE INDEX i ON business_lock (info)" \
		"SELECT 1 FROM mysql.user" "SET GLOBAL max_connections = 5"; do
		may_not app "$statement"
	done
}

reaper()
{
	set_up
	sees_the_schema reaper
	rows "INSERT INTO business_lease VALUES ('n', 0, 7, 11, UTC_TIMESTAMP(6), NULL, NULL, 0)"
	may reaper "SELECT version FROM rowlock_schema;
	SELECT secret FROM rowlock_schema WHERE version = 0;
	SELECT id, ttl, beat FROM lease_session ORDER BY id LIMIT 100;
	DELETE FROM lease_session WHERE id = 7 AND expires_at <= UTC_TIMESTAMP(6);
	SELECT l.name FROM business_lease l LEFT JOIN lease_session s ON s.id = l.session WHERE s.id IS NULL;
	DELETE FROM business_lease WHERE name = 'n' AND slot = 0 AND attempt = 11 AND NOT EXISTS
		(SELECT 1 FROM lease_session WHERE id = session);
	UPDATE lock_token_floor SET token = 1, raised_at = UTC_TIMESTAMP(6) WHERE id = 1 AND token < 1;
	DELETE FROM lock_token WHERE strategy = 'row' AND name = 'n' AND drawn_at < UTC_TIMESTAMP(6) AND token <=
		(SELECT token FROM lock_token_floor WHERE id = 1);"
	equal "$(rows "SELECT COUNT(*) FROM business_lease")" 0
	for statement in "INSERT INTO business_lease VALUES ('n', 0, 7, 11, NOW(6), NULL, NULL, 0)" \
		"INSERT INTO lease_session VALUES (8, 30000, NOW(6), 0, 0, NULL, NULL, NULL, NOW(6))" \
		"UPDATE lease_session SET beat = 1" "UPDATE business_lease SET attempt = 1" \
		"INSERT INTO business_lock (name) VALUES ('n')" "DELETE FROM business_lock" \
		"INSERT INTO lock_token VALUES ('lease', 'n', 1, NOW(6), 11)" "UPDATE lock_token SET token = 1" \
		"DROP TABLE lock_token" "DELETE FROM lock_token_floor" "UPDATE lock_permits SET permits = 1"; do
		may_not reaper "$statement"
	done
}

# As an application draws it.
draw() { may app "INSERT INTO lock_token (strategy, name, token, drawn_at, attempt) SELECT 'lease', name,
	LAST_INSERT_ID((SELECT token + 1 FROM lock_token_floor WHERE id = 1 LOCK IN SHARE MODE)),
	UTC_TIMESTAMP(6), attempt FROM business_lease WHERE name = '$1' AND slot = 0
	LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(token + 1)"; }

token_of_n() { rows "SELECT token FROM lock_token WHERE strategy = 'lease' AND name = 'n'"; }

# What SECURITY.md says of it. The bound is one that no account can write over.
reaper_with_ill_will()
{
	set_up
	held_row
	may reaper "DELETE FROM lease_session WHERE id = 7; DELETE FROM business_lease WHERE name <> 'n'"
	equal "$(rows "SELECT COUNT(*) FROM lease_session")" 0
	equal "$(rows "SELECT name FROM business_lease")" n
	may reaper "UPDATE lock_token_floor SET token = 9007199254740991"
	may_not_beyond reaper "UPDATE lock_token_floor SET token = 9007199254740992"
	! draw n >"$tmp/out" 2>&1 || return 1
	grep -E 'ERROR (4025|3819)' "$tmp/out"
	# And it may take away what was drawn, and what that has left.
	may reaper "UPDATE lock_token_floor SET token = 0"
	draw n
	equal "$(token_of_n)" 43
	may reaper "DELETE FROM lock_token WHERE name = 'n'"
	draw n
	equal "$(token_of_n)" 1
}

held_row()
{
	rows "INSERT INTO lease_session VALUES (7, 30000, UTC_TIMESTAMP(6) + INTERVAL 30 SECOND,
		3, 0, 'web1', 4711, 'shop', UTC_TIMESTAMP(6));
	INSERT INTO business_lease VALUES ('n', 0, 7, 11, UTC_TIMESTAMP(6), NULL, 'why', 0),
		('gone', 0, 8, 12, UTC_TIMESTAMP(6), NULL, NULL, 0),
		('over', 0, 7, 13, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) - INTERVAL 1 SECOND, NULL, 0),
		('seats', 2, 7, 14, UTC_TIMESTAMP(6), NULL, NULL, 0),
		('stands', 1073741824, 7, 15, UTC_TIMESTAMP(6), NULL, 'weight=3', 0),
		('stands', 2147483647, 7, 16, UTC_TIMESTAMP(6), NULL, 'weight=4', 0),
		(CONCAT(CHAR(1), 'receipt'), 0, 7, 19, UTC_TIMESTAMP(6), NULL, NULL, 1),
		('text', 2147483648, 7, 17, UTC_TIMESTAMP(6), NULL, NULL, 0),
		('text', 2147483649, 7, 18, UTC_TIMESTAMP(6), NULL, NULL, 0);
	INSERT INTO lock_token VALUES ('lease', 'n', 42, UTC_TIMESTAMP(6), 11),
		('row', 'n', 99, UTC_TIMESTAMP(6), NULL), ('lease', 'over', 43, UTC_TIMESTAMP(6), 10),
		('lease', 'gone', 44, UTC_TIMESTAMP(6), NULL)"
}

monitor_reads()
{
	set_up
	held_row
	equal "$(may monitor "SELECT name, kind, state, host, pid, program, info, token,
		remaining_s > 20 FROM lock_status ORDER BY name, slot" | tr '\t' ' ')" \
"gone lock dead NULL NULL NULL NULL NULL NULL
n lock held web1 4711 shop why 42 1
over lock dead web1 4711 shop NULL NULL 0
seats permit held web1 4711 shop NULL NULL 1
stands candidate waiting web1 4711 shop weight=3 NULL 1
stands candidate waiting web1 4711 shop weight=4 NULL 1
text writer held web1 4711 shop NULL NULL 1
text reader held web1 4711 shop NULL NULL 1"
	# By its attempt whoever may call rowlock_guard() would count a hold.
	! may monitor "SELECT attempt FROM lock_status" >"$tmp/out" 2>&1
	grep 'ERROR 1054' "$tmp/out"
	rows "INSERT INTO business_lock (name) VALUES ('r1'), ('r2');
		UPDATE business_lease SET acquired_at = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR WHERE name = 'over';
		UPDATE business_lease SET acquired_at = '2020-01-02 03:04:05' WHERE name = 'stands' AND slot = 2147483647"
	equal "$(may monitor "SELECT strategy, kind, state, holds, names, oldest_name,
		oldest_held_s > 3000, YEAR(oldest_acquired_at) = 2020 FROM lock_summary
		ORDER BY strategy, kind, state" | tr '\t' ' ')" \
"lease candidate waiting 2 1 stands 1 1
lease lock dead 2 2 over 1 0
lease lock held 1 1 n 0 0
lease permit held 1 1 seats 0 0
lease reader held 1 1 text 0 0
lease writer held 1 1 text 0 0
row lock unknown 2 2 NULL NULL NULL"
	rows "INSERT INTO job_run (name, run, attempt, from_at, until_at, nth, began_at, ended_at, code, succeeded, host)
		VALUES ('n', 1, 11, '2020-01-02', '2020-01-03', 4, '2020-01-02 04:00', NULL, NULL, 0, 'web1'),
		('n', 2, 10, '2020-01-02', '2020-01-03', 3, '2020-01-02 03:00', NULL, NULL, 0, '-'),
		('n', 3, 9, '2020-01-02', '2020-01-03', 2, '2020-01-02 02:00', '2020-01-02 02:00:01.5', 0, 1, '-'),
		('n', 4, 8, '2020-01-02', '2020-01-03', 1, '2020-01-02 01:00', '2020-01-02 01:00:02', 7, 0, '-'),
		('over', 5, 13, '2020-01-02', '2020-01-03', 1, '2020-01-02 01:00', NULL, NULL, 0, '-')"
	jobs="SELECT name, state, took_s, code, nth, host FROM job_status ORDER BY name, began_at DESC"
	equal "$(may monitor "$jobs" | tr '\t' ' ')" \
"n running NULL NULL 4 web1
n died NULL NULL 3 -
n succeeded 1.5000 0 2 -
n failed 2.0000 7 1 -
over died NULL NULL 1 -"
	# docs/cron.md's
	late=$(sed -n '/^SELECT name, MAX(IF/,/;$/p' "$root/docs/cron.md")
	equal "$(may monitor "$late" | tr '\t' ' ')" \
"n 2020-01-02 02:00:01.500000
over NULL"
	rows "UPDATE job_run SET ended_at = UTC_TIMESTAMP(6) WHERE run = 3"
	equal "$(may monitor "$late" | tr '\t' ' ')" "over NULL"
	rows "UPDATE lease_session SET expires_at = UTC_TIMESTAMP(6) - INTERVAL 1 SECOND"
	equal "$(may monitor "SELECT DISTINCT state FROM lock_status")" dead
	equal "$(may monitor "SELECT DISTINCT state FROM job_status WHERE ended_at IS NULL")" died
	for statement in "SELECT * FROM business_lease" "SELECT * FROM business_lock FOR UPDATE" \
		"SELECT * FROM lease_session" "SELECT * FROM lock_token" "DELETE FROM lock_status" \
		"SELECT secret FROM rowlock_schema" "SELECT * FROM lock_permits" "SELECT * FROM lock_token_floor" \
		"UPDATE lock_status SET info = ''" "SHOW CREATE VIEW lock_status" \
		"SHOW CREATE VIEW lock_summary" "SELECT * FROM job_run" "UPDATE job_status SET code = 0"; do
		may_not monitor "$statement"
	done
}

# What is locked shows as an error when the administrator locks it after that.
free() { rows "SET innodb_lock_wait_timeout = 1; SELECT COUNT(*) FROM $1 FOR UPDATE" >"$tmp/out" 2>&1; }

monitor_locks_nothing()
{
	set_up
	held_row
	open_session "$tmp/monitor.cnf"
	for mode in "FOR UPDATE" "LOCK IN SHARE MODE"; do
		ask "BEGIN"
		ask "SELECT name FROM lock_status WHERE name = 'n' $mode" >"$tmp/reply.txt"
		cat "$tmp/reply.txt"
		ask "SELECT kind FROM lock_summary $mode" >"$tmp/reply.txt"
		cat "$tmp/reply.txt"
		ask "SELECT name FROM job_status $mode" >"$tmp/reply.txt"
		cat "$tmp/reply.txt"
		free job_run
		free business_lock
		free business_lease
		free lease_session
		free lock_token
		ask "COMMIT"
	done
	close_session
	# The same by somebody who may lock, to see that the look would find it.
	open_session "$tmp/app.cnf"
	ask "BEGIN; SELECT name FROM business_lease FOR UPDATE"
	! free business_lease || return 1
	grep -q 'ERROR 1205' "$tmp/out"
	close_session
}

# The database of a test has '_' in its name, which is any character in such a grant.
only_its_own()
{
	other=$(printf %s "$db" | sed 's/^rowlock_/rowlockX/')
	echo "CREATE DATABASE $other; CREATE TABLE $other.t (n INT)" | sql
	set_up
	may_not migrate "SELECT n FROM $other.t" || failure=1
	may_not migrate "DROP TABLE $other.t" || failure=1
	echo "DROP DATABASE $other" | sql
	return "${failure:-0}"
}

# procedure_of_readme: sql/README.md's, for monitoring that is not trusted
procedure_of_readme() { sed -n '/^CREATE PROCEDURE lock_status_now/,/^END\/\//p' "$root/sql/README.md" |
	sed '1i DELIMITER //'; }

# Of what is no SELECT the server locks what it reads, in shared mode, also behind a
# view: SECURITY.md says so. By a procedure that ends what was begun it does not.
monitor_with_ill_will()
{
	set_up
	held_row
	procedure_of_readme | sql "$db"
	sed -e "s/^user=.*/user=rlk_caller_$$/" "$tmp/monitor.cnf" >"$tmp/caller.cnf"
	rows "CREATE USER rlk_caller_$$@'%' IDENTIFIED BY '$password';
		GRANT EXECUTE ON PROCEDURE lock_status_now TO rlk_caller_$$@'%'"
	open_session "$tmp/monitor.cnf"
	ask "BEGIN"
	ask "DO (SELECT COUNT(*) FROM lock_status)"
	! free lease_session || return 1
	grep -q 'ERROR 1205' "$tmp/out"
	ask "ROLLBACK"
	free lease_session
	ask "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN"
	ask "SELECT COUNT(*) FROM lock_status"
	! free lease_session || return 1
	grep -q 'ERROR 1205' "$tmp/out"
	ask "ROLLBACK"
	close_session
	may_not caller "SELECT * FROM lock_status"
	open_session "$tmp/caller.cnf"
	ask "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"
	for begin in "BEGIN" "XA START 'x'"; do
		ask "$begin; CALL lock_status_now()" >"$tmp/reply.txt"
		cat "$tmp/reply.txt"
		free business_lease
		free lease_session
	done
	ask "XA END 'x'; XA ROLLBACK 'x'"
	ask "CALL lock_status_now()" | grep -q '^n	'
	close_session
}

# shown_to WHO: what the server tells of others, or of itself
shown_to()
{
	"$client" --defaults-file="$tmp/$1.cnf" --batch --force 2>/dev/null <<-SQL || :
	SHOW DATABASES;
	SHOW FULL PROCESSLIST;
	SHOW OPEN TABLES;
	SHOW ENGINE INNODB STATUS;
	SELECT * FROM information_schema.processlist;
	SELECT * FROM information_schema.innodb_trx;
	SELECT table_schema, table_name FROM information_schema.tables;
	SELECT * FROM performance_schema.metadata_locks;
	SELECT * FROM performance_schema.data_locks;
	SELECT * FROM performance_schema.events_statements_current;
	SELECT * FROM $db.business_lease;
	SELECT * FROM $db.lock_status;
	SELECT * FROM $db.rowlock_schema;
	SELECT RELEASE_ALL_LOCKS();
	SQL
}
tells_of_locks() { grep -e "$db" -e "$secret" -e rlb:17 -e web1; }

stranger_sees_nothing()
{
	set_up
	held_row
	secret=$(rows "SELECT secret FROM rowlock_schema WHERE version = 0")
	equal ${#secret} 64
	sed -e "s/^user=.*/user=rlk_stranger_$$/" "$tmp/monitor.cnf" >"$tmp/stranger.cnf"
	rows "CREATE USER rlk_stranger_$$@'%' IDENTIFIED BY '$password'"
	open_session "$tmp/app.cnf"
	ask "SELECT GET_LOCK('rlb:17', 0)"
	ask "SET autocommit = 0; SELECT name FROM business_lease FOR UPDATE"
	shown_to stranger >"$tmp/shown"
	grep -q "rlk_stranger_$$" "$tmp/shown"
	! tells_of_locks <"$tmp/shown" || failure=1
	for what in "INSERT INTO $db.business_lock (name) VALUES ('n')" "LOCK TABLES $db.business_lease WRITE" \
		"SELECT 1 FROM $db.nothing"; do
		may_not stranger "$what" || failure=1
	done
	# That somebody waits somewhere everybody is told.
	may stranger "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'" | grep -q Innodb || failure=1
	# Somebody who may look sees it all.
	shown_to root | tells_of_locks >/dev/null
	ask "SELECT IS_USED_LOCK('rlb:17') = CONNECTION_ID()" | grep -q 1 || failure=1
	close_session
	return "${failure:-0}"
}

it "the application's account runs every statement of the library, and no DDL" application
it "the reaper's account finds and deletes, and does nothing else" reaper
it "the reaper's account ends holds and tokens if it means to" reaper_with_ill_will
it "the monitoring account reads the view and no table" monitor_reads
it "the monitoring account locks no row of the view by FOR UPDATE" monitor_locks_nothing
it "the monitoring account keeps rows locked if it means to, and no caller of a procedure does" monitor_with_ill_will
it "an account without rights sees no name, and not that one is held" stranger_sees_nothing
it "the migration's account has no rights on a database of a like name" only_its_own
finish
