#!/bin/sh
# SPDX-License-Identifier: MIT
# rowlock-migrate on an empty database, again, at once, and after a kill.
# shellcheck disable=SC1091,SC2034,SC2154 # shared with lib.sh
. "$(dirname -- "$0")/lib.sh"

fresh()
{
	expect 0 rlm
	said "applied migration 0001"
	said "applied migration 0002"
	said "applied migration 0003"
	said "applied migration 0004"
	said "applied migration 0005"
	said "applied migration 0006"
	said "applied migration 0007"
	said "applied migration 0008"
	equal "$(rows "SELECT table_name FROM information_schema.tables
		WHERE table_schema = DATABASE() ORDER BY table_name" | xargs)" \
		"business_lease business_lock job_run job_status lease_revocation lease_session lock_permits lock_status lock_summary lock_token lock_token_floor rowlock_schema"
	equal "$(rows "SELECT DISTINCT engine FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'")" InnoDB
	for n in 1 2 3 4 5 6 7 8; do
		equal "$(rows "SELECT checksum FROM rowlock_schema WHERE version = $n")" \
			"$(sha256sum <"$root/sql/schema/000$n.sql" | cut -d ' ' -f 1)"
	done
	equal "$(rows "SELECT COUNT(*) FROM information_schema.columns
		WHERE table_schema = DATABASE() AND column_name = 'name' AND table_name LIKE 'b%'
		AND collation_name = 'utf8mb4_bin' AND character_maximum_length = 100")" 2
}

only_the_name_is_enough()
{
	rlm
	rows "INSERT INTO business_lock (name) VALUES ('made by hand')"
	equal "$(rows "SELECT COUNT(*) FROM business_lock WHERE created_at IS NOT NULL")" 1
}

twice()
{
	rlm
	rows "INSERT INTO business_lock (name) VALUES ('kept')"
	before=$(rows "SELECT * FROM rowlock_schema")
	expect 0 rlm
	said "up to date"
	equal "$(rows "SELECT * FROM rowlock_schema")" "$before"
	equal "$(rows "SELECT name FROM business_lock")" kept
}

ten_at_once()
{
	at_once 10
	equal "$(cat "$tmp"/out.* | grep -c "applied migration 0001")" 1
	equal "$(cat "$tmp"/out.* | grep -c "up to date")" 9
	equal "$(rows "SELECT COUNT(*) FROM rowlock_schema WHERE version > 0")" 8
}

# Stop after each statement in turn at a gate that we hold, and kill it there. Each run
# goes on from where the one before was killed.
killed_anywhere()
{
	for n in 1 2 3; do killed_in 000$n 5 $((n - 1)); done
	for n in 4 5 7; do killed_in 000$n 1 $((n - 1)); done
	# It comes first, too.
	killed_in 0006 5 0
}
# killed_in FILE STATEMENTS APPLIED: it has so many at least, and so many
# migrations are recorded before.
killed_in()
{
	statements=$(grep -c ';$' "$root/sql/schema/$1.sql")
	[ "$statements" -ge "$2" ]
	rows "DROP DATABASE $db; CREATE DATABASE $db"
	open_session "$tmp/root.cnf"
	n=0
	while [ $n -lt "$statements" ]; do
		n=$((n + 1))
		gate=.$1.$n
		equal "$(ask "SELECT GET_LOCK('$db$gate', 0)")" 1
		ROWLOCK_DSN=$(dsn_with "database=$db") "$build/tests/migrate/migrate-gated" \
			--no-defaults 3>&- 4<&- &
		victim=$!
		await "statement $n of $statements in $1 to be under way" at_the_gate
		kill -s KILL $victim
		wait $victim || :
		# Its connection ends then, and lets the next one migrate.
		ask "DO RELEASE_LOCK('$db$gate')"
		equal "$(rows "SELECT COUNT(*) FROM rowlock_schema WHERE version > 0")" "$3"
	done
	close_session
	expect 0 rlm
	expect 0 rlm --status
	equal "$(rows "SELECT COUNT(*) FROM rowlock_schema WHERE version > 0")" 8
	equal "$(rows "SELECT COUNT(*) FROM lock_status")" 0
	equal "$(rows "SELECT id, token FROM lock_token_floor" | xargs)" "1 0"
}
at_the_gate()
{
	[ "$(echo "SELECT COUNT(*) FROM information_schema.processlist
		WHERE db = '$db' AND info LIKE 'DO GET_LOCK(%''$gate''%'" | sql)" = 1 ]
}

waits_for_another_run()
{
	open_session "$tmp/root.cnf"
	rlm
	rows "DELETE FROM rowlock_schema WHERE version = 8"
	secret=$(rows "SELECT secret FROM rowlock_schema WHERE version = 0")
	equal ${#secret} 64
	equal "$(ask "SELECT GET_LOCK(CONCAT('rowlock-migrate.', LEFT(SHA2(CONCAT('migrate', '$secret'), 256), 40)), 0)")" 1
	expect 5 rlm --wait=0
	said "another rowlock-migrate is at work"
	close_session
	expect 0 rlm
}

view_without_definer()
{
	account "gone_$$" "ALL ON $db.*"
	rlm_as "gone_$$"
	rows "DROP USER gone_$$@'%'"
	! rows "SELECT * FROM lock_status" || return 1
	! rows "SELECT * FROM lock_summary" || return 1
	! rows "SELECT * FROM job_status" || return 1
	expect 3 rlm --status
	said "the views have to be made again:"
	rlm --dry-run | sql "$db"
	expect 0 rlm --status
	for view in lock_status job_status lock_summary; do
		rows "DROP VIEW $view"
		expect 0 rlm
		said "made the views again"
		equal "$(rows "SELECT COUNT(*) FROM lock_status")" 0
		equal "$(rows "SELECT COUNT(*) FROM lock_summary")" 0
		equal "$(rows "SELECT COUNT(*) FROM job_status")" 0
		expect 0 rlm --status
	done
}

# What an account without rights can know: the name of the database.
nobody_else_is_in_the_way()
{
	open_session "$tmp/root.cnf"
	equal "$(ask "SELECT GET_LOCK(CONCAT('rowlock-migrate.', LEFT(SHA2('$db', 256), 40)), 0)")" 1
	expect 0 rlm --wait=0
	close_session
	one=$(rows "SELECT secret FROM rowlock_schema WHERE version = 0")
	rows "DROP DATABASE $db; CREATE DATABASE $db"
	expect 0 rlm
	[ "$(rows "SELECT secret FROM rowlock_schema WHERE version = 0")" != "$one" ]
}

second_migration()
{
	rlm
	expect 3 as ninth --status
	said "0009  missing"
	expect 0 as ninth
	said "applied migration 0009"
	equal "$(rows "SELECT version FROM rowlock_schema WHERE version > 0 ORDER BY 1" | xargs)" "1 2 3 4 5 6 7 8 9"
	expect 4 rlm
	said "has schema version 9; this rowlock-migrate knows up to 8"
	# Programs of version 8 go on meanwhile, but not with what takes two numbers.
	ROWLOCK_DSN=$(dsn_with "database=$db")
	export ROWLOCK_DSN
	expect 0 "$build/tools/rowlock" run --no-defaults -n job true
	rows "INSERT INTO rowlock_schema VALUES (10, '', UTC_TIMESTAMP(6), NULL)"
	expect 125 "$build/tools/rowlock" run --no-defaults -n job true
	said "the tables have version 10, this library works with 7 to 9"
}

# A name that turns the terminal's letters red, one by a single character of C1, and
# one that is read from right to left.
no_terminal_is_steered()
{
	version_one
	rows "INSERT INTO lock_token VALUES
		('lease', 'red', 9007199254740992, UTC_TIMESTAMP(6)),
		('lease', CONCAT('c1', _utf8mb4 X'C29B'), 9007199254740992, UTC_TIMESTAMP(6)),
		('lease', CONCAT('bidi', _utf8mb4 X'E280AE'), 9007199254740992, UTC_TIMESTAMP(6))"
	rows "UPDATE lock_token SET name = CONCAT('red', CHAR(27), '[31m') WHERE name LIKE 'red%'"
	expect 4 rlm
	said 'red\x1b[31m'
	said 'c1\u{009b}'
	said 'bidi\u{202e}'
	! LC_ALL=C grep -q "$(printf '\033')" "$tmp/out" || return 1
}

# As version 1 left it, with what may be in the way.
version_one()
{
	sql "$db" <"$root/sql/schema/0001.sql"
	rows "INSERT INTO rowlock_schema VALUES (1,
		'$(sha256sum <"$root/sql/schema/0001.sql" | cut -d ' ' -f 1)', UTC_TIMESTAMP(6))"
}

from_version_one()
{
	version_one
	rows "INSERT INTO lock_token VALUES ('lease', 'kept', 9007199254740991, UTC_TIMESTAMP(6))"
	expect 0 rlm
	equal "$(rows "SELECT token, attempt FROM lock_token" | xargs)" "9007199254740991 NULL"
	equal "$(rows "SELECT id, token FROM lock_token_floor" | xargs)" "1 0"
	for statement in "UPDATE lock_token SET token = 9007199254740992" \
		"UPDATE lock_token_floor SET token = 9007199254740992" \
		"INSERT INTO lock_token_floor (id, token) VALUES (2, 0)"; do
		! rows "$statement" || return 1
	done
}

tokens_above_the_bound()
{
	version_one
	rows "INSERT INTO lock_token VALUES ('lease', 'it''s', 18446744073709551615, UTC_TIMESTAMP(6)),
		('row', 'too', 9007199254740992, UTC_TIMESTAMP(6)), ('row', 'fine', 7, UTC_TIMESTAMP(6))"
	expect 4 rlm
	said "lease 'it\\'s': 18446744073709551615"
	said "row 'too': 9007199254740992"
	not_said fine
	equal "$(rows "SHOW TABLES LIKE 'lock_token_floor'")" ""
	rows "$(sed -n 's/.*\(DELETE FROM lock_token WHERE [^;]*;\).*/\1/p' "$tmp/out")"
	expect 0 rlm
	equal "$(rows "SELECT name FROM lock_token")" fine
}

foreign_floor()
{
	version_one
	rows "CREATE TABLE lock_token_floor (a INT)"
	expect 4 rlm
	said "a table 'lock_token_floor' that is not rowlock's"
}

failing_migration()
{
	expect 2 as failing
	said "near 'TABEL x'"
	equal "$(rows "SELECT version FROM rowlock_schema WHERE version > 0" | xargs)" "1 2 3 4 5 6 7 8"
	expect 0 as ninth
	equal "$(rows "SELECT version FROM rowlock_schema WHERE version > 0" | xargs)" "1 2 3 4 5 6 7 8 9"
}

# A question has a second, and this migration takes two.
slow_migration()
{
	expect 0 as slow --wait=0
	said "applied migration 0009"
}

slow_question()
{
	rlm
	rows "DROP TABLE rowlock_schema; CREATE VIEW rowlock_schema AS
		SELECT 1 AS version, '' AS checksum, SLEEP(30) AS applied_at"
	expect 2 as slow --wait=0
	said "no answer in time"
	said "nothing was changed"
}

dry_run()
{
	expect 0 rlm --dry-run
	said "CREATE TABLE IF NOT EXISTS business_lease"
	said "INSERT INTO rowlock_schema"
	equal "$(rows "SHOW TABLES")" ""
	grep -v '^+' "$tmp/out" | sql "$db"
	expect 0 rlm --status
}

status()
{
	expect 3 rlm --status
	said "0001  missing"
	equal "$(rows "SHOW TABLES")" ""
	rlm
	expect 0 rlm --status
	said "0001  applied"
}

it "an empty database gets every table, the view and the record" fresh
it "a program that inserts only the name into business_lock goes on working" only_the_name_is_enough
it "a second run changes nothing" twice
it "of ten runs at once one applies and all succeed" ten_at_once
it "a run killed after any statement is completed by the next" killed_anywhere
it "a run that finds another at work gives up after its wait" waits_for_another_run
it "who knows no secret is not in the way of a run, and each database has its own" nobody_else_is_in_the_way
it "a view whose definer is gone is made again" view_without_definer
it "a later migration is applied alone, and an older tool refuses it" second_migration
it "the tables of version 1 get a floor and a bound, and keep their tokens" from_version_one
it "tokens above the bound are named, with what to type, and nothing is changed" tokens_above_the_bound
it "what is in tables steers no terminal" no_terminal_is_steered
it "a floor that is somebody else's table is refused" foreign_floor
it "a migration that fails is not recorded and can be run again" failing_migration
it "a migration that takes its time has it" slow_migration
it "a question that takes too long is given up" slow_question
it "--dry-run prints SQL that works and changes nothing" dry_run
it "--status tells missing from applied and changes nothing" status
finish
