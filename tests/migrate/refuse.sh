#!/bin/sh
# SPDX-License-Identifier: MIT
# What rowlock-migrate refuses: it says why, and changes nothing.
# shellcheck disable=SC1091,SC2034,SC2154 # shared with lib.sh
. "$(dirname -- "$0")/lib.sh"

changed_checksum()
{
	rlm
	rows "UPDATE rowlock_schema SET checksum = REPEAT('0', 64)"
	for option in --status --dry-run --wait=1; do
		expect 4 rlm $option
		said "was applied with another content"
	done
	equal "$(rows "SELECT DISTINCT checksum FROM rowlock_schema")" \
		0000000000000000000000000000000000000000000000000000000000000000
}

newer_schema()
{
	rlm
	rows "INSERT INTO rowlock_schema VALUES (10, REPEAT('0', 64), UTC_TIMESTAMP(6), NULL)"
	expect 4 rlm
	said "has schema version 10; this rowlock-migrate knows up to 8"
}

dropped_table()
{
	rlm
	rows "INSERT INTO business_lock (name) VALUES ('kept'); DROP TABLE lock_token"
	expect 4 rlm
	said "'lock_token' is missing"
	rows "DELETE FROM rowlock_schema WHERE version > 0"
	expect 0 rlm
	equal "$(rows "SELECT name FROM business_lock")" kept
}

foreign_table()
{
	rows "CREATE TABLE lock_token (id INT)"
	expect 4 rlm
	said "a table 'lock_token' that is not rowlock's"
	equal "$(rows "SHOW TABLES")" lock_token
}

# By what grants.sql gives to programs, and less.
hidden_table()
{
	rlm
	for table in business_lock business_lease lease_session lock_permits lock_token_floor; do
		grants="${grants:+$grants; GRANT }SELECT ON $db.$table TO hidden_$$@'%'"
	done
	account "hidden_$$" "$grants; GRANT SELECT ON $db.rowlock_schema" || return 1
	failure=0
	for table in lock_token lock_status job_status lock_summary; do
		expect 0 rlm_as "hidden_$$" --status || failure=1
		said "$(printf '%-16s' $table)  not seen: this account has no right on it" || failure=1
	done
	not_said DELETE || failure=1
	expect 2 rlm_as "hidden_$$" || failure=1
	said "has no right on 'lock_token'" || failure=1
	rows "REVOKE SELECT ON rowlock_schema FROM hidden_$$@'%'"
	expect 2 rlm_as "hidden_$$" --status || failure=1
	said "has no right on 'rowlock_schema'" || failure=1
	rows "DROP USER hidden_$$@'%'"
	return $failure
}

no_database()
{
	ROWLOCK_DSN=$ROWLOCK_TEST_DSN expect 125 "$migrate" --no-defaults --database=
	said "no database is selected"
}

no_server()
{
	ROWLOCK_DSN="host=127.0.0.1;port=1;user=x;database=x" \
		expect 2 "$migrate" --no-defaults --protocol=tcp
	said "connect to 127.0.0.1:1:"
	said "(bind-address)?"
	ROWLOCK_DSN="socket=$tmp/nowhere;user=x;database=x" expect 2 "$migrate" --no-defaults
	said "is that its socket?"
	ROWLOCK_DSN="host=nowhere.invalid;user=x;database=x" expect 2 "$migrate" --no-defaults
	said "check the host's name"
}

wrong_account()
{
	ROWLOCK_DSN=$(dsn_with "user=nobody17" "database=$db") \
		expect 2 "$migrate" --no-defaults
	said "as 'nobody17'"
	rows "CREATE USER '$db'@'%' IDENTIFIED BY 'secret17'"
	rows "GRANT SELECT ON \`$db\`.* TO '$db'@'%'"
	# MySQL knows the account from its first login on.
	echo 'DO 0' | sql --user="$db" --password=secret17 "$db"
	for args in '' --guard-procedure; do
		ROWLOCK_DSN=$(dsn_with "user=$db" "password=secret17" "database=$db") \
			expect 2 "$migrate" --no-defaults $args
		said "the rights that grants.sql has for"
		[ -n "$args" ] || rlm
	done
	rows "DROP USER '$db'@'%'"
}

missing_database()
{
	ROWLOCK_DSN=$(dsn_with "database=${db}_missing") \
		expect 2 "$migrate" --no-defaults
	said "check the database's name, or make it"
}

wrong_usage()
{
	for args in --nonsense --wait=soon "--dsn" "extra"; do
		expect 125 rlm $args
	done
	expect 0 "$migrate" --help
	said "Exit status"
	expect 0 "$migrate" --version
	said "rowlock-migrate $(sed -n "s/^  version: '\(.*\)',/\1/p" "$root/meson.build")"
}

# What is opened next would become stdout, so a checksum was "another one".
no_stdout()
{
	rlm
	for args in '' --status --dry-run --help --version; do
		expect 125 eval "rlm $args >/dev/full"
		said "rowlock-migrate: cannot write to stdout: is its disk full?"
		expect 125 eval "rlm $args >&-"
		said "rowlock-migrate: cannot write to stdout: it is closed"
		equal "$(wc -l <"$tmp/out")" 1
	done
	expect 0 eval "rlm <&- 2>&-"
	said "up to date"
	expect 125 eval "rlm --nonsense 2>&-"
}

# The record says that all is applied.
changed_table()
{
	rlm
	rows "ALTER TABLE lease_session ENGINE = MyISAM"
	expect 2 rlm
	said "ALTER TABLE lease_session ENGINE = InnoDB"
	said "nothing was changed"
	expect 3 rlm --status
	said "ALTER TABLE lease_session ENGINE = InnoDB"
	rows "ALTER TABLE lease_session ENGINE = InnoDB"
	rows "ALTER TABLE lock_permits MODIFY permits BIGINT NOT NULL"
	expect 2 rlm
	said "make it as sql/schema has it"
	rows "ALTER TABLE lock_permits MODIFY permits INT UNSIGNED NOT NULL"
	expect 0 rlm
	said "up to date"
}

missing_secret()
{
	rlm
	rows "UPDATE rowlock_schema SET secret = NULL WHERE version = 0"
	expect 2 rlm
	said "DELETE FROM rowlock_schema WHERE version = 0, and run 'rowlock-migrate'"
	rows "DELETE FROM rowlock_schema WHERE version = 0"
	expect 0 rlm
	said "made the secret"
	equal "$(rows "SELECT LENGTH(secret) FROM rowlock_schema WHERE version = 0")" 64
	expect 0 rlm
	said "up to date"
}

password_in_arguments()
{
	for args in --password=secret -psecret "--dsn=user=x;Password=secret" \
		"--dsn=user=x; passwd=secret" "--dsn=user=x;ssl-passphrase=secret" \
		"--dsn=tls_passphrase=secret" "--dsn=user=x;pwd=secret" --ssl-passphrase=secret; do
		expect 125 rlm "$args"
		said "where every user of this machine can read it"
		not_said secret
	done
}

it "a migration that was changed after it was applied" changed_checksum
it "a newer schema than it knows" newer_schema
it "a table that was dropped behind its back, until told to make it again" dropped_table
it "a table that was changed behind its back, with what repairs it" changed_table
it "a secret that is gone, until it has made another" missing_secret
it "somebody else's table with a name of ours" foreign_table
it "a table that the account may not see is not called missing" hidden_table
it "a connection without a database" no_database
it "a database that is not there" missing_database
it "a server that is not there" no_server
it "an account that is none, or may not do it" wrong_account
it "arguments it does not know" wrong_usage
it "a stdout that is full, or closed" no_stdout
it "a password on the command line" password_in_arguments
finish
