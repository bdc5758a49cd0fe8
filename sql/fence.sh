# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Read by rowlock-migrate: --fence-only, the one table and the procedure that a
# database needs whose data are protected by tokens of locks elsewhere.
#
# Uses query(), client(), session_sql(), plain(), say(), warn(), die(), $mode,
# $sql, $database, $where, $tmp of rowlock-migrate.
# shellcheck disable=SC2154,SC2086

# Sets fence_missing: the files to run.
look_at_fence()
{
	query >"$tmp/fence" <<-'SQL'
	SELECT 'table', GROUP_CONCAT(LOWER(column_name) ORDER BY ordinal_position)
	FROM information_schema.columns
	WHERE table_schema = DATABASE() AND table_name = 'lock_fence';
	SELECT 'procedure', COUNT(*) FROM information_schema.routines
	WHERE routine_schema = DATABASE() AND routine_type = 'PROCEDURE'
		AND routine_name = 'rowlock_fence';
	SQL
	fence_missing=
	case $(awk -F '\t' '$1 == "table" { print $2 }' "$tmp/fence") in
	NULL) fence_missing=fence.sql ;;
	resource,token,passes,passed_at) ;;
	*) die $EX_REFUSED "database '$database' on $where has a table 'lock_fence' that is not rowlock's." \
		"Nothing was changed. Rename it, or use another database." ;;
	esac
	[ "$(awk -F '\t' '$1 == "procedure" { print $2 }' "$tmp/fence")" != 0 ] ||
		fence_missing="$fence_missing fence_procedure.sql"
}

fence_sql()
{
	session_sql
	for file in $fence_missing; do sed '/^--/d' "$sql/$file"; done
}

fence_status()
{
	echo "database '$database' on $where"
	for file in fence.sql fence_procedure.sql; do
		case $file in
		fence.sql) printf 'lock_fence       ' ;;
		*) printf 'rowlock_fence()  ' ;;
		esac
		case " $fence_missing " in
		*" $file "*) echo missing ;;
		*) echo there ;;
		esac
	done
	[ -z "$fence_missing" ] || exit $EX_MISSING
}

migrate_fence()
{
	look_at_fence
	case $mode in
	status) fence_status; return ;;
	dry) fence_sql; return ;;
	esac
	[ -n "$fence_missing" ] || {
		say "database '$database' on $where has its fence"
		return
	}
	fence_sql >"$tmp/batch.sql"
	if ! client <"$tmp/batch.sql" >/dev/null 2>"$tmp/err"; then
		# Another run made the procedure meanwhile.
		grep -q 'ERROR 1304 ' "$tmp/err" || {
			sed 's/^--*$//; /^$/d' "$tmp/err" | plain >&2
			die $EX_SERVER "making the fence in database '$database' on $where stopped at the statement above." \
				"What was done stays; run it again when the reason is gone."
		}
	fi
	say "made the fence in database '$database' on $where"
}
