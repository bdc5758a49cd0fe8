# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# For the tests of this directory: a database per test on the server of
# ROWLOCK_TEST_ADMIN_DSN, else of ROWLOCK_TEST_DSN (an account that may create
# databases and accounts), and sessions that stay open between statements.
# Without such a server: skipped, 77.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
build=${ROWLOCK_BUILD:-$root/build}
migrate=$build/tools/rowlock-migrate
# shellcheck source=tests/lib/patience.sh
. "$root/tests/lib/patience.sh"
number=0 failed=0
unset ROWLOCK_DSN MYSQL_PWD

ROWLOCK_TEST_DSN=${ROWLOCK_TEST_ADMIN_DSN:-${ROWLOCK_TEST_DSN:-}}
[ -n "${ROWLOCK_TEST_DSN:-}" ] || { echo "1..0 # SKIP no ROWLOCK_TEST_DSN"; exit 77; }
client=mariadb
command -v $client >/dev/null || client=mysql
command -v $client >/dev/null || { echo "1..0 # SKIP no mariadb client"; exit 77; }

tmp=$(mktemp -d "${TMPDIR:-/tmp}/rowlock-test.XXXXXX") || exit 1
trap 'rm -rf -- "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# option_file DSN: enough of a connection string for a test
option_file()
{
	echo '[client]'
	printf '%s\n' "$1" | tr ';' '\n' | sed -n \
		-e 's/^unix_socket=/socket=/' -e '/^\(host\|port\|socket\|user\|password\)=/p'
}
option_file "$ROWLOCK_TEST_DSN" >"$tmp/root.cnf"

# sql [OPTION...]: run SQL from stdin as the server's administrator
sql()
{
	"$client" --defaults-file="$tmp/root.cnf" --batch --skip-column-names \
		--default-character-set=utf8mb4 "$@"
}
echo 'SHOW GRANTS' | sql | grep -qE 'ALL PRIVILEGES ON \*\.\*|CREATE USER' ||
	{ echo "1..0 # SKIP the account may not create accounts"; exit 77; }
echo "# server: given"
rows() { printf "%s\n" "$1" | sql "$db"; }

# dsn_with ENTRY...: the server's connection string with these entries in place
# of its own; it has no braces
dsn_with()
{
	string=";$ROWLOCK_TEST_DSN"
	for entry; do
		string=$(printf %s "$string" | sed "s/;${entry%%=*}=[^;]*//")";$entry"
	done
	printf %s "${string#;}"
}

# rlm [OPTION...]: rowlock-migrate on the test's database
rlm() { ROWLOCK_DSN=$(dsn_with "database=$db") "$migrate" --no-defaults "$@"; }

# account NAME RIGHTS: an account of the test, which drops it; and rlm as that one
account()
{
	rows "CREATE USER $1@'%' IDENTIFIED BY 'Pw-17-$$'; GRANT $2 TO $1@'%'"
	# MySQL knows the account from its first login on.
	echo 'DO 0' | sql --user="$1" --password="Pw-17-$$"
}
rlm_as()
{
	who=$1
	shift
	ROWLOCK_DSN=$(dsn_with "user=$who" "password=Pw-17-$$" "database=$db") \
		"$migrate" --no-defaults "$@"
}

# at_once N [OPTION...]: so many of rlm side by side, all of which succeed; what
# each says is in $tmp/out.1, $tmp/out.2, ...
at_once()
{
	runs=$1 pids='' bad=0
	shift
	while [ "$runs" -gt 0 ]; do
		rlm "$@" >"$tmp/out.$runs" 2>&1 &
		pids="$pids $!" runs=$((runs - 1))
	done
	for pid in $pids; do wait "$pid" || bad=$((bad + 1)); done
	cat "$tmp"/out.*
	equal $bad 0
}

# expect STATUS COMMAND...: run it; its output is in $tmp/out and in the log
expect()
{
	want=$1 got=0
	shift
	"$@" >"$tmp/out" 2>&1 || got=$?
	cat "$tmp/out"
	[ $got = "$want" ] || { echo "exit status $got, not $want: $*"; return 1; }
}
said() { grep -qF -- "$1" "$tmp/out" || { echo "not said: $1"; return 1; }; }
not_said() { ! grep -qF -- "$1" "$tmp/out" || { echo "said: $1"; return 1; }; }
equal() { [ "$1" = "$2" ] || { printf 'not equal:\n%s\n---\n%s\n' "$1" "$2"; return 1; }; }

# it SENTENCE FUNCTION: run FUNCTION in a subshell, with a database $db
it()
{
	number=$((number + 1))
	db=rowlock_test_$$_$number
	echo "CREATE DATABASE $db" | sql || exit 1
	(
		set -eu
		"$2"
	) >"$tmp/log" 2>&1
	# Not "if ( ... )": in a condition set -e would not stop at an error.
	# shellcheck disable=SC2181
	if [ $? = 0 ]; then
		echo "ok $number - $1"
	else
		failed=$((failed + 1))
		echo "not ok $number - $1"
		sed 's/^/# /' "$tmp/log"
	fi
	echo "DROP DATABASE IF EXISTS $db" | sql
}

finish()
{
	echo "1..$number"
	[ $failed = 0 ]
	exit
}

# A session that stays open: open_session FILE (of options), then ask SQL as
# often as wanted: prints the rows, or the error.
open_session()
{
	rm -f "$tmp/in" "$tmp/reply"
	mkfifo "$tmp/in" "$tmp/reply"
	"$client" --defaults-file="$1" --batch --skip-column-names --force \
		--unbuffered "$db" <"$tmp/in" >"$tmp/reply" 2>&1 &
	session=$!
	exec 3>"$tmp/in" 4<"$tmp/reply"
}
ask()
{
	printf "%s;\nSELECT 'answered';\n" "$1" >&3
	while read -r line <&4 && [ "$line" != answered ]; do
		printf '%s\n' "$line"
	done
}
close_session()
{
	exec 3>&- 4<&-
	wait "$session" || :
}

# as VARIANT [OPTION...]: as rlm, with other migrations (meson.build)
as()
{
	variant=$1
	shift
	ROWLOCK_DSN=$(dsn_with "database=$db") "$build/tests/migrate/migrate-$variant" \
		--no-defaults "$@"
}
