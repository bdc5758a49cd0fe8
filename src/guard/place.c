/* SPDX-License-Identifier: MIT */
/*
 * The place of the tables is learned once. Verified connections are kept in a
 * fixed number of slots, by a hash of the MYSQL's address: one that has lost
 * its slot is asked again.
 */
#include "guard/place.h"

#include "base/error.h"
#include "core/call.h"
#include "db/lend.h"

static int learn(struct rowlock_client *client, size_t bay, int64_t until_ms,
		 struct rlk_place *ret_place, struct rowlock_errinfo *reterr)
{
	struct rlk_conn *conn;
	int code = rlk_client_conn(client, bay, until_ms, &conn, reterr);

	if (code)
		return code;
	rlk_place_learn(conn, ret_place);
	rlk_pool_put(client->pool, conn);
	return 0;
}

int rlk_place_look(struct rowlock_client *client, int64_t until_ms,
		   struct rlk_place *ret_place, struct rowlock_errinfo *reterr)
{
	return learn(client, RLK_BAY_ASIDE, until_ms, ret_place, reterr);
}

int rlk_place_find(const struct rowlock *lock, int64_t until_ms,
		   struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	struct rlk_place place;
	bool known;
	int code;

	rlk_mutex_lock(&client->mutex);
	known = client->place.schema[0] != '\0';
	rlk_mutex_unlock(&client->mutex);
	if (known)
		return 0;
	code = learn(client, RLK_BAY_COMMIT, until_ms, &place, reterr);
	if (code)
		return code;
	rlk_mutex_lock(&client->mutex);
	client->place = place;
	rlk_mutex_unlock(&client->mutex);
	return 0;
}

int rlk_place_check_words(const struct rlk_place *place,
			  const struct rlk_borrowed *on,
			  struct rowlock_errinfo *reterr)
{
	const char *at = place->schema;

	while (*at && (unsigned char) *at < 0x80)
		at++;
	if (!*at || rlk_borrowed_speaks_utf8(on))
		return 0;
	return rlk_fail(reterr, ROWLOCK_EINVAL,
			"the database '%.100s' cannot be named in the "
			"connection's character set; open it with utf8mb4",
			place->schema);
}

static struct rlk_verified *place_of(struct rowlock_client *client,
				     const struct st_mysql *mysql)
{
	uint64_t hash = (uint64_t) (uintptr_t) mysql * 0x9e3779b97f4a7c15u;

	return &client->verified[(hash >> 32) % RLK_VERIFIED];
}

bool rlk_place_is_verified_locked(struct rowlock_client *client,
				  const struct rlk_borrowed *on)
{
	const struct rlk_verified *verified = place_of(client, on->mysql);

	return verified->mysql == on->mysql &&
	       verified->id == rlk_borrowed_id(on) &&
	       verified->session == client->session.id;
}

void rlk_place_verified_locked(struct rowlock_client *client,
			       const struct rlk_borrowed *on, uint64_t session)
{
	*place_of(client, on->mysql) = (struct rlk_verified){
		.mysql = on->mysql,
		.id = rlk_borrowed_id(on),
		.session = session,
	};
}
