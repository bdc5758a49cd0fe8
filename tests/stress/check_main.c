// SPDX-License-Identifier: MIT
/*
 * check [--faults] [--fair] FILE...: read the histories that the workers of
 * one stress run wrote, judge them, print what was found.
 *
 * Exit status: 0 no violation, 1 violations, 2 nothing to judge (no files,
 * not readable, no hold at all).
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <rowlock.h>

#include "check.h"

struct records {
	struct history_record *all;
	size_t n;
	size_t room;
};

/* Append what is in @path. A torn record at the end is that of a process
 * killed inside write(): it tells nothing. */
static int read_file(struct records *records, const char *path)
{
	FILE *file = fopen(path, "re");

	if (!file) {
		perror(path);
		return -1;
	}
	for (;;) {
		if (records->n == records->room) {
			records->room =
			    records->room ? records->room * 2 : 4096;
			records->all =
			    realloc(records->all,
				    records->room * sizeof(*records->all));
			if (!records->all)
				abort();
		}
		if (fread(&records->all[records->n], sizeof(*records->all), 1,
			  file) != 1)
			break;
		records->n++;
	}
	fclose(file);
	return 0;
}

static void print_errors(const struct check_result *result)
{
	int code;

	for (code = 1; code < CHECK_CODES; code++)
		if (result->errors[code])
			printf("  %llu times: %s\n",
			       (unsigned long long) result->errors[code],
			       rowlock_strerror(-code));
}

static void print_result(const struct check_result *r)
{
	double per_second = r->seconds > 0 ? (double) r->holds / r->seconds : 0;

	printf("%llu holds in %.1f s (%.0f per second), %llu tokens, "
	       "%llu lost\n",
	       (unsigned long long) r->holds, r->seconds, per_second,
	       (unsigned long long) r->tokens, (unsigned long long) r->lost);
	printf("%llu threads, holds per thread: fewest %llu, mean %.1f, most "
	       "%llu\n",
	       (unsigned long long) r->threads, (unsigned long long) r->fewest,
	       r->mean, (unsigned long long) r->most);
	print_errors(r);
	printf("double holds %llu, tokens out of order %llu, errors that must "
	       "not be %llu, starved threads %llu, broken records %llu\n",
	       (unsigned long long) r->double_holds,
	       (unsigned long long) r->token_disorder,
	       (unsigned long long) r->forbidden_errors,
	       (unsigned long long) r->unfair, (unsigned long long) r->broken);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "faults", no_argument, NULL, 'f' },
		{ "fair", no_argument, NULL, 'F' },
		{ NULL, 0, NULL, 0 },
	};
	struct check_rules rules = { .out = stdout };
	struct records records = { NULL, 0, 0 };
	struct check_result result;
	bool good;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == '?')
			return 2;
		rules.faults |= option == 'f';
		rules.fair |= option == 'F';
	}
	for (; optind < argc; optind++)
		if (read_file(&records, argv[optind]))
			return 2;
	if (!records.n) {
		fprintf(stderr, "check: no records in the files given\n");
		return 2;
	}
	good = check_history(records.all, records.n, &rules, &result);
	free(records.all);
	print_result(&result);
	if (!result.holds) {
		fprintf(stderr, "check: nobody ever held anything\n");
		return 2;
	}
	return good ? 0 : 1;
}
