# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# The three shells run this by sh -c, with "names" or "suffixes", what was typed of it, and
# the words of the line: those that say where the server is are heeded. No single quote is
# in it, as it is put between two.
what=$1 begin=$2
shift 2
left=$# file= list=
while [ "$left" -gt 0 ]; do
	word=$1
	shift
	left=$((left - 1))
	case $word in
	--dsn | --defaults-file | --defaults-group-suffix | --unverified-auth)
		[ "$left" -gt 0 ] || break
		word=$word=$1
		shift
		left=$((left - 1)) ;;
	esac
	case $word in
	--defaults-file=*) file=${word#*=} ;;
	jobs) list=${list:-jobs} ;;
	run | elect | hold | list | show | wait | permits | break) list=${list:-list} ;;
	esac
	case $word in
	--dsn=* | --defaults-file=* | --defaults-group-suffix=* | --unverified-auth=* | \
		--no-defaults | --tls-unverified)
		set -- "$@" "$word" ;;
	esac
done

# Print the option files, with what they include; 9 deep at most.
print_files()
{
	for place; do
		if [ ! -f "$place" ] || [ ! -r "$place" ]; then
			continue
		fi
		cat "$place"
		[ "${#depth}" -lt 9 ] || continue
		sed -n "s/^ *!include  *//p" "$place" | while read -r more; do
			depth=x$depth print_files "$more"
		done
		sed -n "s/^ *!includedir  *//p" "$place" | while read -r more; do
			depth=x$depth print_files "$more"/*.cnf
		done
	done
}

case $what in
names)
	# Names that JSON writes otherwise are left out: whoever reads them would be
	# taken in. The pattern is what was typed.
	[ "$ROWLOCK_COMPLETE_NAMES" = 1 ] || exit 0
	rowlock "${list:-list}" --json --connect-timeout=1s "$@" -- "$begin*" </dev/null 2>/dev/null |
		sed -n "s/^{\"name\":\"\([^\"\]*\)\",.*/\1/p" |
		awk "!seen[\$0]++ { print; if (++count == 1000) exit }" ;;
suffixes)
	if [ "$file" ]; then
		set -- "$file"
	else
		set -- /etc/my.cnf /etc/mysql/my.cnf ~/.my.cnf
	fi
	depth=
	print_files "$@" | sed -n -e "s/^ *\[ *client\([^] ]\{1,\}\) *\].*/\1/p" \
		-e "s/^ *\[ *rowlock\([^] ]\{1,\}\) *\].*/\1/p" | sort -u ;;
esac
