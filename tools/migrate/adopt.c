/* SPDX-License-Identifier: MIT */
/*
 * What to do with tables that are there already.
 *
 * A business_lock table may come from programs that use the same scheme by
 * hand. What changes no meaning (a longer column, a default) is altered in one
 * ALTER, which InnoDB does whole or not at all. What changes which names are
 * equal, or the engine, is explained with the rows concerned and waits for
 * --convert-names. Rows that would not survive stop everything.
 */
#include "migrate/migrate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_TYPE                                                              \
	"VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"
#define INFO_TYPE "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL"
#define UTF8 "CONVERT(name USING utf8mb4)"

static void see_text(const struct rlk_value *columns, void *arg)
{
	snprintf(arg, 256, "%s", columns[0].text);
}

void refuse_foreign_tables(struct run *run)
{
	char table[256] = "";

	query(run,
	      "SELECT table_name FROM (SELECT t.table_name AS table_name, "
	      "MAX(t.engine) AS engine, GROUP_CONCAT(LOWER(c.column_name) "
	      "ORDER BY c.ordinal_position) AS cols FROM "
	      "information_schema.tables t JOIN information_schema.columns c "
	      "ON c.table_schema = t.table_schema AND c.table_name = "
	      "t.table_name WHERE t.table_schema = DATABASE() AND "
	      "t.table_name IN ('business_lease', 'lease_session', "
	      "'lock_token', 'lock_token_floor', 'lock_permits', "
	      "'rowlock_schema') GROUP BY t.table_name) x WHERE engine IS NULL "
	      "OR engine <> 'InnoDB' OR cols <> CASE table_name "
	      "WHEN 'business_lease' THEN 'name,slot,session,attempt,"
	      "acquired_at,expires_at,info,guards' "
	      "WHEN 'lease_session' THEN 'id,ttl,expires_at,beat,breaks,host,"
	      "pid,program,started_at' "
	      "WHEN 'lock_token' THEN CONCAT('strategy,name,token,drawn_at', "
	      "IF(cols LIKE '%,attempt', ',attempt', '')) "
	      "WHEN 'lock_token_floor' THEN 'id,token,raised_at' "
	      "WHEN 'lock_permits' THEN 'name,permits' "
	      "ELSE CONCAT('version,checksum,applied_at', "
	      "IF(cols LIKE '%,secret', ',secret', '')) END LIMIT 1",
	      see_text, table);
	if (*table)
		die(EXIT_REFUSED,
		    "database '%s' on %s has a table '%s' that is not "
		    "rowlock's. Nothing was changed. Rename it, or give "
		    "rowlock a database of its own",
		    run->database, run->where, table);
}

static void tell_row(const struct rlk_value *columns, void *arg)
{
	bool *any = arg;

	report(ROWLOCK_LOG_WARNING, "    %s", columns[0].text);
	*any = true;
}

/* Rows that migration 0002, which bounds tokens, could not take. */
void refuse_tokens(struct run *run)
{
	bool any = false;

	if (!run->has_tokens || *run->applied[2])
		return;
	query(run,
	      "SELECT CONCAT(strategy, ' ', QUOTE(name), ': ', token) FROM "
	      "lock_token WHERE token >= 9007199254740992 ORDER BY strategy, "
	      "name LIMIT 20",
	      tell_row, &any);
	if (any)
		die(EXIT_REFUSED,
		    "lock_token in database '%s' on %s has the tokens above, "
		    "of 2^53 or more. Nothing was changed. No server's clock "
		    "draws such a token before the year 2255: somebody has "
		    "written it. Have whatever compares tokens forget it, type "
		    "DELETE FROM lock_token WHERE token >= 9007199254740992; "
		    "and run this again",
		    run->database, run->where);
}

/* ------------------------------------------------------------------ shape */

struct column {
	bool there;
	char type[32], charset[32], collation[64];
	uint64_t length, precision;
	bool nullable, has_default;
};

struct shape {
	struct column name, info, created_at;
	char extra[65]; /* a column without default that is none of ours */
	char kind[32], engine[32], key[256], unique[65];
	bool prefix; /* the key is on a part of a column */
};

static void see_column(const struct rlk_value *columns, void *arg)
{
	struct shape *shape = arg;
	const char *name = columns[0].text;
	struct column *column =
	    strcmp(name, "name") == 0         ? &shape->name
	    : strcmp(name, "info") == 0       ? &shape->info
	    : strcmp(name, "created_at") == 0 ? &shape->created_at
					      : NULL;
	bool nullable = strcmp(columns[5].text, "YES") == 0;

	if (!column) {
		if (!nullable && !columns[7].u64 && !columns[8].u64)
			snprintf(shape->extra, sizeof(shape->extra), "%s",
				 name);
		return;
	}
	column->there = true;
	snprintf(column->type, sizeof(column->type), "%s", columns[1].text);
	column->length = columns[2].u64;
	snprintf(column->charset, sizeof(column->charset), "%s",
		 columns[3].text);
	snprintf(column->collation, sizeof(column->collation), "%s",
		 columns[4].text);
	column->nullable = nullable;
	column->precision = columns[6].u64;
	column->has_default = columns[7].u64;
}

static void see_table(const struct rlk_value *columns, void *arg)
{
	struct shape *shape = arg;

	snprintf(shape->kind, sizeof(shape->kind), "%s", columns[0].text);
	snprintf(shape->engine, sizeof(shape->engine), "%s", columns[1].text);
}

static void see_key(const struct rlk_value *columns, void *arg)
{
	struct shape *shape = arg;

	if (strcmp(columns[0].text, "PRIMARY") != 0) {
		snprintf(shape->unique, sizeof(shape->unique), "%s",
			 columns[0].text);
		return;
	}
	snprintf(shape->key, sizeof(shape->key), "%s", columns[1].text);
	shape->prefix = columns[2].u64;
}

static void look_at_shape(struct run *run, struct shape *shape)
{
	query(run,
	      "SELECT LOWER(column_name), data_type, "
	      "CAST(IFNULL(character_maximum_length, 0) AS UNSIGNED), "
	      "IFNULL(character_set_name, '-'), IFNULL(collation_name, '-'), "
	      "is_nullable, CAST(IFNULL(datetime_precision, 0) AS UNSIGNED), "
	      "column_default IS NOT NULL, extra LIKE '%auto_increment%' OR "
	      "extra LIKE '%GENERATED%' FROM information_schema.columns WHERE "
	      "table_schema = DATABASE() AND table_name = 'business_lock'",
	      see_column, shape);
	query(run,
	      "SELECT table_type, IFNULL(engine, '-') FROM "
	      "information_schema.tables WHERE table_schema = DATABASE() AND "
	      "table_name = 'business_lock'",
	      see_table, shape);
	query(run,
	      "SELECT index_name, LOWER(GROUP_CONCAT(column_name ORDER BY "
	      "seq_in_index)), CAST(IFNULL(MAX(sub_part), 0) AS UNSIGNED) FROM "
	      "information_schema.statistics WHERE table_schema = DATABASE() "
	      "AND table_name = 'business_lock' AND non_unique = 0 GROUP BY "
	      "index_name",
	      see_key, shape);
}

static void refuse(const struct run *run, const char *problem,
		   const char *remedy)
{
	die(EXIT_REFUSED,
	    "business_lock in database '%s' on %s is not usable as it is: %s. "
	    "Nothing was changed. %s",
	    run->database, run->where, problem, remedy);
}

static bool is_one_of(const char *type, const char *list)
{
	const char *at = strstr(list, type);
	size_t length = strlen(type);

	return at && (at == list || at[-1] == ' ') &&
	       (at[length] == ' ' || !at[length]);
}

static void check_shape(const struct run *run, const struct shape *shape)
{
	if (!strstr(shape->kind, "BASE TABLE"))
		refuse(run, "it is not a table", "Rename it.");
	if (!shape->name.there || !shape->info.there ||
	    !shape->created_at.there)
		refuse(run, "a column is missing",
		       "It needs: name " NAME_TYPE " PRIMARY KEY, info "
		       "VARCHAR(255) NULL, created_at DATETIME(6) NOT NULL "
		       "DEFAULT CURRENT_TIMESTAMP(6).");
	if (strcmp(shape->key, "name") != 0 || shape->prefix)
		refuse(run, "its primary key is not the column 'name'",
		       "Make it so: without it, a lock on one name is a lock "
		       "on many.");
	if (*shape->unique)
		refuse(run, "it has a unique key of its own",
		       "Drop it: more than one unique key lets the INSERTs of "
		       "two programs deadlock.");
	if (*shape->extra)
		refuse(run, "one of its other columns has no default",
		       "rowlock inserts name, info and created_at only: give "
		       "it a default, or allow NULL.");
	if (!is_one_of(shape->name.type, "varchar char varbinary"))
		refuse(run, "its column 'name' is no text",
		       "Make it VARCHAR(100).");
	if (!is_one_of(shape->info.type,
		       "char varchar tinytext text mediumtext longtext"))
		refuse(run, "its column 'info' is no text",
		       "Make it VARCHAR(255).");
	if (!is_one_of(shape->created_at.type, "datetime timestamp"))
		refuse(run, "its column 'created_at' is no time",
		       "Make it DATETIME(6).");
}

/* ---------------------------------------------------------------- changes */

static void add(char (*to)[1024], const char *format, ...) RLK_PRINTF(2, 3);

static void add(char (*to)[1024], const char *format, ...)
{
	size_t length = strlen(*to);
	va_list args;

	snprintf(*to + length, sizeof(*to) - length, "%s", length ? ", " : "");
	length = strlen(*to);
	va_start(args, format);
	vsnprintf(*to + length, sizeof(*to) - length, format, args);
	va_end(args);
}

/* The changes of the ALTER, and the reasons why the user has to agree. */
static void plan_changes(const struct shape *shape, char (*changes)[1024],
			 char (*reasons)[1024])
{
	const struct column *name = &shape->name, *info = &shape->info;
	const struct column *made = &shape->created_at;
	bool same = strcmp(name->type, "varchar") == 0 &&
		    strcmp(name->collation, "utf8mb4_bin") == 0;

	if (!same || name->length != 100 || name->nullable)
		add(changes, "MODIFY name %s", NAME_TYPE);
	if (!same || name->length > 100)
		add(reasons, "name is %s; it has to be varchar(100), "
			     "utf8mb4_bin",
		    name->collation);
	if (strcmp(info->type, "varchar") != 0 || info->length != 255 ||
	    strcmp(info->charset, "utf8mb4") != 0 || !info->nullable)
		add(changes, "MODIFY info %s", INFO_TYPE);
	if (info->length > 255)
		add(reasons, "info is a longer %s; it has to be varchar(255), "
			     "so that longer texts are refused",
		    info->type);
	if (strcmp(made->type, "datetime") != 0 || made->precision != 6 ||
	    (!made->nullable && !made->has_default))
		add(changes,
		    "MODIFY created_at DATETIME(6) %s DEFAULT "
		    "CURRENT_TIMESTAMP(6)",
		    made->nullable ? "NULL" : "NOT NULL");
	if (strcmp(shape->engine, "InnoDB") != 0) {
		add(changes, "ENGINE=%s", "InnoDB");
		add(reasons, "the engine is %s, which locks no rows; it has "
			     "to be InnoDB",
		    shape->engine);
	}
}

/* Prints @words and the names that @sql finds, 20 at the most. */
static bool tell_names(struct run *run, const char *words, const char *sql)
{
	char text[512];
	bool any = false;

	snprintf(text, sizeof(text), "%s LIMIT 20", sql);
	query(run, text, tell_row, &any);
	if (any)
		report(ROWLOCK_LOG_WARNING, "(the first 20) %s", words);
	return any;
}

static void explain(struct run *run, const struct shape *shape,
		    const char *reasons)
{
	bool blind = !strstr(shape->name.collation, "_bin") &&
		     strcmp(shape->name.collation, "-") != 0;
	bool bad = false;

	report(ROWLOCK_LOG_WARNING,
	       "business_lock in database '%s' on %s has to be converted: %s",
	       run->database, run->where, reasons);
	if (blind)
		tell_names(run,
			   "are stored with capitals or accents. Today names "
			   "that differ only in these are one lock; afterwards "
			   "they are two. Do all programs write them so?",
			   "SELECT QUOTE(" UTF8 ") FROM business_lock WHERE "
			   "CAST(LOWER(" UTF8 ") AS BINARY) <> CAST(" UTF8
			   " AS BINARY) OR LENGTH(" UTF8
			   ") <> CHAR_LENGTH(" UTF8 ") ORDER BY name");
	tell_names(run, "end in a blank, which rowlock refuses in a name",
		   "SELECT QUOTE(" UTF8 ") FROM business_lock WHERE " UTF8
		   " LIKE '% '");
	if (strcmp(shape->name.type, "varbinary") == 0)
		bad |= tell_names(run, "are not UTF-8",
				  "SELECT CONCAT('0x', HEX(name)) FROM "
				  "business_lock WHERE NOT (CAST(" UTF8
				  " AS BINARY) <=> CAST(name AS BINARY))");
	bad |= tell_names(run, "are longer than 100 characters",
			  "SELECT QUOTE(" UTF8 ") FROM business_lock WHERE "
			  "CHAR_LENGTH(" UTF8 ") > 100");
	bad |= tell_names(run, "have an info longer than 255 characters",
			  "SELECT QUOTE(" UTF8 ") FROM business_lock WHERE "
			  "CHAR_LENGTH(info) > 255");
	bad |= tell_names(run, "would become the same name",
			  "SELECT GROUP_CONCAT(QUOTE(" UTF8
			  ") SEPARATOR ' and ') FROM business_lock GROUP "
			  "BY " UTF8 " COLLATE utf8mb4_bin HAVING COUNT(*) > "
			  "1");
	if (bad)
		die(EXIT_REFUSED,
		    "Rows above cannot be converted. Nothing was changed. "
		    "Change or delete them, then run this again");
	if (!run->convert)
		die(EXIT_REFUSED,
		    "Nothing was changed. To convert it, run this again with "
		    "--convert-names");
}

void plan_adoption(struct run *run)
{
	struct shape shape = { .prefix = false };
	char changes[1024] = "", reasons[1024] = "";

	run->adopt[0] = '\0';
	if (!run->has_business_lock)
		return;
	look_at_shape(run, &shape);
	check_shape(run, &shape);
	plan_changes(&shape, &changes, &reasons);
	if (*changes)
		snprintf(run->adopt, sizeof(run->adopt),
			 "ALTER TABLE business_lock %.900s", changes);
	if (*reasons)
		explain(run, &shape, reasons);
}
