# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Read by rowlock-migrate: the client, and what bounds it. Who is not the server
# may answer without an end, or not at all, and the client would take it.
#
# - Of an answer, and of errors, as much is taken as a file may become long
#   (ulimit -f); the client keeps none of it (--quick), and has room for little.
# - A question has a time in which its answer has to end (whole). The migration
#   has none, as DDL can take hours: only its first answer has (begun), and the
#   client has an amount of processor time, which it does not need for waiting.
#
# Uses session_sql(), plain(), warn(), die(), remarked(), advise_plugin(), $tmp, $client,
# $client_args, $arg_ca, $suffix, $where, $ddl_wait of rowlock-migrate.
# shellcheck disable=SC2154,SC2086

readonly ANSWER_BLOCKS=2048 # of 512 bytes: 1 MiB
readonly ANSWER_SECONDS=60  # and --wait, for metadata locks
readonly CLIENT_KIB=524288
readonly CLIENT_CPU_SECONDS=30

# client HOW: run SQL from stdin; its rows are in $tmp/rows, tab-separated, what is
# wrong in $tmp/err. It stops at the first error. In this shell, which ends it if
# it is ended itself: not in a pipeline.
client()
{
	{ printf "SELECT 'begun'; "; cat; } >"$tmp/question"
	rm -f "$tmp/late" "$tmp/watched"
	mkfifo "$tmp/watched"
	limit=$((ANSWER_SECONDS + ddl_wait))
	eval "set -- $1 $client_args"
	how=$1
	shift
	bounded "$@" <"$tmp/question" >"$tmp/answer" 2>"$tmp/err" &
	running=$!
	watch_client </dev/null >/dev/null 2>&1 9<&- &
	watcher=$!
	# A signal to a shell that has just begun may be lost.
	read -r _ <"$tmp/watched" || :
	ended=0
	wait $running 2>/dev/null || ended=$?
	running=
	stop_client
	sed '1{/^begun$/d;}' "$tmp/answer" >"$tmp/rows"
	return $ended
}

bounded()
{
	# shellcheck disable=SC3045 # what a system has not is not bounded there
	{
		ulimit -f $ANSWER_BLOCKS
		ulimit -v $CLIENT_KIB || :
		ulimit -t $CLIENT_CPU_SECONDS || :
	} 2>/dev/null
	exec "$client" --defaults-file=/dev/fd/9 \
		${suffix:+"--defaults-group-suffix=$suffix"} "$@" \
		--default-character-set=utf8mb4 --batch --skip-column-names \
		--skip-reconnect --local-infile=0 --quick --unbuffered \
		--max-allowed-packet=1048576
}

watch_client()
{
	nap=''
	trap '[ -z "$nap" ] || kill $nap; exit 0' TERM
	sleep $limit &
	nap=$!
	echo >"$tmp/watched"
	wait $nap || :
	nap=''
	[ "$how" = whole ] || [ ! -s "$tmp/answer" ] || exit 0
	: >"$tmp/late"
	kill -s KILL $running
}

stop_client()
{
	[ -z "${running:-}" ] || kill $running 2>/dev/null || :
	[ -z "${watcher:-}" ] || {
		kill $watcher 2>/dev/null || :
		wait $watcher 2>/dev/null || :
	}
	running='' watcher=''
}

# What the client had to say, as much as people read; and whether it was ended.
# Returns 1 if it was not.
tell_errors()
{
	sed 's/^--*$//; /^$/d' "$tmp/err" | head -c 4096 | plain >&2
	if [ -e "$tmp/late" ]; then
		warn "there was no answer, or no end of it, within $limit s: is the server overloaded, or is what" \
			"answers there none?"
	elif [ "$(cat "$tmp/answer" "$tmp/err" | wc -c)" -ge $((ANSWER_BLOCKS * 512)) ]; then
		warn "what answers there goes on for more than $((ANSWER_BLOCKS / 2)) KiB, and a few lines were" \
			"asked for: is it the server? Check host and port"
	elif [ $ended -gt 128 ]; then
		warn "the client was ended by signal $((ended - 128)): what answers there may keep it busy without an" \
			"end. Is it the server? Check host and port"
	else
		return 1
	fi
}

# What to do about the client's errors, as the library says it (src/db/connect.c).
advise()
{
	if grep -Eq '^[a-z]*: (unknown|ambiguous) (variable|option)' "$tmp/err"; then
		warn "the client does not know that option: take it out of [client] in the option file"
		return
	fi
	case $(sed -n 's/^ERROR \([0-9]*\) .*/\1/p' "$tmp/err" | tail -n 1) in
	2026) advise_tls ;;
	1049) warn "make the database, or check its name: CREATE DATABASE ..." ;;
	1045 | 1130 | 1698) warn "check user, password and the host that the account is for" ;;
	1044 | 1142 | 1143 | 1227 | 1370)
		warn "check the database's name, and give the account the rights that grants.sql has for" \
			"rowlock_migrate" ;;
	2005) warn "check the host's name" ;;
	2002 | 2003)
		if grep -q "socket '" "$tmp/err"; then
			warn "is the server running, and is that its socket?"
		else
			warn "is the server running, and does it listen at that address" \
				"(bind-address)?"
		fi ;;
	esac
}

advise_tls()
{
	ca=${arg_ca:-$(remarked ca)}
	if [ -n "$ca" ] && [ ! -r "$ca" ]; then
		warn "cannot read '$ca' (ssl-ca): look whether it is there, and whether this user may read it"
	else
		warn "give the server a certificate for this name and its CA as ssl-ca" \
			"(see rowlock-connect(7)), or give --tls-unverified"
	fi
}

query()
{
	{ session_sql; cat; } >"$tmp/sql"
	client whole <"$tmp/sql" || {
		tell_errors || :
		advise
		advise_plugin "$tmp/err"
		die $EX_SERVER "the server $where did not answer as needed (above); nothing was changed."
	}
	plain <"$tmp/rows"
}
