# shellcheck shell=sh disable=SC2034,SC2154 # used, and set, by the sourcing script
# SPDX-License-Identifier: MIT
#
# setup.sh - shared by tools/demo, tools/check, .ci/run and others: find the
# packages that are missing on this machine and install them if that is
# possible, build, start a server. Sourced by a script that has set root to the
# top of the tree.

name=$(basename -- "$0")

say() { printf '%s: %s\n' "$name" "$*"; }
die()
{
	say "$*" >&2
	exit 1
}

# --------------------------------------------------------- what is missing

# A line per need: how it is seen, Debian's package; optional: less is tested
# without it.
needs_build='
command cc build-essential
command meson meson
command ninja ninja-build
command pkg-config pkg-config
module libmariadb libmariadb-dev
module cmocka libcmocka-dev'
needs_server='
command mariadbd mariadb-server-core
command mariadb-install-db mariadb-server-core
command mariadb mariadb-client-core'
needs_check='
command c++ build-essential
command mariadb mariadb-client-core
command ps procps
command openssl openssl optional
file /usr/lib/python3/dist-packages/pymysql/__init__.py python3-pymysql optional
module libsystemd libsystemd-dev optional
module libmicrohttpd libmicrohttpd-dev optional
module ncursesw libncurses-dev optional
command tmux tmux optional
command promtool prometheus optional
command scdoc scdoc optional
command musl-gcc musl-tools optional
command abidiff abigail-tools optional
command cmake cmake optional'
needs_ci='
file /usr/lib/ccache/gcc ccache
command clang clang
file /usr/lib/clang/*/lib/linux/libclang_rt.asan-*.a libclang-rt-dev
command clang-format clang-format
command shellcheck shellcheck
command codespell codespell'
needs_valgrind='
command valgrind valgrind'
needs_guard='
file /usr/lib/python3/dist-packages/pymysql/__init__.py python3-pymysql optional
command php php-cli optional
file /usr/lib/php/*/mysqli.so php-mysql optional
file /usr/lib/python3/dist-packages/MySQLdb/__init__.py python3-mysqldb optional
file /usr/lib/python3/dist-packages/aiomysql/__init__.py python3-aiomysql optional
file /usr/lib/*/perl5/*/DBD/mysql.pm libdbd-mysql-perl optional
file /usr/lib/*/perl5/*/DBD/MariaDB.pm libdbd-mariadb-perl optional
file /usr/share/nodejs/mysql/index.js node-mysql optional
file /usr/lib/ruby/vendor_ruby/mysql2.rb ruby-mysql2 optional'
needs_nemesis='
command ip iproute2 optional
command iptables iptables optional
command haproxy haproxy optional
file /usr/lib/*/faketime/libfaketimeMT.so.1 libfaketime optional'
needs_peers='
command redis-server redis-server optional
module hiredis libhiredis-dev optional
file /usr/share/java/zookeeper.jar zookeeper optional
file /usr/include/zookeeper/zookeeper.h libzookeeper-mt-dev optional'
needs_bench="$needs_peers
command gnuplot gnuplot-nox optional"
needs_coverage='
command gcovr gcovr'
needs_galera='
file /usr/lib/galera/libgalera_smm.so galera-4
command wsrep_sst_rsync mariadb-server
command rsync rsync'
needs_units='
command debootstrap debootstrap
command systemd-nspawn systemd-container'
needs_page='
command chromium-headless-shell chromium-headless-shell
command tmux tmux optional'
needs_docker='
command docker docker.io'
needs_compose='
command docker-compose docker-compose'
needs_bare='
command debootstrap debootstrap'
needs_images='
command docker docker.io
command debootstrap debootstrap'

# have_file PATTERN
have_file()
{
	# shellcheck disable=SC2086 # it is a pattern
	set -- $1
	[ -e "$1" ]
}

# missing NEEDS: print the lines of NEEDS that this machine does not meet.
missing()
{
	printf '%s\n' "$1" | while read -r kind what package; do
		case $kind in
		command) command -v "$what" >/dev/null ;;
		file) have_file "$what" ;;
		module) pkg-config --exists "$what" 2>/dev/null ;;
		*) : ;;
		esac || printf '%s %s %s\n' "$kind" "$what" "$package"
	done
}

as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

tell_missing()
{
	say "missing on this machine:"
	printf '%s\n' "$1" | while read -r kind what package optional; do
		printf '  %s %s (Debian has it in %s)%s\n' "$kind" "$what" \
			"$package" "${optional:+; can be done without}"
	done
}

# need NEEDS: see to it that all of NEEDS is there, or end with what is not.
need()
{
	lacking=$(missing "$1")
	[ -n "$lacking" ] || return 0
	packages=$(printf '%s\n' "$lacking" | cut -d' ' -f3 | sort -u | tr '\n' ' ')
	if ! command -v apt-get >/dev/null; then
		tell_missing "$lacking" >&2
		! printf '%s\n' "$lacking" | grep -qv ' optional$' ||
			die "install them, then run this again"
		return 0
	fi
	if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
		die "Debian packages are missing, and there is no sudo to install them; as root:
apt-get install $packages"
	fi
	say "installing Debian packages (a minute or so): $packages"
	log=$(mktemp)
	# shellcheck disable=SC2086 # words are wanted
	if ! install_packages $packages >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		die "could not install: $packages"
	fi
	rm -f "$log"
	lacking=$(missing "$1")
	[ -z "$lacking" ] || die "still missing after that:
$lacking"
}

# want NEEDS: get those of NEEDS that are available; report the others, and go
# on without them.
want()
{
	lacking=$(missing "$1")
	[ -n "$lacking" ] || return 0
	if command -v apt-get >/dev/null &&
		{ [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null; }; then
		packages=$(printf '%s\n' "$lacking" | cut -d' ' -f3 | sort -u)
		# shellcheck disable=SC2086 # words are wanted
		say "installing Debian packages, if they can be had:" $packages
		# shellcheck disable=SC2086
		install_packages $packages >/dev/null 2>&1 ||
			for package in $packages; do
				install_packages "$package" >/dev/null 2>&1 || :
			done
		lacking=$(missing "$1")
	fi
	[ -z "$lacking" ] || tell_missing "$lacking"
}

# A machine that has just started updates itself, or another run installs: apt
# waits for the lock of dpkg if it is told to, for that of the lists never.
update_lists()
{
	for _ in $(seq 120); do
		told=$(as_root apt-get update 2>&1) && break
		case $told in */lists/lock*) sleep 5 ;; *) break ;; esac
	done
	printf '%s\n' "$told"
}

install_packages()
{
	update_lists
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -o DPkg::Lock::Timeout=600 \
		install -y --no-install-recommends "$@"
}

# need_daemon: see to it that Docker's answers, or end with what to do.
need_daemon()
{
	docker info >/dev/null 2>&1 ||
		die "the Docker daemon does not answer: start it (systemctl start docker; where there is
no systemd, dockerd as root), and be root or in the group docker"
}

# ------------------------------------------------------------------- build

# build_in DIRECTORY [MESON OPTION]...: quietly if all is well. The tables of a server
# are made by the program from there.
build_in()
{
	dir=$1
	shift
	[ -d "$dir" ] || mkdir -p "$dir"
	ROWLOCK_BUILD=$(CDPATH='' cd -- "$dir" && pwd -P)
	export ROWLOCK_BUILD
	if [ -f "$dir/build.ninja" ]; then
		set -- --reconfigure "$@"
	fi
	if ! meson setup "$@" "$dir" "$root" >"$dir/setup.log" 2>&1; then
		tail -n 30 "$dir/setup.log" >&2
		die "meson setup failed"
	fi
	if [ -t 1 ]; then
		ninja -C "$dir" || die "the build failed"
	elif ! ninja -C "$dir" >"$dir/build.log" 2>&1; then
		# Without ninja's progress: what the compiler said.
		grep -v '^\[' "$dir/build.log" | tail -n 40 >&2 || :
		die "the build failed"
	fi
}

# ------------------------------------------------------------------ server

# have_server DIRECTORY: let ROWLOCK_DSN name a server: the one it names
# already, or a sandbox in DIRECTORY.
have_server()
{
	if [ -n "${ROWLOCK_DSN:-}" ]; then
		say "using the server of ROWLOCK_DSN"
		"$ROWLOCK_BUILD/tools/rowlock-migrate" --no-defaults --status >"$1.said" 2>&1 || {
			cat "$1.said" >&2
			die "rowlock's tables are not as needed there; run $ROWLOCK_BUILD/tools/rowlock-migrate"
		}
		return
	fi
	say "starting a private MariaDB"
	"$root/tools/sandbox" start --dir="$1" --owner=$$ >"$1.said" 2>&1 || {
		cat "$1.said" >&2
		die "the private server did not start"
	}
	ROWLOCK_DSN=$("$root/tools/sandbox" dsn --dir="$1")
	export ROWLOCK_DSN
}

# stop_servers DIRECTORY...: each that is a sandbox.
stop_servers()
{
	for dir; do
		[ ! -d "$dir" ] ||
			"$root/tools/sandbox" stop --dir="$dir" >/dev/null 2>&1 || :
	done
}
