#!/bin/sh
# SPDX-License-Identifier: MIT
# A business_lock table that other programs made is adopted without losing a row.
# shellcheck disable=SC1091,SC2034,SC2154 # shared with lib.sh
. "$(dirname -- "$0")/lib.sh"

definition()
{
	rows "SELECT column_type, collation_name, is_nullable FROM information_schema.columns
		WHERE table_schema = DATABASE() AND table_name = 'business_lock'
		AND column_name = '$1'" | tr '\t' ' '
}
names() { rows "SELECT name FROM business_lock ORDER BY name" | xargs; }
has_good_names() { equal "$(definition name)" "varchar(100) utf8mb4_bin NO"; }

# refused_unchanged OPTION...: refused, and the table and its rows are as before
refused_unchanged()
{
	before=$(rows "SHOW CREATE TABLE business_lock; SELECT * FROM business_lock")
	expect 4 rlm "$@"
	equal "$(rows "SHOW CREATE TABLE business_lock; SELECT * FROM business_lock")" "$before"
	equal "$(rows "SHOW TABLES")" business_lock
}

as_documented()
{
	rows "CREATE TABLE business_lock (name VARCHAR(100) CHARACTER SET utf8mb4
		COLLATE utf8mb4_bin PRIMARY KEY, info VARCHAR(255) CHARACTER SET utf8mb4,
		created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)) ENGINE=InnoDB;
		INSERT INTO business_lock (name) VALUES ('a'), ('b')"
	expect 0 rlm
	not_said "altered"
	equal "$(names)" "a b"
}

harmless_differences()
{
	rows "CREATE TABLE business_lock (name VARCHAR(50) CHARACTER SET utf8mb4
		COLLATE utf8mb4_bin PRIMARY KEY, info TINYTEXT CHARACTER SET latin1 NOT NULL,
		created_at TIMESTAMP NULL) ENGINE=InnoDB;
		SET time_zone = '+00:00';
		INSERT INTO business_lock VALUES ('a', UNHEX('E9'), '2020-02-03 04:05:06'), ('b', '', NULL)"
	# The time of a TIMESTAMP is kept, whatever zone the account's sessions have.
	{ cat "$tmp/root.cnf"; printf '[mysql]\ninit-command="SET time_zone = \047+05:00\047"\n'; } >"$tmp/far.cnf"
	expect 0 "$migrate" --defaults-file="$tmp/far.cnf" --database="$db"
	said "altered business_lock"
	has_good_names
	equal "$(definition info)" "varchar(255) utf8mb4_bin YES"
	equal "$(definition created_at)" "datetime(6) NULL YES"
	equal "$(rows "SELECT name, HEX(info), created_at FROM business_lock ORDER BY name" | xargs)" \
		"a C3A9 2020-02-03 04:05:06.000000 b NULL"
	expect 0 rlm
	said "up to date"
}

case_insensitive()
{
	rows "CREATE TABLE business_lock (name VARCHAR(64) CHARACTER SET utf8mb4
		COLLATE utf8mb4_general_ci PRIMARY KEY, info VARCHAR(255), created_at DATETIME)
		ENGINE=InnoDB;
		INSERT INTO business_lock (name) VALUES ('Nightly'), ('mail'), ('cafe ')"
	refused_unchanged
	said "collation utf8mb4_general_ci"
	said "    'Nightly'"
	said "    'cafe '"
	not_said "    'mail'"
	said "run this again with --convert-names"
	refused_unchanged --dry-run
	refused_unchanged --status
	expect 0 rlm --convert-names
	has_good_names
	equal "$(names)" "Nightly cafe mail"
	equal "$(rows "SELECT COUNT(*) FROM business_lock WHERE name = 'nightly'")" 0
}

latin1()
{
	rows "CREATE TABLE business_lock (name VARCHAR(100) CHARACTER SET latin1 PRIMARY KEY,
		info TEXT, created_at DATETIME) ENGINE=InnoDB;
		INSERT INTO business_lock (name) VALUES (CONVERT(UNHEX('636166E9') USING latin1))"
	refused_unchanged
	said "    'café'"
	expect 0 rlm --convert-names
	equal "$(rows "SELECT HEX(name) FROM business_lock")" 636166C3A9
	has_good_names
}

bytes()
{
	rows "CREATE TABLE business_lock (name VARBINARY(250) PRIMARY KEY,
		info VARCHAR(255), created_at DATETIME) ENGINE=InnoDB;
		INSERT INTO business_lock (name) VALUES ('a'), ('a '), ('b'),
			(REPEAT('x', 101)), (UNHEX('FF41'))"
	refused_unchanged --convert-names
	said "    0xFF41"
	said "    'xxxxxxxxxx"
	said "    'a' and 'a '"
	rows "DELETE FROM business_lock WHERE name IN ('a ', REPEAT('x', 101), UNHEX('FF41'))"
	expect 0 rlm --convert-names
	has_good_names
	equal "$(names)" "a b"
}

longer_names()
{
	rows "CREATE TABLE business_lock (name VARCHAR(190) CHARACTER SET utf8mb4
		COLLATE utf8mb4_bin PRIMARY KEY, info VARCHAR(255), created_at DATETIME) ENGINE=InnoDB;
		INSERT INTO business_lock (name) VALUES (REPEAT('é', 100)), (REPEAT('y', 101))"
	refused_unchanged --convert-names
	said "longer than 100 characters"
	not_said "    'éé"
	rows "DELETE FROM business_lock WHERE name LIKE 'y%'"
	refused_unchanged
	expect 0 rlm --convert-names
	has_good_names
	equal "$(rows "SELECT COUNT(*) FROM business_lock")" 1
}

long_info()
{
	rows "CREATE TABLE business_lock (name VARCHAR(100) CHARACTER SET utf8mb4
		COLLATE utf8mb4_bin PRIMARY KEY, info TEXT CHARACTER SET utf8mb4,
		created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)) ENGINE=InnoDB;
		INSERT INTO business_lock (name, info) VALUES ('a', REPEAT('é', 255)), ('b', REPEAT('y', 256))"
	refused_unchanged --convert-names
	said "info is longer than 255 characters"
	said "    'b'"
	not_said "    'a'"
	rows "DELETE FROM business_lock WHERE name = 'b'"
	refused_unchanged
	expect 0 rlm --convert-names
	equal "$(definition info)" "varchar(255) utf8mb4_bin YES"
	equal "$(rows "SELECT CHAR_LENGTH(info) FROM business_lock")" 255
}

myisam()
{
	rows "CREATE TABLE business_lock (name VARCHAR(100) CHARACTER SET utf8mb4
		COLLATE utf8mb4_bin PRIMARY KEY, info VARCHAR(255) CHARACTER SET utf8mb4,
		created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)) ENGINE=MyISAM;
		INSERT INTO business_lock (name) VALUES ('a')"
	refused_unchanged
	said "MyISAM, which locks no rows"
	expect 0 rlm --convert-names
	equal "$(rows "SELECT engine FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_name = 'business_lock'")" InnoDB
	equal "$(names)" a
}

other_shapes()
{
	for columns in "name VARCHAR(100) PRIMARY KEY" \
		"id INT PRIMARY KEY, name VARCHAR(100), info VARCHAR(255), created_at DATETIME" \
		"name VARCHAR(100), info TEXT, created_at DATETIME, PRIMARY KEY (name(10))" \
		"name INT PRIMARY KEY, info VARCHAR(255), created_at DATETIME" \
		"name VARCHAR(100) PRIMARY KEY, info BLOB, created_at DATETIME" \
		"name VARCHAR(100) PRIMARY KEY, info TEXT, created_at INT" \
		"name VARCHAR(100) PRIMARY KEY, info TEXT, created_at DATETIME, owner INT NOT NULL" \
		"name VARCHAR(100) PRIMARY KEY, info TEXT, created_at DATETIME, UNIQUE KEY u (created_at)"; do
		rows "DROP TABLE IF EXISTS business_lock; CREATE TABLE business_lock ($columns)"
		refused_unchanged --convert-names
		said "is not usable as it is"
	done
}

a_holder_is_in_the_way()
{
	# On Galera a change of a table ends the transactions that use it.
	[ "$(rows "SHOW VARIABLES LIKE 'wsrep_on'" | cut -f 2)" != ON ] || return 0
	rows "CREATE TABLE business_lock (name VARCHAR(50) CHARACTER SET utf8mb4
		COLLATE utf8mb4_bin PRIMARY KEY, info VARCHAR(255), created_at DATETIME) ENGINE=InnoDB;
		INSERT INTO business_lock (name) VALUES ('a')"
	open_session "$tmp/root.cnf"
	ask "BEGIN"
	equal "$(ask "SELECT name FROM business_lock FOR UPDATE")" a
	expect 5 rlm --wait=1
	said "a program holds a lock"
	equal "$(ask "COMMIT")" ""
	close_session
	expect 0 rlm
	has_good_names
}

later()
{
	rlm
	rows "ALTER TABLE business_lock MODIFY name VARCHAR(100) CHARACTER SET utf8mb4
		COLLATE utf8mb4_general_ci NOT NULL; INSERT INTO business_lock (name) VALUES ('Job')"
	expect 4 rlm
	expect 0 rlm --convert-names
	has_good_names
	equal "$(names)" Job
}

it "a table as documented is taken as it is" as_documented
it "differences that change no meaning are altered, rows kept" harmless_differences
it "a case-insensitive name waits for --convert-names, rows kept" case_insensitive
it "a latin1 name waits for --convert-names and keeps its letters" latin1
it "a VARBINARY name is converted once no row stands in the way" bytes
it "names of more than 100 characters stand in the way of a conversion" longer_names
it "a longer info column is narrowed only when no row needs it" long_info
it "a MyISAM table waits for --convert-names" myisam
it "a table of another shape is refused" other_shapes
it "a hold by hand delays the change no longer than the wait" a_holder_is_in_the_way
it "a table that was changed after the migration is looked at again" later
finish
