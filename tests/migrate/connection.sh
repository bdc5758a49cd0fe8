#!/bin/sh
# SPDX-License-Identifier: MIT
# The options of rowlock-migrate that say where the server is. What strings and option files
# mean is the library's, and the library's tests see to it.
# shellcheck disable=SC1091,SC2034,SC2154 # shared with lib.sh
. "$(dirname -- "$0")/lib.sh"

server() { option_file "$ROWLOCK_TEST_DSN" | grep "^$1=" | cut -d = -f 2-; }

which_wins()
{
	# The option file has everything, with a database that is not there.
	{ cat "$tmp/root.cnf"; echo 'database=wrong'; } >"$tmp/some.cnf"
	expect 2 "$migrate" --defaults-file="$tmp/some.cnf"
	ROWLOCK_DSN="database=$db" expect 3 "$migrate" --defaults-file="$tmp/some.cnf" --status
	said "'$db'"
	ROWLOCK_DSN="database=wrong" expect 3 "$migrate" --defaults-file="$tmp/some.cnf" \
		--dsn="database=$db" --status
	ROWLOCK_DSN="database=wrong" expect 3 "$migrate" --defaults-file="$tmp/some.cnf" \
		--dsn="database=wrong" --database "$db" --status
	sed 's/^\[client\]/[client_x]/' "$tmp/root.cnf" >"$tmp/suffix.cnf"
	expect 3 "$migrate" --defaults-file="$tmp/suffix.cnf" --defaults-group-suffix=_x \
		-D"$db" --status
	expect 125 "$migrate" --defaults-file="$tmp/not-there.cnf"
	said "cannot read"
}

# It is stronger than what /etc has, and weaker than what the user has.
extra_file()
{
	sed 's/^\[client\]/[rowlock]/' "$tmp/root.cnf" >"$tmp/extra.cnf"
	mkdir "$tmp/home"
	HOME=$tmp/home expect 3 "$migrate" --defaults-extra-file="$tmp/extra.cnf" -D "$db" --status
	printf '[rowlock]\nuser=nobody17\n' >"$tmp/home/.my.cnf"
	HOME=$tmp/home expect 2 "$migrate" --defaults-extra-file="$tmp/extra.cnf" -D "$db" --status
	said "as 'nobody17'"
	expect 125 "$migrate" --defaults-extra-file="$tmp/not-there.cnf" -D "$db" --status
	said "cannot read '$tmp/not-there.cnf'"
}

odd_words()
{
	user="o;d{}d'$$"
	rows "CREATE USER 'o;d{}d''$$'@'%' IDENTIFIED BY 'Odd-17'; GRANT ALL ON $db.* TO 'o;d{}d''$$'@'%'"
	echo 'DO 0' | sql --user="$user" --password=Odd-17 "$db"
	result=0
	ROWLOCK_DSN=$(dsn_with password=Odd-17) expect 0 "$migrate" --no-defaults \
		--user="$user" -D"$db" || result=1
	rows "DROP USER 'o;d{}d''$$'@'%'"
	return $result
}

# A server that nobody has asked to verify has TLS only if it is asked for.
words_of_tls()
{
	for option in --ssl --ssl=1 --ssl-enforce --ssl-verify-server-cert; do
		expect 2 rlm --status $option --ssl-ca="$tmp/not-there.pem"
		expect 3 rlm --status $option --skip-ssl --disable-ssl-verify-server-cert
	done
	expect 125 rlm --status --ssl=maybe
	for value in '' ',' 'a,' 'a b' ../a 'a;b'; do
		expect 125 rlm --status --unverified-auth="$value"
		said "--unverified-auth: names of"
	done
	expect 3 rlm --status --unverified-auth=parsec,dialog
	for option in --single-writer --observe-beats; do
		expect 125 rlm --status $option
	done
}

refused()
{
	ROWLOCK_DSN=$ROWLOCK_TEST_DSN expect 125 "$migrate" --no-defaults --dsn="DATABASE=$db"
	said "unknown key 'DATABASE': did you mean 'database'?"
	ROWLOCK_DSN='' expect 125 "$migrate" --no-defaults
	said "ROWLOCK_DSN is empty"
	expect 125 rlm --port=abc
	said "'port' is 'abc'"
	expect 125 rlm -p
	said "there is no terminal"
}

it "arguments win over connection strings, these over option files" which_wins
it "an extra option file is read before the user's own" extra_file
it "an argument may have any characters" odd_words
it "the words of clients about TLS are understood" words_of_tls
it "what is said about the connection and is not understood is wrong usage" refused
finish
