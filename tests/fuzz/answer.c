/* SPDX-License-Identifier: MIT */
/*
 * A server that has let us in, and then answers whatever it likes: results with
 * wrong counts and lengths, types that do not exist, more or less than was
 * asked. Each call has to come back, and to do no more harm than a lie.
 *
 * An input: one byte for what is asked, then what is said, in turn: its length
 * in two bytes, and the bytes. With an odd byte the peer says the session
 * before that, as a server has said it (corpus/session); else all of it is the
 * input's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "db/conn.h"
#include "db/connect.h"
#include "db/packet.h"
#include "db/stmt.h"
#include "fuzz.h"
#include "peer.h"

#define DEADLINE_MS 2000

static const struct rlk_conn_profile profile = { "lease", true, 1,
						 30,      true, false };

static const struct rlk_stmt_def columns = {
	"columns",
	"SELECT name, slot, attempt, acquired_at, info, session, NULL, "
	"CURRENT_DATE, TIMEDIFF(UTC_TIMESTAMP(6), acquired_at), 1.5, ? FROM "
	"business_lease WHERE name LIKE ? ORDER BY name",
};
static const struct rlk_stmt_def change = {
	"change",
	"UPDATE business_lease SET attempt = LAST_INSERT_ID(attempt) "
	"WHERE name LIKE ?",
};
static const struct rlk_stmt_def once = {
	"once", "SELECT COUNT(*), 'word' FROM business_lease WHERE name = ?",
	true
};
static const struct rlk_many_def take = {
	"take",
	"UPDATE business_lease SET info = info WHERE name IN ({?0|, })",
};
static const struct rlk_many_def look = {
	"look",
	"SELECT name, attempt, acquired_at FROM business_lease WHERE name IN "
	"({?0|, }) OR name LIKE 'fuzz%' ORDER BY name",
};

static unsigned int port;
static unsigned char session[16384];
static size_t session_size;
static unsigned int opened; /* sessions that were let in */
static size_t used;         /* bytes of their answers */

/* Looks at every byte of it. */
static void use(const struct rlk_value *values, void *arg)
{
	(void) arg;
	for (int i = 0; i < RLK_STMT_COLUMNS; i++)
		if (values[i].type == RLK_TEXT)
			used += strlen(values[i].text);
}

static void run_one(struct rlk_conn *conn, const struct rlk_stmt_def *def)
{
	const struct rlk_value params[] = { rlk_text("fuzz%"),
					    rlk_text("fuzz%") };
	struct rowlock_errinfo error = { 0 };
	struct rlk_reply reply;

	if (rlk_stmt_run(conn, def, params, &reply, &error) == RLK_DONE)
		use(reply.columns, NULL);
}

static void run_each(struct rlk_conn *conn)
{
	const struct rlk_value params[] = { rlk_text("fuzz%"),
					    rlk_text("fuzz%") };
	struct rowlock_errinfo error = { 0 };

	rlk_stmt_each(conn, &columns, params, use, NULL, &error);
}

static void values_of(const void *rows, size_t row, struct rlk_value *values)
{
	(void) rows;
	values[0] = rlk_text(row ? "fuzz-b" : "fuzz-a");
}

static void run_packet(struct rlk_conn *conn)
{
	struct rlk_packet *packet = rlk_packet_begin(conn);
	struct rowlock_errinfo error = { 0 };
	int statements[3];

	statements[0] = rlk_packet_add(packet, &look, values_of, NULL, 2);
	statements[1] = rlk_packet_add(packet, &take, values_of, NULL, 2);
	statements[2] = rlk_packet_add(packet, &look, values_of, NULL, 1);
	rlk_packet_run(packet, &error);
	for (size_t i = 0; i < rlk_packet_answered(packet); i++)
		rlk_packet_each(packet, statements[i], use, NULL);
}

static void ask(struct rlk_conn *conn, unsigned int kind)
{
	struct rowlock_errinfo error = { 0 };

	switch (kind % 4) {
	case 0: /* once to learn the columns, once with them in mind */
		run_one(conn, &columns);
		run_each(conn);
		break;
	case 1:
		run_packet(conn);
		run_packet(conn);
		break;
	case 2:
		run_one(conn, &once);
		rlk_conn_ping(conn, &error);
		run_one(conn, &once);
		break;
	default:
		run_one(conn, &change);
		run_one(conn, &change);
	}
}

int fuzz_ask(const char *dsn, unsigned int kind)
{
	struct rlk_conn_target target = { .clock = rlk_clock_real() };
	struct rowlock_errinfo error = { 0 };
	struct rlk_conn *conn = NULL;
	int64_t until = rlk_now(target.clock) + DEADLINE_MS;

	target.sources.dsn = dsn;
	target.sources.no_files = true;
	if (rlk_conn_open(&target, &profile, until, &conn, &error) == 0) {
		opened++;
		ask(conn, kind);
	}
	rlk_conn_close(conn);
	fuzz_came_back(rlk_now(target.clock) - until);
	return error.code ? 1 : 0;
}

static void start(void)
{
	const char *source = getenv("ROWLOCK_SOURCE");
	char path[2048];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/session",
		 source ? source : ".");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = read(fd, session, sizeof(session));
	if (size <= 0)
		fuzz_broken("%s cannot be read", path);
	session_size = (size_t) size;
	close(fd);
	port = peer_start();
}

static void run(const unsigned char *bytes, size_t size)
{
	const bool recorded = size && bytes[0] % 2;
	const struct peer_part input = { bytes + 1, size ? size - 1 : 0,
					 false };
	const struct peer_part parts[] = {
		recorded ? (struct peer_part){ session, session_size, false }
			 : input,
		recorded ? input : (struct peer_part){ NULL, 0, false },
		{ NULL, 0, false },
	};
	char dsn[300];

	if (!size)
		return;
	snprintf(dsn, sizeof(dsn),
		 "host=127.0.0.1;port=%u;user=u;password=p;database=rowlock",
		 port);
	peer_play(parts);
	fuzz_ask(dsn, bytes[0] / 2);
	peer_heard("");
	fuzz_watch_memory(fuzz_answer.few);
}

static void stop(void)
{
	peer_stop();
	if (!opened || !used)
		fuzz_broken("no recorded session is taken for one any more: "
			    "make new ones with tests/fuzz/record");
}

const struct fuzz_target fuzz_answer = {
	.name = "answer",
	.begin = start,
	.run = run,
	.end = stop,
	.few = 500,
};
