#!/bin/sh
# SPDX-License-Identifier: MIT
# What rowlock-migrate makes of connection strings: the same as the library, by
# the same cases, before a client is called. Needs no server: the client is a
# stub that writes down what it was told.
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
migrate=$root/tools/rowlock-migrate
unset ROWLOCK_DSN MYSQL_PWD

tmp=$(mktemp -d "${TMPDIR:-/tmp}/rowlock-test.XXXXXX") || exit 1
trap 'rm -rf -- "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
cat >"$tmp/mariadb" <<SH
#!/bin/sh
case \$* in *--version*) echo 'Distrib 10.11.1-MariaDB'; exit ;; esac
echo "\$*\${MARIADB_TLS_DISABLE_PEER_VERIFICATION+ blind}" >"$tmp/words"
for word; do
	case \$word in --defaults-file=*) cat "\${word#*=}" >"$tmp/told" ;; esac
done
[ -z "\$STUB_PORT" ] || { printf 'server\tdb\thost\t%s\t1\n' "\$STUB_PORT"; exit; }
exit 9
SH
chmod +x "$tmp/mariadb"
PATH=$tmp:$PATH
number=0 failed=0

# ask STRING [OPTION...]: --no-defaults if there is none. Sets: got (the exit status);
# its output is in $tmp/out, what the client was told in $tmp/told and $tmp/words
ask()
{
	asked=$1 got=0
	shift
	[ $# -gt 0 ] || set -- --no-defaults
	rm -f "$tmp/told" "$tmp/words"
	ROWLOCK_DSN=$asked "$migrate" --status "$@" >"$tmp/out" 2>&1 || got=$?
}

# say SENTENCE: what the cases since the last one came to
say()
{
	number=$((number + 1))
	if [ -s "$tmp/log" ]; then
		failed=$((failed + 1))
		echo "not ok $number - $1"
		sed 's/^/# /' "$tmp/log"
	else
		echo "ok $number - $1"
	fi
	: >"$tmp/log"
}

# is STRING WANTED [WORDS]: the exit status, and words of the output
is()
{
	ask "$1"
	[ "$got" = "$2" ] || echo "$got, not $2: $1: $(cat "$tmp/out")"
	grep -qF -- "${3:-}" "$tmp/out" || echo "$1: not said: $3: $(cat "$tmp/out")"
	! grep -F hunter2 "$tmp/out" || echo "$1: its secret is told"
	[ "$2" != 125 ] || [ ! -e "$tmp/told" ] || echo "$1: a client was called"
}

# told STRING LINE: the client is told this line
told()
{
	ask "$1"
	grep -sqxF -- "$2" "$tmp/told" || echo "$1: $2: not told: $(cat "$tmp/told" "$tmp/out" 2>&1)"
}

: >"$tmp/log"
tab=$(printf '\t')
while IFS="$tab" read -r verdict string words; do
	case $verdict in
	ok) is "$string" 2 ;;
	no) is "$string" 125 "$words" ;;
	esac >>"$tmp/log"
done <"$root/tests/lib/dsn_cases"
say "the library's cases have the library's verdicts"

{
	told 'host=db1' 'host="db1"'
	told 'servername={db1};passwd={a}}b;"c\d}' 'host="db1"'
	told 'passwd={a}}b;"c\d}' 'password="a}b;\"c\\d"'
	told 'protocol=1' 'protocol="tcp"'
	told 'protocol=2;user=a' 'protocol="socket"'
	told 'timeout=7' 'connect-timeout="7"'
	told "user=a
b" 'user="a\nb"'
	told 'tls_ca=/x' 'ssl-ca="/x"'
	told 'ssl_enforce=1' 'ssl'
	told 'tls-verify-peer=0' 'disable-ssl-verify-server-cert'
} >>"$tmp/log"
say "the client is told the same in its own words"

{
	is '' 125 "ROWLOCK_DSN is empty"
	ROWLOCK_DSN='' "$migrate" --no-defaults --status -h db1 >"$tmp/out" 2>&1 ||
		[ $? = 2 ] || cat "$tmp/out"
	told 'port=3307' 'protocol="tcp"'
	told 'host=localhost;port=3307' 'protocol="tcp"'
	ask 'host=db1;port=3307'
	! grep -xF 'protocol="tcp"' "$tmp/told"
	export STUB_PORT=3306
	string='host=localhost;socket=/x;port=3307'
	is "$string;protocol=1" 4
	ask "$string"
	[ "$got" = 125 ] || echo "$got, not 125: $string"
	grep -qF "port 3307 is asked for" "$tmp/out" || cat "$tmp/out"
	STUB_PORT=3307
	is "$string" 4
	unset STUB_PORT
} >>"$tmp/log"
say "an empty string is refused, and a port is not forgotten"

# merged FILE-TEXT STRING DSN LINE: the last of its key that the client is told
merged()
{
	printf '%s\n' "$1" >"$tmp/some.cnf"
	rm -f "$tmp/told"
	ROWLOCK_DSN=$2 "$migrate" --defaults-file="$tmp/some.cnf" ${3:+"--dsn=$3"} \
		--status >"$tmp/out" 2>&1
	[ "$(grep "^${4%%=*}=" "$tmp/told" | tail -n 1)" = "$4" ] ||
		echo "$1; $2; $3: not told: $4: $(cat "$tmp/told" "$tmp/out" 2>&1)"
}

{
	files="[rowlock]
host=f
port=17
user=f
password=f"
	for line in 'host="a"' 'port="18"' 'user="f"' 'password="f"' 'database="e"'; do
		merged "$files" 'host=e;port=18;database=e' host=a "$line"
	done
	# A socket file takes the place of a weaker host and port.
	for line in 'host="localhost"' 'protocol="socket"' 'socket="/x"' 'user="f"'; do
		merged "$files" 'host=e;port=18' socket=/x "$line"
	done
	merged "$files" socket=/e host=a 'host="a"'
	! grep protocol= "$tmp/told"
	export STUB_PORT=3306
	merged "[rowlock]
port=17" 'host=e;port=18' socket=/x 'socket="/x"'
	! grep -F 'is asked for' "$tmp/out"
	unset STUB_PORT
} >>"$tmp/log"
say "sources merge key by key: arguments, ROWLOCK_DSN, [rowlock]"

# is_as WANTED SAID STRING [OPTION...]
is_as()
{
	[ "$1" = "$2" ] || {
		shift
		echo "$*: $(cat "$tmp/words" "$tmp/out" 2>&1)"
	}
}

# spoken YES-OR-NO STRING [OPTION...]: is the server to be verified?
spoken()
{
	wanted=$1
	shift
	ask "$@"
	said=no
	! grep -q -e ' --ssl --ssl-verify-server-cert ' "$tmp/words" || said=yes
	is_as "$wanted" $said "$@"
}

{
	for host in db1 127.evil.example 127.0.0.1,db1 db1,localhost ::2 Localhost 10.0.0.1; do
		spoken yes "host={$host};user=a" --no-defaults
	done
	for host in localhost 127.0.0.1 127.0.0.2:17 ::1 '[::1]:17' 127.0.0.1,localhost; do
		spoken no "host={$host};user=a" --no-defaults
	done
	spoken no socket=/x --no-defaults
	spoken no 'host=db1;ssl-ca=/x' --no-defaults --tls-unverified
	spoken yes host=localhost --no-defaults -h db1
	spoken no host=db1 --no-defaults -h localhost
	spoken no host=db1 --no-defaults -S /x
	spoken yes host=db1 --no-defaults --skip-ssl
	export MYSQL_HOST=db1
	spoken no user=a --no-defaults
	unset MYSQL_HOST
	printf '[client]\nloose-hos = "db1"\n' >"$tmp/some.cnf"
	spoken yes user=a --defaults-file="$tmp/some.cnf"
	spoken no host=localhost --defaults-file="$tmp/some.cnf"
	spoken no socket=/x --defaults-file="$tmp/some.cnf"
	printf '[rowlock]\nhost=db1\n[mysql]\n#host=localhost\n' >"$tmp/some.cnf"
	spoken yes user=a --defaults-file="$tmp/some.cnf"
	printf '[rowlock]\nhost=db1\n[client]\nhost=localhost\n' >"$tmp/some.cnf"
	spoken no user=a --defaults-file="$tmp/some.cnf"
} >>"$tmp/log"
say "another host is verified, as the library does it"

{
	export MARIADB_TLS_DISABLE_PEER_VERIFICATION=1
	for string in host=db1 'host=127.0.0.1;ssl_verify_server_cert=1'; do
		spoken yes "$string" --no-defaults
		! grep -q blind "$tmp/words" || echo "$string: $(cat "$tmp/words")"
	done
	unset MARIADB_TLS_DISABLE_PEER_VERIFICATION
} >>"$tmp/log"
say "no variable of the environment takes that back"

# kept YES-OR-NO STRING [OPTION...]: is the client kept from plugins?
kept()
{
	wanted=$1
	shift
	ask "$@"
	said=no
	! grep -q -e ' --plugin-dir=.*/plugins' "$tmp/words" || said=yes
	[ "$said" = yes ] || grep -q -e ' --protocol=socket ' -e ' --ssl-verify-server-cert ' \
		"$tmp/words" || echo "$*: neither verified nor a socket file"
	is_as "$wanted" $said "$@"
}

{
	for string in host=127.0.0.1 'host=::1;user=a' 'host=localhost;port=3307' \
		'protocol=1;user=a' 'host={127.0.0.1,localhost}' 'host=127.0.0.2;ssl_ca=/x'; do
		kept yes "$string" --no-defaults
	done
	for string in user=a host=localhost socket=/x 'host=localhost;socket=/x;port=1' \
		'protocol=2;user=a' host=db1 'host=db1;ssl_verify_server_cert=0' \
		'host=127.0.0.2;ssl_verify_server_cert=1'; do
		kept no "$string" --no-defaults
	done
	kept yes host=db1 --no-defaults --tls-unverified
	kept no 'host=db1;tls_verify_peer=1' --no-defaults --tls-unverified
	kept yes host=localhost --no-defaults -P 3307
	kept yes host=localhost --no-defaults --protocol=tcp
	kept no protocol=1 --no-defaults -S /x
	kept no 'host=127.0.0.1;user=a' --no-defaults --ssl-verify-server-cert
	kept yes 'host=127.0.0.1;tls_verify_peer=1' --no-defaults --ssl-verify-server-cert=0
	printf '[client]\nprotocol=TCP\n' >"$tmp/some.cnf"
	kept yes user=a --defaults-file="$tmp/some.cnf"
	kept no socket=/x --defaults-file="$tmp/some.cnf"
	printf '[client]\nprotocol=socket\nssl-verify-server-cert\n[mysql]\nskip-ssl\n' \
		>"$tmp/some.cnf"
	kept no user=a --defaults-file="$tmp/some.cnf"
	kept yes host=127.0.0.1 --defaults-file="$tmp/some.cnf"
} >>"$tmp/log"
say "who is neither verified nor behind a socket file may not ask for each plugin"

{
	rm -f "$tmp/told"
	got=0
	"$migrate" --no-defaults --status >"$tmp/out" 2>&1 || got=$?
	[ "$got" = 125 ] || echo "$got, not 125"
	grep -q 'no server is named' "$tmp/out" || cat "$tmp/out"
	[ ! -e "$tmp/told" ] || echo "a client was called"
} >>"$tmp/log"
say "no configuration at all is told as that"

echo "1..$number"
[ $failed = 0 ]
