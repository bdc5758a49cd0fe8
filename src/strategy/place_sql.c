/* SPDX-License-Identifier: MIT */
#include "strategy/place_sql.h"

#include <stdio.h>
#include <string.h>

#include "db/borrowed_script.h"
#include "db/conn.h"
#include "db/server.h"

void rlk_place_learn(const struct rlk_conn *conn, struct rlk_place *ret_place)
{
	const struct rlk_server *server = rlk_conn_server(conn);

	snprintf(ret_place->schema, sizeof(ret_place->schema), "%s",
		 rlk_conn_schema(conn));
	snprintf(ret_place->server, sizeof(ret_place->server), "%s",
		 server->identity);
	ret_place->identity = rlk_server_many_writers(server)
				  ? NULL
				  : rlk_server_identity_sql(server);
	ret_place->catch_up = rlk_server_catch_up(server);
}

bool rlk_place_asks_to_catch_up(const struct rlk_place *place)
{
	return *place->catch_up->select != '\0';
}

void rlk_place_put_is_here(struct rlk_script *script,
			   const struct rlk_place *place, const char *server)
{
	struct rlk_value name = rlk_text(server);

	/* Behind that is when it was started. */
	name.length = strcspn(server, "@");
	rlk_script_put(script, place->identity ? place->identity : "1");
	rlk_script_put(script, " = ");
	rlk_script_put_value(script, place->identity ? name : rlk_u64(1));
}

enum rlk_fault rlk_place_ask_number(const struct rlk_place *place,
				    const char *server,
				    const struct rlk_borrowed *on,
				    bool *ret_numbered,
				    struct rowlock_errinfo *reterr)
{
	struct rlk_script text = { .failed = false };
	uint64_t number = 0;
	enum rlk_fault fault;
	size_t answered;

	rlk_script_put(&text, "SELECT CONNECTION_ID() = ");
	rlk_script_put_value(&text, rlk_u64(rlk_borrowed_id(on)));
	rlk_script_put(&text, " AND ");
	rlk_place_put_is_here(&text, place, server);
	rlk_script_put(&text, " LIMIT 1");
	fault =
	    rlk_borrowed_run_script(on, &text, &number, 1, &answered, reterr);
	if (!fault)
		*ret_numbered = number == 1;
	return fault;
}

void rlk_place_put_table(struct rlk_script *script,
			 const struct rlk_place *place, const char *name)
{
	char letter[2] = "";

	rlk_script_put(script, "`");
	for (const char *at = place->schema; *at; at++) {
		letter[0] = *at;
		rlk_script_put(script, *at == '`' ? "``" : letter);
	}
	rlk_script_put(script, "`.");
	rlk_script_put(script, name);
}
