/* SPDX-License-Identifier: MIT */
/*
 * The sources of a connection, merged.
 *
 * Connector/C takes a connection string or option files, and no suffix of their
 * groups. So all are read here, by the lines by which the library checks them
 * (config/dsn.c, config/option_file.c), each into a table of values, and what
 * remains of the tables is written as one string. Failure modes: what the
 * library would refuse is refused with the name of its source; a value may be
 * one that no connection string can express. Values are wiped after use.
 */
#include "sources.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "config/dsn.h"
#include "config/option_file.h"
#include "config/setting.h"
#include "dsn.h"

/* What one source says, by rlk_setting_number(). */
struct settings {
	const struct rlk_setting *keys[RLK_SETTINGS_MOST]; /* NULL: nothing */
	char *values[RLK_SETTINGS_MOST];                   /* NULL: no value */
	unsigned int named;
	bool failed; /* out of memory */
};

static void forget(struct settings *settings, size_t number)
{
	char *value = settings->values[number];

	if (value)
		explicit_bzero(value, strlen(value));
	free(value);
	settings->values[number] = NULL;
	settings->keys[number] = NULL;
}

static void settings_fini(struct settings *settings)
{
	for (size_t i = 0; i < RLK_SETTINGS_MOST; i++)
		forget(settings, i);
}

static void take(const struct rlk_setting *setting, const char *value,
		 void *arg)
{
	struct settings *settings = arg;
	size_t number = rlk_setting_number(setting);

	forget(settings, number);
	settings->keys[number] = setting;
	if (!value)
		return;
	settings->values[number] = strdup(value);
	if (!settings->values[number])
		settings->failed = true;
}

static int fail(struct rowlock_errinfo *reterr, int code, const char *format,
		...) RLK_PRINTF(3, 4);

static int fail(struct rowlock_errinfo *reterr, int code, const char *format,
		...)
{
	va_list args;

	if (!reterr)
		return code;
	reterr->code = code;
	reterr->mysql = 0;
	va_start(args, format);
	vsnprintf(reterr->message, sizeof(reterr->message), format, args);
	va_end(args);
	return code;
}

static bool says(const struct settings *settings, enum rlk_whom whom)
{
	return settings->named & 1u << whom;
}

/* A connection goes to one address. */
static void settle_address(struct settings *settings)
{
	if (says(settings, RLK_WHOM_SOCKET) && !says(settings, RLK_WHOM_HOST))
		settings->named |= 1u << RLK_WHOM_HOST | 1u << RLK_WHOM_PORT |
				   1u << RLK_WHOM_PROTOCOL;
}

static int read_string(const char *dsn, const char *from,
		       struct settings *settings,
		       struct rowlock_errinfo *reterr)
{
	const struct rlk_setting_taker taker = { take, settings };
	int r =
	    dsn ? rlk_dsn_read(dsn, from, &settings->named, &taker, reterr) : 0;

	settle_address(settings);
	return r;
}

/* Put @stronger over @settings; its values move. */
static void put_over(struct settings *settings, struct settings *stronger)
{
	for (size_t i = 0; i < RLK_SETTINGS_MOST; i++) {
		bool settled = i < RLK_WHOMS && says(stronger, i);

		if (!stronger->keys[i] && !settled)
			continue;
		forget(settings, i);
		settings->keys[i] = stronger->keys[i];
		settings->values[i] = TAKE_PTR(stronger->values[i]);
	}
	settings->named |= stronger->named;
	settings->failed |= stronger->failed;
}

static struct rlk_option_files files_of(const struct sources *sources)
{
	return (struct rlk_option_files){
		.file = sources->file,
		.group = "rowlock",
		.suffix = sources->suffix,
	};
}

static int read_files(const struct sources *sources,
		      const struct settings *strings, struct settings *settings,
		      struct rowlock_errinfo *reterr)
{
	const struct rlk_setting_taker taker = { take, settings };
	const char *host = strings->values[RLK_WHOM_HOST];
	struct rlk_option_files files = files_of(sources);

	files.told = strings->named;
	files.told_host =
	    says(strings, RLK_WHOM_HOST) && !host ? "localhost" : host;
	files.taker = &taker;
	return rlk_option_files_check(&files, &settings->named, reterr);
}

static int write_string(const struct settings *settings, FILE *out,
			struct rowlock_errinfo *reterr)
{
	for (size_t i = 0; i < RLK_SETTINGS_MOST; i++) {
		const struct rlk_setting *setting = settings->keys[i];

		if (setting &&
		    !dsn_append(out, setting->key, settings->values[i]))
			return fail(reterr, ROWLOCK_EINVAL,
				    "the option files' value of '%s' has '}' "
				    "at its end or twice in a row besides '=', "
				    "';' or '{': a connection string cannot "
				    "express that; choose another value",
				    setting->key);
	}
	dsn_finish(out);
	return 0;
}

/* Each character doubled, and the key and its quotes. */
static size_t size_of(const struct settings *settings)
{
	size_t size = 16;

	for (size_t i = 0; i < RLK_SETTINGS_MOST; i++) {
		if (settings->keys[i])
			size += strlen(settings->keys[i]->key) + 8;
		if (settings->values[i])
			size += 2 * strlen(settings->values[i]);
	}
	return size;
}

static int build(const struct settings *settings, char **ret_dsn,
		 struct rowlock_errinfo *reterr)
{
	size_t size = size_of(settings);
	char *dsn = settings->failed ? NULL : malloc(size);
	FILE *out = dsn ? fmemopen(dsn, size, "w") : NULL;
	int r;

	if (!out) {
		free(dsn);
		return fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	}
	/* Unbuffered: no copy of a password is left in a freed buffer. */
	setvbuf(out, NULL, _IONBF, 0);
	r = write_string(settings, out, reterr);
	if (fclose(out) != 0 && r == 0)
		r = fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	if (r < 0) {
		explicit_bzero(dsn, size);
		free(dsn);
		return r;
	}
	*ret_dsn = dsn;
	return 0;
}

int sources_read(const struct sources *sources, char **ret_dsn,
		 struct rowlock_errinfo *reterr)
{
	_cleanup_(settings_fini) struct settings argument = { 0 };
	_cleanup_(settings_fini) struct settings strings = { 0 };
	_cleanup_(settings_fini) struct settings all = { 0 };
	int r;

	r = read_string(sources->environment, "ROWLOCK_DSN", &strings, reterr);
	if (r == 0)
		r = read_string(sources->argument, "--dsn", &argument, reterr);
	if (r < 0)
		return r;
	put_over(&strings, &argument);
	r = read_files(sources, &strings, &all, reterr);
	if (r < 0)
		return r;
	put_over(&all, &strings);
	return build(&all, ret_dsn, reterr);
}

bool sources_say_nothing(const struct sources *sources)
{
	const unsigned int some = 1u << RLK_WHOM_HOST | 1u << RLK_WHOM_USER |
				  1u << RLK_WHOM_PASSWORD |
				  1u << RLK_WHOM_DATABASE;
	const struct rlk_option_files files = files_of(sources);
	unsigned int named;

	return !sources->argument && !sources->environment &&
	       rlk_option_files_check(&files, &named, NULL) == 0 &&
	       !(named & some);
}
