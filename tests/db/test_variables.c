/* SPDX-License-Identifier: MIT */
/*
 * src/db/variables.txt has a verdict for each variable of the servers that we
 * know. One that a later server brings is named, and fails nobody's tests but
 * those of who adds that server to the list.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "db/connect.h"
#include "db/stmt.h"
#include "db_test.h"

#define MOST 1000

static char *names[MOST];
static size_t count;
static char servers[200];

static void take_line(char *line, bool of_servers)
{
	if (of_servers) {
		snprintf(servers, sizeof(servers), "%s", line);
		return;
	}
	for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) {
		assert_true(count < MOST);
		names[count] = strdup(word);
		assert_non_null(names[count++]);
	}
}

static void read_list(void)
{
	char line[200], verdict[50] = "";
	FILE *list;

	while (count)
		free(names[--count]);
	snprintf(line, sizeof(line), "%s/src/db/variables.txt",
		 getenv("ROWLOCK_SOURCE"));
	list = fopen(line, "r");
	assert_non_null(list);
	while (fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line == '[')
			snprintf(verdict, sizeof(verdict), "%.40s", line);
		else if (*line && *line != '#')
			take_line(line, !strcmp(verdict, "[servers]"));
	}
	fclose(list);
	assert_true(count > 300);
}

static bool has_verdict(const char *variable)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strcspn(names[i], "*");

		if (names[i][length] == '*' &&
		    strncasecmp(names[i], variable, length) == 0)
			return true;
		if (strcasecmp(names[i], variable) == 0)
			return true;
	}
	return false;
}

CASE("each name stands once")
{
	read_list();
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(names[i], names[j]) == 0)
				fail_msg("%s has two verdicts", names[i]);
}

/* Is @version, "10.11.19-MariaDB", of a series in the list, and no later? */
static bool is_known(const char *version)
{
	unsigned int got[3];
	const char *at = servers;

	assert_int_equal(sscanf(version, "%u.%u.%u", &got[0], &got[1], &got[2]),
			 3);
	while (*at) {
		unsigned int last[3];
		int length;

		assert_int_equal(sscanf(at, "%u.%u.%u%n", &last[0], &last[1],
					&last[2], &length),
				 3);
		if (got[0] == last[0] && got[1] == last[1])
			return got[2] <= last[2];
		at += length;
		at += strspn(at, " ");
	}
	return false;
}

static const struct rlk_stmt_def version_of = {
	"version",
	"SELECT VERSION()",
};
static const struct rlk_stmt_def globals = {
	"variables",
	"SHOW GLOBAL VARIABLES",
};
static const struct rlk_stmt_def locals = {
	"variables",
	"SHOW SESSION VARIABLES",
};

static unsigned int seen, unknown;

static void look(const struct rlk_value *columns, void *arg)
{
	(void) arg;
	seen++;
	if (has_verdict(columns[0].text))
		return;
	unknown++;
	print_message("# no verdict: %s\n", columns[0].text);
}

CASE("each variable of the server has a verdict")
{
	const struct rlk_conn_target target = db_target(NULL);
	struct rlk_reply reply;
	struct rlk_conn *conn;
	char version[100];

	read_list();
	assert_int_equal(rlk_conn_open(&target, &db_lease,
				       db_in(test_patience_ms()), &conn, &err),
			 0);
	rlk_conn_set_until(conn, db_in(test_patience_ms()));
	assert_int_equal(rlk_stmt_run(conn, &version_of, NULL, &reply, &err),
			 RLK_DONE);
	snprintf(version, sizeof(version), "%s", reply.columns[0].text);
	assert_int_equal(rlk_stmt_each(conn, &globals, NULL, look, NULL, &err),
			 RLK_DONE);
	assert_int_equal(rlk_stmt_each(conn, &locals, NULL, look, NULL, &err),
			 RLK_DONE);
	rlk_conn_close(conn);
	print_message("# %s: %u looks, %u without a verdict\n", version, seen,
		      unknown);
	assert_true(seen > 500);
	assert_true(unknown == 0 || !is_known(version));
}

CASE_MAIN(db_main)
