/* SPDX-License-Identifier: MIT */
/*
 * A request whose answer is lost where KILL does not reach its connection: what
 * lands late is taken back, as long as it may land, by a client that goes on
 * meanwhile.
 */
#include "odd.h"
#include "timeouts.h"

#define INSERT "command=execute sql=\"*INSERT INTO business_lease*\""
#define NO_KILL                                                                \
	"request sql=\"KILL CONNECTION*\" always do error code=1095 "          \
	"text=\"You are not owner of thread\"\n"

/* So long the server keeps a connection on which nothing is said: nobody here
 * can wait for that. */
#define TTL_MS 3600000

struct scene {
	const char *name;
	struct proxy *proxy;
	struct rowlock_client *client;
	struct rowlock *lock;
	struct rowlock_client *others_client;
	struct rowlock *others;
};

static struct scene scene_of(const char *name)
{
	struct scene scene = {
		.name = name,
		.proxy = proxy_to(test_dsn()),
		.others_client = test_client(60000),
	};

	scene.client =
	    client_by(scene.proxy, test_dsn(), TTL_MS, test_timeout_ms(300));
	scene.lock = test_lock(scene.client, ROWLOCK_LEASE, 0, name);
	scene.others = test_lock(scene.others_client, ROWLOCK_LEASE, 0, name);
	return scene;
}

static void scene_end(struct scene *scene)
{
	test_end(scene->lock, scene->client);
	test_lock_end(scene->others);
	test_client_end(scene->others_client);
	proxy_end(scene->proxy);
}

static void others_get_it(struct scene *scene)
{
	assert_ok(rowlock_acquire(scene->others, (uint64_t) test_patience_ms(),
				  &err));
	assert_ok(rowlock_release(scene->others, &err));
}

static void get_it(struct scene *scene)
{
	assert_ok(
	    rowlock_acquire(scene->lock, (uint64_t) test_patience_ms(), &err));
	assert_int_equal(rowlock_held(scene->lock), 1);
	assert_code(rowlock_acquire(scene->others, 0, &err), ROWLOCK_EBUSY,
		    &err);
}

CASE("a row that lands where no KILL reaches is taken back")
{
	struct scene scene = scene_of(test_name("late"));

	tell(scene.proxy, NO_KILL "request " INSERT " do hold then=silence");
	get_it(&scene);
	assert_ok(rowlock_verify(scene.lock, &err));
	assert_ok(rowlock_release(scene.lock, &err));
	/* The name is free: it becomes a row that nobody holds. */
	tell(scene.proxy, "deliver");
	others_get_it(&scene);
	get_it(&scene);
	assert_ok(rowlock_release(scene.lock, &err));
	scene_end(&scene);
}

CASE_MAIN(test_main)
