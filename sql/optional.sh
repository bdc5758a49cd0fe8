# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Read by rowlock-migrate: what no program of rowlock's needs, and is made only if
# asked for. --fence-only: the one table and the procedure that a database needs
# whose data are protected by tokens of locks elsewhere. --guard-procedure: the
# guard of a transaction for accounts that may not change rowlock's tables.
#
# Uses query(), client(), session_sql(), tell_errors(), say(), warn(), die(), $mode,
# $optional, $sql, $database, $where, $tmp of rowlock-migrate.
# shellcheck disable=SC2154,SC2086

# The files of a part, in the order in which they are run, and what each makes.
optional_files()
{
	case $optional in
	fence) echo fence.sql fence_procedure.sql ;;
	guard) echo guard_procedure.sql ;;
	esac
}

optional_name()
{
	case $1 in
	fence.sql) echo lock_fence ;;
	*) echo "rowlock_${1%%_*}()" ;;
	esac
}

# Sets optional_missing: the files to run.
look_at_optional()
{
	query >"$tmp/optional" <<-SQL
	SELECT 'fence', GROUP_CONCAT(LOWER(column_name) ORDER BY ordinal_position)
	FROM information_schema.columns
	WHERE table_schema = DATABASE() AND table_name = 'lock_fence';
	SELECT 'lease', COUNT(*) FROM information_schema.columns
	WHERE table_schema = DATABASE() AND table_name = 'business_lease'
		AND column_name IN ('slot', 'attempt', 'guards');
	SELECT 'procedure', COUNT(*) FROM information_schema.routines
	WHERE routine_schema = DATABASE() AND routine_type = 'PROCEDURE'
		AND routine_name = 'rowlock_$optional';
	SQL
	optional_missing=
	[ $optional != fence ] || look_at_fence
	[ $optional != guard ] || [ "$(optional_fact lease)" = 3 ] ||
		die $EX_REFUSED "database '$database' on $where has no table business_lease of rowlock's." \
			"Nothing was changed. Run rowlock-migrate without --guard-procedure first."
	[ "$(optional_fact procedure)" != 0 ] ||
		optional_missing="$optional_missing ${optional}_procedure.sql"
}

optional_fact() { awk -F '\t' -v what=$1 '$1 == what { print $2 }' "$tmp/optional"; }

look_at_fence()
{
	case $(optional_fact fence) in
	NULL) optional_missing=fence.sql ;;
	resource,token,passes,passed_at) ;;
	*) die $EX_REFUSED "database '$database' on $where has a table 'lock_fence' that is not rowlock's." \
		"Nothing was changed. Rename it, or use another database." ;;
	esac
}

optional_sql()
{
	session_sql
	for file in $optional_missing; do sed '/^--/d' "$sql/$file"; done
}

optional_status()
{
	echo "database '$database' on $where"
	for file in $(optional_files); do
		case " $optional_missing " in
		*" $file "*) state=missing ;;
		*) state=there ;;
		esac
		printf '%-16s %s\n' "$(optional_name $file)" $state
	done
	[ -z "$optional_missing" ] || exit $EX_MISSING
}

migrate_optional()
{
	look_at_optional
	case $mode in
	status) optional_status; return ;;
	dry) optional_sql; return ;;
	esac
	[ -n "$optional_missing" ] || {
		say "database '$database' on $where has its $optional"
		return
	}
	optional_sql >"$tmp/batch.sql"
	if ! client begun <"$tmp/batch.sql"; then
		# Another run made the procedure meanwhile.
		grep -q 'ERROR 1304 ' "$tmp/err" || {
			tell_errors || :
			advise
			die $EX_SERVER "making the $optional in database '$database' on $where stopped at the statement above." \
				"What was done stays; run it again when the reason is gone."
		}
	fi
	say "made the $optional in database '$database' on $where"
}
