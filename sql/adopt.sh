# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Read by rowlock-migrate: what to do with tables that are there already.
#
# A business_lock table may come from programs that use the same scheme by
# hand. What changes no meaning (a longer column, a default) is altered
# silently in one ALTER, which InnoDB does whole or not at all. What changes
# which names are equal, or the engine, is explained with the rows concerned
# and waits for --convert-names. Rows that would not survive stop everything.
#
# Uses query(), warn(), die(), $tables, $database, $where, $convert, $tmp of
# rowlock-migrate.
# shellcheck disable=SC2154,SC2086,SC2034

readonly NAME_TYPE='VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL'
readonly INFO_TYPE='VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL'

# refuse_foreign_tables NAME...: those that a killed run of ours did not make.
refuse_foreign_tables()
{
	query >"$tmp/foreign" <<-SQL
	SELECT table_name FROM (
		SELECT t.table_name AS table_name, MAX(t.engine) AS engine,
			GROUP_CONCAT(LOWER(c.column_name) ORDER BY c.ordinal_position) AS cols
		FROM information_schema.tables t
		JOIN information_schema.columns c
			ON c.table_schema = t.table_schema AND c.table_name = t.table_name
		WHERE t.table_schema = DATABASE() AND t.table_name IN
			('$(echo "$*" | sed "s/ /','/g")')
		GROUP BY t.table_name) x
	WHERE engine IS NULL OR engine <> 'InnoDB' OR cols <> CASE table_name
		WHEN 'business_lease' THEN 'name,slot,session,attempt,acquired_at,expires_at,info,guards'
		WHEN 'lease_session' THEN 'id,ttl,expires_at,beat,breaks,host,pid,program,started_at'
		WHEN 'lock_token' THEN CONCAT('strategy,name,token,drawn_at',
			IF(cols LIKE '%,attempt', ',attempt', ''))
		WHEN 'lock_token_floor' THEN 'id,token,raised_at'
		WHEN 'lock_permits' THEN 'name,permits'
		ELSE CONCAT('version,checksum,applied_at',
			IF(cols LIKE '%,secret', ',secret', '')) END;
	SQL
	while read -r table; do
		die $EX_REFUSED "database '$database' on $where has a table '$table' that is not rowlock's." \
			"Nothing was changed. Rename it, or give rowlock a database of its own."
	done <"$tmp/foreign"
}

# Before 0002, which bounds tokens: the rows that it could not take.
refuse_tokens()
{
	case $tables in *' lock_token '*) ;; *) return 0 ;; esac
	query >"$tmp/tokens" <<-'SQL'
	SELECT strategy, QUOTE(name), token FROM lock_token
	WHERE token >= 9007199254740992 ORDER BY strategy, name LIMIT 20;
	SQL
	[ -s "$tmp/tokens" ] || return 0
	warn "lock_token in database '$database' on $where has tokens of 2^53 or more (the first 20):"
	awk -F '\t' '{ print "    " $1 " " $2 ": " $3 }' "$tmp/tokens" >&2
	die $EX_REFUSED "Nothing was changed. No server's clock draws such a token before the year 2255: somebody has" \
		"written it. Have whatever has seen it (what compares tokens) forget it, type" \
		"    DELETE FROM lock_token WHERE token >= 9007199254740992;" \
		"and run this again. These names then draw tokens from the server's clock again."
}

look_at_columns()
{
	query >"$tmp/columns" <<-'SQL'
	SELECT LOWER(column_name), data_type, IFNULL(character_maximum_length, 0),
		IFNULL(character_set_name, '-'), IFNULL(collation_name, '-'),
		is_nullable, IFNULL(datetime_precision, 0),
		IF(column_default IS NULL, 'none', 'default'),
		IF(extra = '', '-', REPLACE(extra, ' ', '_'))
	FROM information_schema.columns
	WHERE table_schema = DATABASE() AND table_name = 'business_lock';
	SELECT 'table:', table_type, IFNULL(engine, '-') FROM information_schema.tables
	WHERE table_schema = DATABASE() AND table_name = 'business_lock';
	SELECT 'key:', LOWER(GROUP_CONCAT(column_name ORDER BY seq_in_index)),
		IFNULL(MAX(sub_part), 0)
	FROM information_schema.statistics
	WHERE table_schema = DATABASE() AND table_name = 'business_lock'
		AND index_name = 'PRIMARY';
	SELECT 'unique:', index_name FROM information_schema.statistics
	WHERE table_schema = DATABASE() AND table_name = 'business_lock'
		AND non_unique = 0 AND index_name <> 'PRIMARY' LIMIT 1;
	SQL
}

# column NAME: its line, or nothing
column() { awk -v c="$1" '$1 == c { $1 = ""; print }' "$tmp/columns"; }

refuse_table()
{
	die $EX_REFUSED "business_lock in database '$database' on $where is not usable as it is: $1." \
		"Nothing was changed. $2"
}

check_shape()
{
	case $(column table:) in
	*BASE*TABLE*) ;;
	*) refuse_table "it is not a table" "Rename it." ;;
	esac
	for c in name info created_at; do
		[ -n "$(column $c)" ] || refuse_table "it has no column '$c'" \
			"Add it: name $NAME_TYPE PRIMARY KEY, info VARCHAR(255) NULL, created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)."
	done
	[ "$(column key:)" = ' name 0' ] || refuse_table \
		"its primary key is not the column 'name'" \
		"Make it so: without it, a lock on one name is a lock on many."
	[ -z "$(column unique:)" ] || refuse_table \
		"it has a unique key of its own,$(column unique:)" \
		"Drop it: more than one unique key lets the INSERTs of two programs deadlock."
	extra=$(awk '$1 !~ /^(name|info|created_at|table:|key:|unique:)$/ && $6 == "NO" &&
		$8 == "none" && $9 !~ /auto_increment|GENERATED/ { print $1; exit }' "$tmp/columns")
	[ -z "$extra" ] || refuse_table "its column '$extra' has no default" \
		"rowlock inserts name, info and created_at only: give '$extra' a default or allow NULL."
}

# Sets: changes (of the ALTER), reasons (why the user has to agree), blind (the
# names are compared without case or accents), binary (their bytes may be no
# UTF-8).
plan_changes()
{
	changes='' reasons='' blind=0 binary=0
	read -r type len _ coll null _ <<-LINE
	$(column name)
	LINE
	case $type in
	varchar | char | varbinary) ;;
	*) refuse_table "its column 'name' is of type $type" "Make it VARCHAR(100)." ;;
	esac
	[ "$type $len $coll $null" = 'varchar 100 utf8mb4_bin NO' ] ||
		changes="MODIFY name $NAME_TYPE"
	if [ "$type $coll" != 'varchar utf8mb4_bin' ] || [ "$len" -gt 100 ]; then
		reasons="name is $type($len), collation $coll; it has to be varchar(100), utf8mb4_bin"
	fi
	[ "$type" != varbinary ] || binary=1
	case $coll in *_bin | -) ;; *) blind=1 ;; esac
	plan_info
	plan_created_at
	engine=$(column table: | awk '{ print $NF }')
	if [ "$engine" != InnoDB ]; then
		changes="${changes:+$changes, }ENGINE=InnoDB"
		reasons="${reasons:+$reasons; }the engine is $engine, which locks no rows; it has to be InnoDB"
	fi
}

plan_info()
{
	read -r type len charset _ null _ <<-LINE
	$(column info)
	LINE
	case $type in
	char | varchar | tinytext | text | mediumtext | longtext) ;;
	*) refuse_table "its column 'info' is of type $type" "Make it VARCHAR(255)." ;;
	esac
	[ "$type $len $charset $null" = 'varchar 255 utf8mb4 YES' ] ||
		changes="${changes:+$changes, }MODIFY info $INFO_TYPE"
	[ "$len" -le 255 ] ||
		reasons="${reasons:+$reasons; }info is $type($len); it has to be varchar(255), so that longer texts are refused"
}

plan_created_at()
{
	read -r type _ _ _ null precision default _ <<-LINE
	$(column created_at)
	LINE
	case $type in
	datetime | timestamp) ;;
	*) refuse_table "its column 'created_at' is of type $type" "Make it DATETIME(6)." ;;
	esac
	case "$type $precision $null $default" in
	'datetime 6 YES '* | 'datetime 6 NO default') return ;;
	esac
	if [ "$null" = YES ]; then null=NULL; else null='NOT NULL'; fi
	changes="${changes:+$changes, }MODIFY created_at DATETIME(6) $null DEFAULT CURRENT_TIMESTAMP(6)"
}

# Rows that matter for a conversion of the names, one kind per line:
# KIND<tab>NAME. 20 of each are enough to see what is meant.
look_at_names()
{
	u='CONVERT(name USING utf8mb4)'
	query >"$tmp/names" <<-SQL
	SELECT 'bad', CONCAT('0x', HEX(name)) FROM business_lock
		WHERE $binary AND NOT (CAST($u AS BINARY) <=> CAST(name AS BINARY)) LIMIT 20;
	SELECT 'long', QUOTE($u) FROM business_lock WHERE CHAR_LENGTH($u) > 100 LIMIT 20;
	SELECT 'info', QUOTE($u) FROM business_lock WHERE CHAR_LENGTH(info) > 255 LIMIT 20;
	SELECT 'meet', GROUP_CONCAT(QUOTE($u) SEPARATOR ' and ') FROM business_lock
		GROUP BY $u COLLATE utf8mb4_bin HAVING COUNT(*) > 1 LIMIT 20;
	SELECT 'blank', QUOTE($u) FROM business_lock WHERE $u LIKE '% ' LIMIT 20;
	SELECT 'spelled', QUOTE($u) FROM business_lock WHERE $blind AND
		(CAST(LOWER($u) AS BINARY) <> CAST($u AS BINARY) OR
		LENGTH($u) <> CHAR_LENGTH($u)) ORDER BY name LIMIT 20;
	SELECT 'rows', COUNT(*) FROM business_lock;
	SQL
}

# names KIND TEXT: print TEXT and the names of that kind; false if there are none
names()
{
	kind=$1
	shift
	grep -q "^$kind	" "$tmp/names" || return 1
	warn "$@"
	sed -n "s/^$kind	/    /p" "$tmp/names" >&2
}

explain()
{
	warn "business_lock in database '$database' on $where has to be converted:"
	warn "$reasons."
	warn "It has $(sed -n 's/^rows	//p' "$tmp/names") rows; none is removed."
	if [ $blind = 1 ]; then
		warn "What changes: today names that differ only in case or accents are one lock." \
			"Afterwards they are two. A program that asks for another spelling than the one" \
			"that is stored finds no row then, so it does not exclude the others any more."
		names spelled "Stored with capitals or accents (the first 20): do all programs write them so?" || :
	fi
	names blank "These end in a blank, which rowlock refuses in a name; other programs may go on" \
		"using them, as the same lock as the name without the blank:" || :
}

refuse_rows()
{
	bad=0
	! names bad "These names are not UTF-8:" || bad=1
	! names long "These names are longer than 100 characters:" || bad=1
	! names info "Their info is longer than 255 characters:" || bad=1
	! names meet "These would become the same name:" || bad=1
	[ $bad = 0 ] || die $EX_REFUSED "Rows above cannot be converted. Nothing was changed." \
		"Change or delete them, then run this again."
}

# Sets adopt_sql: the ALTER that business_lock needs, or nothing.
plan_adoption()
{
	adopt_sql=
	case $tables in *' business_lock '*) ;; *) return 0 ;; esac
	look_at_columns
	check_shape
	plan_changes
	[ -z "$changes" ] || adopt_sql="ALTER TABLE business_lock $changes;"
	[ -n "$reasons" ] || return 0
	look_at_names
	explain
	refuse_rows
	[ "$convert" = 1 ] || die $EX_REFUSED \
		"Nothing was changed. To convert it, run this again with --convert-names."
}
