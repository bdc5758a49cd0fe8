#!/bin/sh
# SPDX-License-Identifier: MIT
# rowlock-migrate --fence-only, and the procedure that it makes.
# shellcheck disable=SC1091,SC2034,SC2154 # shared with lib.sh
. "$(dirname -- "$0")/lib.sh"

made() { rows "SELECT table_name FROM information_schema.tables
	WHERE table_schema = DATABASE() UNION ALL
	SELECT CONCAT(routine_name, '()') FROM information_schema.routines
	WHERE routine_schema = DATABASE()" | xargs; }

fresh()
{
	expect 3 rlm --fence-only --status
	said "lock_fence       missing"
	said "rowlock_fence()  missing"
	equal "$(made)" ""
	expect 0 rlm --fence-only
	said "made the fence in database '$db'"
	equal "$(made)" "lock_fence rowlock_fence()"
	expect 0 rlm --fence-only --status
	said "rowlock_fence()  there"
	rows "CALL rowlock_fence('kept', 5)"
	expect 0 rlm --fence-only
	said "has its fence"
	equal "$(rows "SELECT token FROM lock_fence")" 5
	# And the locks' own tables beside it, if wanted.
	expect 0 rlm
	equal "$(rows "SELECT token FROM lock_fence")" 5
}

many_at_once()
{
	at_once 6 --fence-only
	equal "$(made)" "lock_fence rowlock_fence()"
}

dry_run()
{
	rlm --fence-only --dry-run >"$tmp/dry.sql"
	equal "$(made)" ""
	sql "$db" <"$tmp/dry.sql"
	equal "$(made)" "lock_fence rowlock_fence()"
}

foreign_table()
{
	rows "CREATE TABLE lock_fence (resource INT)"
	expect 4 rlm --fence-only
	said "'lock_fence' that is not rowlock's"
	equal "$(made)" lock_fence
}

# refused SQL: a later holder has passed, says the server
refused()
{
	! printf '%s\n' "$1" | sql "$db" >"$tmp/out" 2>&1 || { cat "$tmp/out"; return 1; }
	grep 'ERROR 1644 .*a later holder has been there' "$tmp/out"
}

procedure()
{
	rlm --fence-only
	rows "CREATE TABLE t (n INT) ENGINE=InnoDB"
	rows "SET autocommit = 0; CALL rowlock_fence('ä/1', 7); INSERT INTO t VALUES (1); COMMIT;"
	rows "SET autocommit = 0; CALL rowlock_fence('ä/1', 7); INSERT INTO t VALUES (2); COMMIT;"
	rows "SET autocommit = 0; CALL rowlock_fence('ä/1', 9); INSERT INTO t VALUES (3); COMMIT;"
	refused "SET autocommit = 0; CALL rowlock_fence('ä/1', 7); INSERT INTO t VALUES (4); COMMIT;"
	refused "SET sql_mode = ''; SET autocommit = 0;
		CALL rowlock_fence('ä/1', 8); INSERT INTO t VALUES (5); COMMIT;"
	rows "SET autocommit = 0; CALL rowlock_fence('ä/1', 12); INSERT INTO t VALUES (6); ROLLBACK;"
	rows "SET autocommit = 0; CALL rowlock_fence('ä/1', 10); INSERT INTO t VALUES (7); COMMIT;"
	equal "$(rows "SELECT n FROM t" | xargs)" "1 2 3 7"
	equal "$(rows "SELECT resource, token, passes FROM lock_fence" | xargs)" "ä/1 10 4"
}

# The least that sql/grants.sql says.
few_rights()
{
	rlm --fence-only
	cat <<-SQL | sql
	CREATE USER fence_$$@'%' IDENTIFIED BY 'few';
	GRANT SELECT, INSERT, UPDATE ON $db.lock_fence TO fence_$$@'%';
	GRANT EXECUTE ON PROCEDURE $db.rowlock_fence TO fence_$$@'%';
	SQL
	sed -e "s/^user=.*/user=fence_$$/" -e "s/^password=.*/password=few/" \
		"$tmp/root.cnf" >"$tmp/few.cnf"
	grep -q ^password= "$tmp/few.cnf" || echo password=few >>"$tmp/few.cnf"
	echo "CALL rowlock_fence('x', 7)" | "$client" --defaults-file="$tmp/few.cnf" "$db"
	status=$?
	echo "DROP USER fence_$$@'%'" | sql
	equal $status 0
}

it "an empty database gets the table and the procedure, once" fresh
it "of runs at once all succeed" many_at_once
it "--dry-run prints SQL that works and changes nothing" dry_run
it "a table of that name that is somebody else's is refused" foreign_table
it "the procedure lets no earlier holder write behind a later one" procedure
it "an account with the rights of grants.sql may pass" few_rights
finish
