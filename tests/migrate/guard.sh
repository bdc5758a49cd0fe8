#!/bin/sh
# SPDX-License-Identifier: MIT
# rowlock-migrate --guard-procedure, and the procedure that it makes.
# shellcheck disable=SC1091,SC2034,SC2154 # shared with lib.sh
. "$(dirname -- "$0")/lib.sh"

made() { rows "SELECT CONCAT(routine_name, '()') FROM information_schema.routines
	WHERE routine_schema = DATABASE()" | xargs; }

fresh()
{
	expect 4 rlm --guard-procedure
	said "has no table business_lease of rowlock's"
	rlm
	expect 3 rlm --guard-procedure --status
	said "rowlock_guard()  missing"
	equal "$(made)" ""
	expect 0 rlm --guard-procedure
	said "made the guard in database '$db'"
	equal "$(made)" "rowlock_guard()"
	expect 0 rlm --guard-procedure --status
	said "rowlock_guard()  there"
	expect 0 rlm --guard-procedure
	said "has its guard"
	# The tables are none the worse for it.
	expect 0 rlm --status
}

many_at_once()
{
	rlm
	at_once 6 --guard-procedure
	equal "$(made)" "rowlock_guard()"
}

dry_run()
{
	rlm
	rlm --guard-procedure --dry-run >"$tmp/dry.sql"
	equal "$(made)" ""
	sql "$db" <"$tmp/dry.sql"
	equal "$(made)" "rowlock_guard()"
}

# MariaDB makes it in the place of the old one; on MySQL that is dropped.
is_made_again()
{
	expect 0 rlm --guard-procedure
	said "The accounts that might call it still may" || said "Grant EXECUTE on it again"
	expect 0 rlm --guard-procedure --status
}

procedure_without_definer()
{
	rlm
	account "gone_$$" "ALL ON $db.*"
	rlm_as "gone_$$" --guard-procedure
	rows "DROP USER gone_$$@'%'"
	expect 3 rlm --guard-procedure --status
	said "rowlock_guard()  has to be made again:"
	is_made_again
	! rows "CALL rowlock_guard('x', 7)" >"$tmp/out" 2>&1
	grep 'ERROR 1644 .*the hold is lost' "$tmp/out"
}

# As a version before has made it: it goes on after an error.
procedure_of_an_older_version()
{
	rlm
	rows "CREATE PROCEDURE rowlock_guard(
			p_name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
			p_attempt BIGINT UNSIGNED)
		COMMENT 'rowlock: fails (1644) if the hold is lost'
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'rowlock_guard: the hold is lost'"
	expect 3 rlm --status
	said "rowlock_guard()   is of another version"
	expect 3 rlm --guard-procedure --status
	said "rowlock_guard()  has to be made again: it is of another version"
	is_made_again
	expect 0 rlm --status
}

# An older program leaves that of a newer one.
procedure_of_a_newer_version()
{
	rlm
	rlm --guard-procedure
	rows "ALTER PROCEDURE rowlock_guard COMMENT 'rowlock 12: of a time to come'"
	expect 0 rlm --status
	not_said "of another version"
	expect 0 rlm --guard-procedure
	equal "$(rows "SELECT routine_comment FROM information_schema.routines
		WHERE routine_schema = DATABASE() AND routine_name = 'rowlock_guard'")" \
		'rowlock 12: of a time to come'
}

# One that works is not lost for one that cannot be made.
procedure_of_who_may_drop_only()
{
	case $(rows "SELECT VERSION()") in
	*MariaDB*) ;;
	*) return 0 ;;
	esac
	rlm
	rlm --guard-procedure
	rows "ALTER PROCEDURE rowlock_guard COMMENT 'rowlock 1: of old'"
	account "drops_$$" "SELECT, EXECUTE, ALTER ROUTINE ON $db.*"
	rows "GRANT EXECUTE ON PROCEDURE rowlock_guard TO drops_$$@'%'"
	expect 2 rlm_as "drops_$$" --guard-procedure || failure=1
	not_said "was made again" || failure=1
	expect 3 rlm --guard-procedure --status || failure=1
	said "another version" || failure=1
	rlm --guard-procedure || failure=1
	equal "$(rows "SELECT COUNT(*) FROM mysql.procs_priv WHERE db = '$db'
		AND user = 'drops_$$'")" 1 || failure=1
	rows "DROP USER drops_$$@'%'"
	return "${failure:-0}"
}

procedure_not_seen()
{
	rlm
	rlm --guard-procedure
	account "hidden_$$" "SELECT ON $db.business_lease"
	expect 2 rlm_as "hidden_$$" --guard-procedure --status || failure=1
	said "has no right on procedure rowlock_guard" || failure=1
	rows "GRANT SELECT ON rowlock_schema TO hidden_$$@'%'"
	expect 0 rlm_as "hidden_$$" --status || failure=1
	said "rowlock_guard()   not seen: this account has no right on it" || failure=1
	expect 0 rlm --status || failure=1
	not_said "rowlock_guard()" || failure=1
	rows "DROP USER hidden_$$@'%'"
	return "${failure:-0}"
}

procedure()
{
	rlm
	rlm --guard-procedure
	rows "INSERT INTO business_lease (name, slot, session, attempt, acquired_at)
		VALUES ('ä/1', 0, 1, 18446744073709551615, UTC_TIMESTAMP(6))"
	rows "CREATE TABLE t (n INT) ENGINE=InnoDB"
	rows "SET autocommit = 0; INSERT INTO t VALUES (1);
		CALL rowlock_guard(_utf8mb4 0xC3A42F31, 18446744073709551615); COMMIT;"
	! printf '%s\n' "SET autocommit = 0; INSERT INTO t VALUES (2);
		CALL rowlock_guard('ä/1', 7); COMMIT;" | sql "$db" >"$tmp/out" 2>&1
	grep 'ERROR 1644 .*the hold is lost' "$tmp/out"
	equal "$(rows "SELECT n FROM t" | xargs)" 1
	equal "$(rows "SELECT guards FROM business_lease")" 268435456
}

# begin_as_few: a session of an account that may but call the procedure
begin_as_few()
{
	rlm
	rlm --guard-procedure
	rows "INSERT INTO business_lease (name, slot, session, attempt, acquired_at)
		VALUES ('held', 0, 1, 11, UTC_TIMESTAMP(6)), ('other', 0, 1, 12, UTC_TIMESTAMP(6))"
	rows "CREATE USER few_$$@'%' IDENTIFIED BY 'Few-17-$$';
		GRANT EXECUTE ON PROCEDURE rowlock_guard TO few_$$@'%'"
	sed -e "s/^user=.*/user=few_$$/" -e '/^password=/d' "$tmp/root.cnf" >"$tmp/few.cnf"
	echo "password=Few-17-$$" >>"$tmp/few.cnf"
	open_session "$tmp/few.cnf"
}
end_few()
{
	ask "ROLLBACK"
	close_session
	rows "DROP USER few_$$@'%'"
}

# Under the server's own default, where an UPDATE locks the gap that it finds.
locks_nothing_of_others()
{
	begin_as_few
	ask "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN"
	for name in held absent; do
		ask "CALL rowlock_guard('$name', 7)" >"$tmp/reply.txt"
		grep 'ERROR 1644 .*the hold is lost' "$tmp/reply.txt"
	done
	rows "SET innodb_lock_wait_timeout = 1;
		INSERT INTO business_lease (name, slot, session, attempt, acquired_at)
			VALUES ('another', 0, 1, 12, UTC_TIMESTAMP(6));
		DELETE FROM business_lease WHERE name = 'held' AND slot = 0 AND attempt = 11" || failure=1
	end_few
	return "${failure:-0}"
}

acquires() { echo "INSERT INTO business_lease (name, slot, session, attempt, acquired_at)
	VALUES ('$1', 0, 1, 13, UTC_TIMESTAMP(6))"; }
releases() { echo "DELETE FROM business_lease WHERE name = '$1' AND slot = 0"; }

# Whatever it has read, or would have changed, is given back by the call itself.
locks_nothing_under_serializable()
{
	begin_as_few
	ask "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"
	for name in held absent; do
		ask "BEGIN"
		ask "CALL rowlock_guard('$name', 7)" | grep 'ERROR 1644' || failure=1
	done
	rows "SET innodb_lock_wait_timeout = 1; $(releases held); $(acquires absent)" || failure=1
	end_few
	return "${failure:-0}"
}

# As by mariadb --force, or by a program that does not look at errors.
nothing_is_left_to_commit()
{
	begin_as_few
	rows "CREATE TABLE t (n INT) ENGINE=InnoDB; GRANT INSERT ON t TO few_$$@'%'"
	ask "SET SESSION autocommit = 0; INSERT INTO t VALUES (1)"
	ask "CALL rowlock_guard('held', 7)" | grep 'ERROR 1644' || failure=1
	ask "COMMIT"
	equal "$(rows "SELECT COUNT(*) FROM t")" 0 || failure=1
	end_few
	return "${failure:-0}"
}

it "the tables have to be there, and then the procedure is made, once" fresh
it "of runs at once all succeed" many_at_once
it "--dry-run prints SQL that works and changes nothing" dry_run
it "a procedure whose definer is gone is made again" procedure_without_definer
it "a procedure of a newer version stays" procedure_of_a_newer_version
it "a procedure of an older version is told, and made again" procedure_of_an_older_version
it "a procedure stays if the new one cannot be made, and so do the rights on it" procedure_of_who_may_drop_only
it "a procedure that the account may not see is not called missing" procedure_not_seen
it "the procedure lets who has lost the hold commit nothing" procedure
it "who may but call it keeps no name from others" locks_nothing_of_others
it "a call that fails keeps nothing locked, whatever the isolation" locks_nothing_under_serializable
it "a client that goes on after a call that has failed commits nothing" nothing_is_left_to_commit
finish
