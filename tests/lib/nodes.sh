# shellcheck shell=sh disable=SC2034,SC2154 # set, and used, by who sources it
# SPDX-License-Identifier: MIT
#
# nodes.sh - what tests/galera/cluster and tests/group/cluster share: three servers
# on this machine in one directory, each with its data, socket and log in nodeN, and
# the passwords of their accounts. Sourced by a script that has set here to its own
# directory, and MARK to the name of a file, and has: usage, check_machine,
# start_all; launch NODE, which sets child; takes_part NODE; forget NODE, for
# another start of it.

readonly NODES='1 2 3'

say() { printf 'cluster: %s\n' "$*"; }

die()
{
	for line; do say "$line" >&2; done
	exit 1
}

lacking()
{
	say "skipped: $1 is missing; Debian has it in the package $2:" >&2
	say "apt-get install $2" >&2
	exit 77
}

need() { command -v "$1" >/dev/null || lacking "'$1'" "$2"; }

# as_server COMMAND...: in place of this shell, as the user that servers run as.
as_server()
{
	[ "$(id -u)" -ne 0 ] ||
		set -- setpriv --reuid=mysql --regid=mysql --init-groups "$@"
	exec "$@"
}

parse_args()
{
	command='' owner='' dir='' image='' account=rowlock number=''
	for word; do
		case $word in
		--help | -h) usage; exit 0 ;;
		--dir=?*) dir=${word#--dir=} ;;
		--owner=*)
			owner=${word#--owner=}
			case $owner in
			'' | *[!0-9]*) die "--owner takes the number of a process, not '$owner'" ;;
			esac ;;
		--root) account=root ;;
		--image=?*) image=${word#--image=} ;; # tests/group only
		-*) die "unknown option '$word'; see --help" ;;
		[0-9]*) number=$word ;;
		*)
			[ -z "$command" ] || die "one command only; see --help"
			command=$word ;;
		esac
	done
	[ -n "$command" ] || { usage >&2; exit 1; }
	[ -n "$dir" ] || die "--dir=DIRECTORY is needed; see --help"
	case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
	case $dir in *[[:space:]]*)
		die "'$dir' has a blank in it, which a server cannot have: choose another --dir" ;;
	esac
	[ "$(printf %s "$dir/node1/sock" | wc -c)" -le 107 ] ||
		die "'$dir' is too long for a socket (107 bytes with /node1/sock): choose another --dir"
}

# Ours: made by us (a mark in it) and owned by us.
is_ours()
{
	[ -d "$dir" ] && [ ! -L "$dir" ] && [ -O "$dir" ] && [ -e "$dir/$MARK" ]
}

# Whatever works in there is killed, the watcher with it.
remove() { (cd / && "$here/../../tools/lib/tidy" "$dir"); }

make_dir()
{
	if is_ours; then
		[ ! -e "$dir/ready" ] || die "already running in '$dir': stop it first"
		remove
	fi
	mkdir -p -- "$dir"
	[ -z "$(ls -A "$dir")" ] ||
		die "'$dir' is not empty and not a cluster: choose another --dir"
	: >"$dir/$MARK"
	dir=$(cd -- "$dir" && pwd -P)
	# The servers' user has to get through.
	chmod 711 "$dir"
	for n in $NODES; do
		mkdir "$dir/node$n" "$dir/node$n/data" "$dir/node$n/tmp"
		[ "$(id -u)" -ne 0 ] || chown -R mysql: "$dir/node$n"
	done
	(as_server test -x "$dir/node1") ||
		die "the user mysql cannot reach '$dir': choose another --dir," \
			"or let others pass ('x') each directory above it"
}

# Stop it all when the owner has ended. The watcher is a session of its own: what
# ends the owner's is not to end it. What ends the servers ends it.
watch_owner()
{
	[ -n "$owner" ] || return 0
	(cd / && TMPDIR=$dir exec setsid "$here/../../tools/lib/tidy" --after "$owner" \
		"$dir") </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
}

fail()
{
	say "$1; the end of the log:" >&2
	tail -n 25 "$2" >&2 2>/dev/null || :
	exit 1
}

random_bytes() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

is_taken()
{
	grep -qi "^ *[0-9]*: [0-9A-F]*:$(printf '%04X' "$1") " \
		/proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# free_ports NODE: for clients, for the group, and two more in a row. Below the
# range from which the kernel gives ports to clients.
free_ports()
{
	while :; do
		first=$((10000 + 0x$(random_bytes 2) % 22000))
		taken=''
		for port in 0 1 2 3; do
			! is_taken $((first + port)) || taken=yes
		done
		[ -n "$taken" ] || break
	done
	echo "$first" >"$dir/port$1"
}

port_of() { cat "$dir/port$1"; }
# mysql_as WHO NODE [ARGUMENT]...
mysql_as()
{
	who=$1 at=$2
	shift 2
	mariadb --defaults-file="$dir/$who.cnf" --socket="$dir/node$at/sock" "$@"
}

field() { sed -n "s/^$2=//p" "$dir/$1.cnf"; }

make_accounts()
{
	for who in root rowlock; do
		printf '[client]\nuser=%s\npassword=%s\n' "$who" "$(random_bytes 16)" \
			>"$dir/$who.cnf"
	done
}

# await_node NODE: until it takes part, three times as long as for most things.
# Returns 1 if it found one of its ports taken.
await_node()
{
	ticks=0
	until takes_part "$1"; do
		if ! is_alive "$child"; then
			! grep -qE 'Bind on TCP/IP port|Address already in use' \
				"$dir/node$1/error.log" || return 1
			fail "node $1 ended while it started" "$dir/node$1/error.log"
		fi
		[ $ticks -lt $((30 * $(patience))) ] ||
			fail "node $1 does not take part after $((ticks / 10)) s" "$dir/node$1/error.log"
		ticks=$((ticks + 1))
		sleep 0.1
	done
}

# start_node NODE [OPTION OF launch]...
start_node()
{
	started=$1
	shift
	for _ in 1 2 3 4 5; do
		free_ports "$started"
		launch "$started" "$@"
		await_node "$started" && return 0
		forget "$started"
		rm -f -- "$dir/node$started/error.log"
	done
	die "no free ports found"
}

make_schema()
{
	mysql_as root 1 <<-SQL
	CREATE DATABASE rowlock CHARACTER SET utf8mb4;
	CREATE USER 'rowlock'@'%' IDENTIFIED BY '$(field rowlock password)';
	GRANT ALL ON rowlock.* TO 'rowlock'@'%';
	SQL
	ROWLOCK_DSN=$(dsn rowlock 1) "${ROWLOCK_BUILD:-$here/../../build}/tools/rowlock-migrate" --no-defaults \
		>"$dir/migrate.log" 2>&1 || fail "rowlock-migrate failed" "$dir/migrate.log"
}

dsn()
{
	printf 'host=127.0.0.1;port=%s;user=%s;password=%s;database=rowlock' \
		"$(port_of "$2")" "$(field "$1" user)" "$(field "$1" password)"
	[ ! -e "$dir/key$2.pem" ] || printf ';server-public-key=%s' "$dir/key$2.pem"
	echo
}

start()
{
	check_machine
	make_dir
	trap 'remove' EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	watch_owner
	make_accounts
	start_all
	: >"$dir/ready"
	trap - EXIT INT TERM HUP
	say "three nodes are running in $dir, ports $(port_of 1), $(port_of 2), $(port_of 3)"
}

stop()
{
	is_ours || { say "there is no cluster in $dir"; return; }
	remove
	say "stopped and removed $dir"
}

main()
{
	parse_args "$@"
	case $command in
	start | stop) $command ;;
	dsn)
		case " $NODES " in
		*" ${number:-none} "*) ;;
		*) die "which node? 1, 2 or 3" ;;
		esac
		if ! is_ours || [ ! -e "$dir/ready" ]; then
			die "there is no cluster in '$dir': start it first"
		fi
		dsn "$account" "$number" ;;
	*) die "unknown command '$command'; see --help" ;;
	esac
}
