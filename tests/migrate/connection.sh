#!/bin/sh
# SPDX-License-Identifier: MIT
# Connection strings, option files and arguments: which wins, and that the
# password stays out of sight.
# shellcheck disable=SC1091,SC2034,SC2154 # shared with lib.sh
. "$(dirname -- "$0")/lib.sh"

# A client in front of the real one that writes down how it was called.
spy()
{
	mkdir -p "$tmp/bin" "$tmp/tmpdir"
	real=$(command -v "$client")
	for name in mariadb mysql; do
		cat >"$tmp/bin/$name" <<-SH
		#!/bin/sh
		printf '%s\n' "\$*" >>"$tmp/calls"
		ulimit -c >>"$tmp/cores"
		sed -n 's/^Max core file size *//p' /proc/self/limits >>"$tmp/limits"
		ls -ld "$tmp"/tmpdir/* "$tmp"/tmpdir/*/* >>"$tmp/modes" 2>/dev/null
		grep -rlF -f "$tmp/secret" "$tmp/tmpdir" >>"$tmp/leaks"
		exec "$real" "\$@"
		SH
		chmod +x "$tmp/bin/$name"
	done
	: >"$tmp/calls"
	: >"$tmp/modes"
	: >"$tmp/leaks"
	: >"$tmp/cores"
	: >"$tmp/limits"
	server password >"$tmp/secret"
}
server() { option_file "$ROWLOCK_TEST_DSN" | grep "^$1=" | cut -d = -f 2-; }
spied() { PATH="$tmp/bin:$PATH" TMPDIR="$tmp/tmpdir" "$migrate" "$@"; }

out_of_sight()
{
	spy
	password=$(server password)
	[ -n "$password" ]
	# shellcheck disable=SC3045
	ulimit -S -c "$(ulimit -H -c)"
	ROWLOCK_DSN='' TMPDIR="$tmp/tmpdir" PATH="$tmp/bin:$PATH" \
		expect 0 "$migrate" --defaults-file="$tmp/root.cnf" --database="$db"
	grep -q "^--defaults-file=" "$tmp/calls"
	! grep -F -e "$password" "$tmp/calls" || return 1
	rows "DROP TABLE rowlock_schema"
	: >"$tmp/calls"
	: >"$tmp/modes"
	ROWLOCK_DSN=$(dsn_with "database=$db") expect 0 spied --no-defaults
	! grep -F -e "$password" "$tmp/calls" || return 1
	# Nor would a file be left behind with it, whatever ended the script then.
	equal "$(cat "$tmp/leaks")" ""
	grep -q tmpdir/rowlock-migrate "$tmp/modes"
	! grep -v -e '^[-p]rw------- ' -e '^drwx------ ' "$tmp/modes" || return 1
	equal "$(ls "$tmp/tmpdir")" ""
	equal "$(sort -u "$tmp/cores")" 0
	# For those that go into a pipe.
	! prlimit --core=1:1 true 2>/dev/null ||
		equal "$(sort -u "$tmp/limits" | xargs)" "1 1 bytes"
}

nothing_left_after_a_failure()
{
	spy
	ROWLOCK_DSN=$(dsn_with password=wrong "database=$db") expect 2 spied --no-defaults
	said "ERROR 1045"
	not_said wrong
	equal "$(ls "$tmp/tmpdir")" ""
}

odd_password()
{
	user=rlk_odd_$$
	password=" a;b{c}d\"e'f\\g#h=i%j\$k\`l "
	quoted=$(printf %s "$password" | sed "s/[\\']/\\\\&/g")
	rows "CREATE USER $user@'%' IDENTIFIED BY '$quoted'; GRANT ALL ON $db.* TO $user@'%'"
	braced=$(printf %s "$password" | sed 's/}/}}/g')
	result=0
	ROWLOCK_DSN=$(dsn_with "user=$user" "database=$db" "password={$braced}") \
		expect 0 "$migrate" --no-defaults || result=1
	rows "DROP USER $user@'%'"
	return $result
}

malformed()
{
	ROWLOCK_DSN=$(dsn_with "database={$db") expect 125 "$migrate" --no-defaults
	said "ROWLOCK_DSN: the value of 'database' has '{', but no '}' at its end"
	ROWLOCK_DSN=$ROWLOCK_TEST_DSN expect 125 "$migrate" --no-defaults --dsn="DATABASE=$db"
	said "--dsn: unknown key 'DATABASE': did you mean 'database'?"
}

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
		--database "$db" --status
	sed 's/^\[client\]/[client_x]/' "$tmp/root.cnf" >"$tmp/suffix.cnf"
	expect 3 "$migrate" --defaults-file="$tmp/suffix.cnf" --defaults-group-suffix=_x \
		-D"$db" --status
	expect 125 "$migrate" --defaults-file="$tmp/not-there.cnf"
	said "cannot read the option file"
}

# Whoever has but this group is led there by all of rowlock's programs.
our_group()
{
	sed 's/^\[client\]/[ rowlock ]/; s/\[ /[/; s/ \]/ ]/' "$tmp/root.cnf" >"$tmp/ours.cnf"
	grep -q '^\[rowlock \]' "$tmp/ours.cnf"
	expect 3 "$migrate" --defaults-file="$tmp/ours.cnf" --database="$db" --status
	# The later line is the stronger one, whichever group it is in.
	{ echo '[client]'; echo 'user=nobody'; cat "$tmp/ours.cnf"; echo "database = '$db' "; } \
		>"$tmp/later.cnf"
	expect 3 "$migrate" --defaults-file="$tmp/later.cnf" --status
	{ cat "$tmp/ours.cnf"; echo '[mysql]'; echo 'user=nobody'; } >"$tmp/later.cnf"
	expect 2 "$migrate" --defaults-file="$tmp/later.cnf" --status
	said "'nobody'@"
	# A file of a directory, and what is behind it.
	mkdir -p "$tmp/it's.d"
	mv "$tmp/ours.cnf" "$tmp/it's.d/a.cnf"
	{ echo '[client]'; echo "!includedir $tmp/it's.d"; echo "database=$db"; } >"$tmp/top.cnf"
	expect 3 "$migrate" --defaults-file="$tmp/top.cnf" --status
	# Who names a server in a string has named it; the rest is found here.
	password=$(server password)
	printf '[rowlock]\nhost=nowhere.invalid\nport=1\npassword="%s"\n' "$password" \
		>"$tmp/top.cnf"
	ROWLOCK_DSN=$(dsn_with "database=$db" | sed 's/password=[^;]*;*//') \
		expect 3 "$migrate" --defaults-file="$tmp/top.cnf" --status
}

# refused FILE-TEXT WORDS [OPTION...]
refused()
{
	printf '%s\n' "$1" >"$tmp/refused.cnf"
	words=$2
	shift 2
	expect 125 "$migrate" --defaults-file="$tmp/refused.cnf" --status "$@"
	said "$words"
	not_said hunter2
}

# [client] may have what is another program's.
refused_by_client()
{
	printf '[client]\nhots=db1\nuser=x\n' >"$tmp/refused.cnf"
	expect 2 "$migrate" --defaults-file="$tmp/refused.cnf" --status
	said "take it out of [client]"
}

misleading_files()
{
	refused '[rowlock]
	hots=db1' "refused.cnf:2: group [rowlock]: unknown key 'hots': did you mean 'host'"
	not_said "write it like"
	refused '[rowlock]
	port=abc' "refused.cnf:2: group [rowlock]: 'port' is 'abc'"
	refused '[rowlock]
	password' "'password' has no value"
	refused "[rowlock]
	'host=db1" "begins with a quote"
	refused '[rowlock]
	connection = host=db1;prot=1' "refused.cnf:2: connection: unknown key 'prot'"
	refused '[rowlok]
	host=db1' "refused.cnf:1: there is no group [rowlock], but [rowlok]"
	refused '[ rowlock ]
	password=hunter2' "there is no group [rowlock], but [ rowlock]"
	refused '[myapp]
	host=db1' "has groups, but neither [client] nor [rowlock], so it names no server; add [rowlock]"
	refused_by_client
	refused '[client]
	!include /nowhere.cnf' "refused.cnf:2: cannot read '/nowhere.cnf'"
	refused '!includedir /etc/passwd' "cannot read '/etc/passwd'"
	refused 'host=db1' "a setting before the first [group]"
	refused '[client' "a group without ']'"
	refused '[rowlock]
	host=db1
	[rowlock_two]' "refused.cnf:3: no group has the suffix '_tow', but there is [rowlock_two]" \
		--defaults-group-suffix=_tow
	MARIADB_GROUP_SUFFIX=_tow refused '[rowlock]
	host=db1' "no group has the suffix '_tow' (read: $tmp/refused.cnf)"
	cp "$tmp/root.cnf" "$tmp/open.cnf"
	chmod o+w "$tmp/open.cnf"
	expect 125 "$migrate" --defaults-file="$tmp/open.cnf" --status
	said "everybody can write '$tmp/open.cnf'"
	refused "[client]
	!include $tmp/open.cnf" "everybody can write '$tmp/open.cnf'"
	expect 125 "$migrate" --defaults-file="$tmp" --status
	said "is a directory"
	# To which nobody writes.
	mkfifo "$tmp/pipe.cnf"
	expect 125 "$migrate" --defaults-file="$tmp/pipe.cnf" --status
	said "'$tmp/pipe.cnf' is a pipe"
	refused "[client]
	!include $tmp/pipe.cnf" "'$tmp/pipe.cnf' is a pipe"
	expect 125 "$migrate" --defaults-file=/dev/zero --status
	said "'/dev/zero' is a device"
	expect 125 "$migrate" --defaults-file=/dev/null --status
	not_said "device"
}

installed()
{
	mkdir -p "$tmp/prefix/bin" "$tmp/prefix/share/rowlock"
	cp "$migrate" "$tmp/prefix/bin/"
	cp -R "$root/sql" "$tmp/prefix/share/rowlock/sql"
	ln -s prefix/bin/rowlock-migrate "$tmp/link"
	migrate=$tmp/link
	expect 0 rlm
	rm -rf "$tmp/prefix/share"
	expect 125 rlm
	said "cannot find the migrations"
}

it "the password is in no argument and no file with a name; files are private, and removed" out_of_sight
it "a failure leaves no file behind and does not show the password" nothing_left_after_a_failure
it "a password of odd characters arrives as it is" odd_password
it "a connection string that cannot be read is refused" malformed
it "arguments win over connection strings, these over option files" which_wins
it "the group [rowlock] leads the migration, too" our_group
it "an option file that leads nowhere or elsewhere is refused" misleading_files
it "the installed script finds its migrations, also through a link" installed
finish
