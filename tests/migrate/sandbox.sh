#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/sandbox: from start to stop, through a crash, side by side.
PATH=$PATH:/usr/sbin
for program in mariadbd mariadb-install-db mariadb flock; do
	command -v $program >/dev/null || { echo "1..0 # SKIP no $program"; exit 77; }
done

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
sandbox=$root/tools/sandbox
# shellcheck source=tests/lib/patience.sh
. "$root/tests/lib/patience.sh"
# shellcheck source=tests/lib/process.sh
. "$root/tests/lib/process.sh"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/rowlock-test.XXXXXX") || exit 1
number=0 failed=0
echo "# server: own, $(mariadbd --version)"
clean() { for d in "$tmp"/[abc]; do "$sandbox" stop --dir "$d"; done >/dev/null 2>&1; rm -rf -- "$tmp"; }
trap clean EXIT
trap 'exit 1' HUP INT TERM

it()
{
	number=$((number + 1))
	( set -eu; "$2" ) >"$tmp/log" 2>&1
	# Not "if ( ... )": in a condition set -e would not stop at an error.
	# shellcheck disable=SC2181
	if [ $? = 0 ]; then
		echo "ok $number - $1"
	else
		failed=$((failed + 1))
		echo "not ok $number - $1"
		sed 's/^/# /' "$tmp/log"
	fi
}

box() { c=$1; shift; "$sandbox" "$c" --dir "$tmp/a" "$@"; }
ask() { echo "$1" | "$sandbox" shell --dir "$tmp/a" ${2:+"$2"} -- -N; }
server_of() { "$sandbox" status --dir "$1" | sed -n 's/.*process //p'; }
gone() { ! is_alive "$1"; }

starts()
{
	box start
	box start | grep 'already running'
	box status
	[ "$(ask 'SELECT @@max_connections, @@innodb_flush_log_at_trx_commit' | xargs)" = "2000 1" ]
	[ "$(ask 'SELECT CURRENT_USER()')" = rowlock@% ]
	[ "$(ask 'SELECT MAX(version) FROM rowlock_schema' --app)" = 8 ]
	! ask 'CREATE TABLE x (a INT)' --app || return 1
	[ "$(ask 'SELECT COUNT(*) FROM lock_status' --monitor)" = 0 ]
	[ "$(ask 'SELECT COUNT(*) FROM lock_summary' --monitor)" = 0 ]
	[ "$(ask 'SELECT COUNT(*) FROM job_status' --monitor)" = 0 ]
	box dsn | grep -E '^host=127.0.0.1;port=[0-9]+;user=rowlock;password=[0-9a-f]{32};database=rowlock$'
	box dsn --app | grep ';user=rowlock_app;'
	box dsn --root | grep ';user=root;'
}

let_nobody_in()
{
	port=$(box dsn | sed 's/.*port=\([0-9]*\);.*/\1/')
	for user in root rowlock rowlock_app nobody; do
		! mariadb --no-defaults -h127.0.0.1 -P"$port" -u$user -e 'DO 0' || return 1
		! mariadb --no-defaults -S"$tmp/a/sock" -u$user -e 'DO 0' || return 1
	done
	[ "$(stat -c %a "$tmp/a")" = 700 ]
	[ "$(ask 'SELECT @@bind_address' --root)" = 127.0.0.1 ]
}

crash_and_restart()
{
	dsn=$(box dsn)
	ask "INSERT INTO business_lock (name) VALUES ('kept')"
	was=$(server_of "$tmp/a")
	box kill
	gone "$was"
	! box status || return 1
	box restart
	[ "$(ask 'SELECT name FROM business_lock')" = kept ]
	[ "$(box dsn)" = "$dsn" ]
	box restart
	[ "$(ask 'SELECT name FROM business_lock')" = kept ]
}

stale()
{
	box kill
	box start
	[ "$(ask 'SELECT COUNT(*) FROM business_lock')" = 0 ]
}

state_of() { sed 's/.*) \(.\).*/\1/' "/proc/$1/stat"; }

# A signal has been sent, and takes effect when the machine gets round to it.
reaches()
{
	await "$1 to be $2" is_now "$1" "$2" || { echo "it is $(state_of "$1")"; return 1; }
}
is_now() { case $(state_of "$1") in T) [ "$2" = frozen ] ;; *) [ "$2" = thawed ] ;; esac; }

freeze_and_thaw()
{
	was=$(server_of "$tmp/a")
	box freeze
	reaches "$was" frozen
	box thaw
	reaches "$was" thawed
	ask 'DO 0'
	box freeze
	box restart
	gone "$was"
	ask 'DO 0'
}

side_by_side()
{
	pids=
	for d in b b c; do
		"$sandbox" start --dir "$tmp/$d" &
		pids="$pids $!"
	done
	for pid in $pids; do wait "$pid"; done
	b=$(server_of "$tmp/b") c=$(server_of "$tmp/c")
	[ -n "$b" ] && [ -n "$c" ] && [ "$b" != "$c" ]
	"$sandbox" stop --dir "$tmp/b"
	gone "$b"
	[ "$(server_of "$tmp/c")" = "$c" ]
	"$sandbox" stop --dir "$tmp/c"
}

stops()
{
	was=$(server_of "$tmp/a")
	box stop
	gone "$was"
	[ ! -e "$tmp/a" ]
	box stop
	! box dsn || return 1
	! box restart || return 1
	[ ! -e "$tmp/a" ]
}

# Ends by SIGKILL, while its server is frozen: nobody can be told.
ends_with_its_owner()
{
	sleep 3600 &
	owner=$!
	"$sandbox" start --dir "$tmp/b" --owner=$owner
	server=$(server_of "$tmp/b")
	watcher=$(cat "$tmp/b/watcher")
	"$sandbox" freeze --dir "$tmp/b"
	kill -KILL $owner
	await "the server's end, the watcher's, the directory's" nothing_is_left ||
		{ ls "$tmp/b"; ps -p "$server,$watcher"; return 1; }
}
nothing_is_left() { gone "$server" && gone "$watcher" && [ ! -e "$tmp/b" ]; }

# An owner that has ended, and that its parent has not taken up; and who starts
# anew in a directory is not the first one's.
is_not_the_first_owners()
{
	sleep 3600 &
	owner=$!
	"$sandbox" start --dir "$tmp/b" --owner=$owner
	watcher=$(cat "$tmp/b/watcher")
	! "$sandbox" start --dir "$tmp/b" --owner=$$ || return 1
	"$sandbox" kill --dir "$tmp/b"
	"$sandbox" start --dir "$tmp/b"
	await "the end of the first one's watcher" gone "$watcher" || { ps -p "$watcher"; return 1; }
	kill -KILL $owner
	server=$(server_of "$tmp/b")
	"$sandbox" watch --dir "$tmp/b" --owner=$owner
	[ "$(server_of "$tmp/b")" = "$server" ]
	"$sandbox" stop --dir "$tmp/b"
}

zombie_is_no_owner()
{
	sh -c 'sh -c "kill -STOP \$\$; exit" & echo $!; exec sleep 3600' >"$tmp/zombie" &
	parent=$!
	await "a child that has stopped" [ -s "$tmp/zombie" ]
	owner=$(cat "$tmp/zombie")
	"$sandbox" start --dir "$tmp/b" --owner="$owner"
	kill -KILL "$owner"
	await "the directory's end" [ ! -e "$tmp/b" ] || { ls "$tmp/b"; ps -p "$owner"; return 1; }
	[ "$(state_of "$owner")" = Z ]
	kill $parent
}

stops_before_its_owner()
{
	"$sandbox" start --dir "$tmp/b" --owner=$$
	watcher=$(cat "$tmp/b/watcher")
	"$sandbox" stop --dir "$tmp/b"
	await "the watcher's end" gone "$watcher" || { ps -p "$watcher"; return 1; }
	! "$sandbox" start --dir "$tmp/b" --owner=me || return 1
	[ ! -e "$tmp/b" ]
}

spares_others()
{
	mkdir "$tmp/mine"
	: >"$tmp/mine/thesis"
	for c in start stop kill restart freeze thaw; do
		"$sandbox" $c --dir "$tmp/mine" || :
	done
	[ -e "$tmp/mine/thesis" ]
	[ "$(ls "$tmp/mine")" = thesis ]
	! "$sandbox" start --dir "$tmp/$(printf '%0120d' 0)" || return 1
}

it "start makes a durable server with the documented accounts, once" starts
it "nobody gets in without a password" let_nobody_in
it "kill is a crash; restart finds data, port and accounts again" crash_and_restart
it "a frozen server stands still, goes on, and can be ended" freeze_and_thaw
it "start after a crash begins anew" stale
it "several sandboxes, and several starts of one, do not disturb each other" side_by_side
it "stop ends the server and leaves nothing" stops
it "a server whose owner is killed ends, though it is frozen, and leaves nothing" ends_with_its_owner
it "a server that is started anew is not its first owner's" is_not_the_first_owners
it "an owner that has ended and waits for its parent is none" zombie_is_no_owner
it "a server that is stopped before its owner leaves no watcher" stops_before_its_owner
it "a directory that is not a sandbox is left alone" spares_others
echo "1..$number"
[ $failed = 0 ]
