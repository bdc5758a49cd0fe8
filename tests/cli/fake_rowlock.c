/* SPDX-License-Identifier: MIT */
/*
 * A librowlock without a database, for the tests of the tools.
 *
 * It connects to the Unix socket that ROWLOCK_FAKE names and tells the test
 * each call as a line, "acquire name=6a6f62 wait=0" (strings in hexadecimal).
 * The call returns what the test answers: "reply CODE TEXT". Besides, the test
 * can send at any time: "remaining MS" (the hold ends so long from now unless
 * told otherwise), "frozen MS" (it is always that long), "lose" (the lost
 * callback runs, the hold is over), "log TEXT" (to the client's log), "warn
 * TEXT" (a warning to it, also while it is being opened). What has been sent
 * before a rowlock_held() that call knows; the first one after a new time is
 * told, as "looked". A list is asked for while another call waits: its answer
 * is "entry ..." for each, and "listed CODE TEXT". A request for the
 * lock is known from "request ANSWER ATTEMPT PID HOST PROGRAM REASON" on, and
 * the client told of it by "revoke". Before the reply to a reap: "reaped
 * EVICTED SWEPT TOKENS [MORE]". For "pass MS" see fake_pace.c. Before a reply
 * that fails: "number N", the server's or Connector/C's.
 *
 * With ROWLOCK_FAKE_CANCEL=late in the environment a cancel comes just after
 * the grant; with ROWLOCK_FAKE_STALL=N the N-th rowlock_held() is told, and
 * does not return; with ROWLOCK_FAKE_NEAR=N the hold has 1 ms left from that
 * one on; with ROWLOCK_FAKE_STUCK rowlock_client_free() is told, and does not
 * return. Without ROWLOCK_FAKE every call succeeds.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <rowlock.h>
#include <rowlock/election.h>
#include <rowlock/multilock.h>
#include <rowlock/mysql.h>
#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "fake_ask.h"
#include "fake_pace.h"

struct rowlock_client {
	uint64_t ttl_ms;
	uint64_t row_idle_ms;
	rowlock_revoke_fn on_revoke;
	void *revoke_arg;
};

struct rowlock {
	struct rowlock_client *client;
	char name[1024];
	bool row;
	bool held;
	bool lost;
	bool cancelled;
	bool frozen;
	uint64_t hold_ms; /* while frozen */
	uint64_t ends_ms;
	rowlock_lost_fn fn;
	void *arg;
	char before[64]; /* told before an acquire; "": nothing */
	unsigned int permits;
	struct rowlock *twin; /* of a pair, as long as it is there */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t one_call = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static _Atomic int test_fd = -1; /* connected */
static FILE *from_test;
static bool new_time, replied, listed;
static int listed_code;
char fake_listed_text[512];
static int reply_code;
static unsigned int reply_number;
char fake_reply_text[512];
static char *entries[16384];
static size_t entry_count;
static uint64_t reaped[4];
static struct rowlock_client *the_client;
static struct rowlock_client_options last; /* of the last client */
static struct rowlock *the_lock;
static struct rowlock *telling; /* whose lost callback runs */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

static void lose_locked(void)
{
	struct rowlock *lock = the_lock;
	rowlock_lost_fn fn;
	void *fn_arg;

	if (!lock || !lock->held || lock->lost)
		return;
	lock->lost = true;
	fn = lock->fn;
	fn_arg = lock->arg;
	if (!fn)
		return;
	telling = lock;
	pthread_mutex_unlock(&mutex);
	fn(lock, fn_arg);
	pthread_mutex_lock(&mutex);
	telling = NULL;
	pthread_cond_broadcast(&changed);
}

static void set_end_locked(bool frozen, uint64_t ms)
{
	if (!the_lock)
		return;
	the_lock->frozen = frozen;
	the_lock->hold_ms = ms;
	the_lock->ends_ms = now_ms() + ms;
}

static void set_new_end_locked(bool frozen, uint64_t ms)
{
	set_end_locked(frozen, ms);
	new_time = true;
}

/* The client's thread tells of the request. */
static void revoke_locked(void)
{
	if (the_client && the_client->on_revoke)
		fake_say("answered %d",
			 (int) the_client->on_revoke(fake_requested(),
						     the_client->revoke_arg));
	else
		fake_say("answered -1");
}

static void take_line_locked(const char *line)
{
	uint64_t a;
	int code, text = 0;

	if (sscanf(line, "reply %d %n", &code, &text) == 1) {
		reply_code = code;
		snprintf(fake_reply_text, sizeof(fake_reply_text), "%s",
			 text ? line + text : "");
		replied = true;
		pthread_cond_broadcast(&changed);
	} else if (sscanf(line, "listed %d %n", &code, &text) == 1) {
		listed_code = code;
		snprintf(fake_listed_text, sizeof(fake_listed_text), "%s",
			 text ? line + text : "");
		listed = true;
		pthread_cond_broadcast(&changed);
	} else if (strncmp(line, "entry ", 6) == 0 && entry_count < 16384)
		entries[entry_count++] = strdup(line + 6);
	else if (strncmp(line, "reaped ", 7) == 0)
		sscanf(line + 7, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		       &reaped[0], &reaped[1], &reaped[2], &reaped[3]);
	else if (sscanf(line, "number %" SCNu64, &a) == 1)
		reply_number = (unsigned int) a;
	else if (sscanf(line, "remaining %" SCNu64, &a) == 1)
		set_new_end_locked(false, a);
	else if (sscanf(line, "frozen %" SCNu64, &a) == 1)
		set_new_end_locked(true, a);
	else if (sscanf(line, "pass %" SCNu64, &a) == 1)
		fake_pass(a);
	else if (strcmp(line, "lose") == 0)
		lose_locked();
	else if (strncmp(line, "request ", 8) == 0)
		fake_request(line + 8);
	else if (strcmp(line, "revoke") == 0)
		revoke_locked();
	else if (strncmp(line, "log ", 4) == 0)
		last.log(ROWLOCK_LOG_INFO, line + 4, last.log_arg);
	else if (strncmp(line, "warn ", 5) == 0 &&
		 last.log_level != ROWLOCK_LOG_ERROR)
		last.log(ROWLOCK_LOG_WARNING, line + 5, last.log_arg);
}

/* Until the next line is due, or the hold ends by itself. */
static int pause_locked(void)
{
	uint64_t now = now_ms();

	if (!the_lock || !the_lock->held || the_lock->lost || the_lock->frozen)
		return 50;
	if (the_lock->ends_ms > now)
		return the_lock->ends_ms - now > 50
			   ? 50
			   : (int) (the_lock->ends_ms - now);
	lose_locked();
	return 50;
}

/* Those that have come; false: the test is gone. */
static bool take_lines_locked(void)
{
	struct pollfd poll_fd = { .fd = test_fd, .events = POLLIN };
	char line[8192];

	while (poll(&poll_fd, 1, 0) == 1) {
		if (!fgets(line, sizeof(line), from_test))
			return false;
		line[strcspn(line, "\n")] = '\0';
		take_line_locked(line);
	}
	return true;
}

static void *listen_to_test(void *arg)
{
	struct pollfd poll_fd = { .fd = test_fd, .events = POLLIN };
	int timeout = 0;
	bool more = true;

	(void) arg;
	while (more) {
		poll(&poll_fd, 1, timeout);
		pthread_mutex_lock(&mutex);
		more = take_lines_locked();
		timeout = pause_locked();
		pthread_mutex_unlock(&mutex);
	}
	/* The test is gone, and so is whoever waits for it. */
	_exit(99);
}

static void connect_to_test(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("ROWLOCK_FAKE");
	pthread_t thread;

	if (!path || test_fd >= 0)
		return;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *) &address, sizeof(address)) < 0)
		abort();
	from_test = fdopen(fcntl(fd, F_DUPFD_CLOEXEC, 3), "r");
	setvbuf(from_test, NULL, _IONBF, 0);
	test_fd = fd;
	pthread_create(&thread, NULL, listen_to_test, NULL);
	pthread_detach(thread);
}

static void tell(const char *format, va_list args)
    __attribute__((format(printf, 1, 0)));

static void tell(const char *format, va_list args)
{
	char line[8192];
	int n = vsnprintf(line, sizeof(line) - 1, format, args);

	line[n++] = '\n';
	if (write(test_fd, line, (size_t) n) != n)
		abort();
}

void fake_say(const char *format, ...)
{
	va_list args;

	if (test_fd < 0)
		return;
	va_start(args, format);
	tell(format, args);
	va_end(args);
}

static int fill(struct rowlock_errinfo *reterr, int code, const char *text)
{
	if (code && reterr) {
		reterr->code = code;
		reterr->mysql = reply_number;
		snprintf(reterr->message, sizeof(reterr->message), "%s", text);
	}
	return code;
}

int fake_ask(struct rowlock *lock, struct rowlock_errinfo *reterr,
	     const char *format, ...)
{
	va_list args;
	int code;

	if (test_fd < 0)
		return 0;
	pthread_mutex_lock(&one_call);
	pthread_mutex_lock(&mutex);
	replied = false;
	va_start(args, format);
	tell(format, args);
	va_end(args);
	while (!replied && !(lock && lock->cancelled))
		pthread_cond_wait(&changed, &mutex);
	code = replied ? reply_code : ROWLOCK_ECANCELED;
	fill(reterr, code, replied ? fake_reply_text : "canceled");
	pthread_mutex_unlock(&mutex);
	pthread_mutex_unlock(&one_call);
	return code;
}

const char *fake_hex(const char *text, char *buffer, size_t size)
{
	size_t n = 0;

	if (!text)
		return "NULL";
	for (; *text && n + 3 < size; text++, n += 2)
		snprintf(buffer + n, 3, "%02x", (unsigned char) *text);
	buffer[n] = '\0';
	return buffer;
}

/* A tool that has the library's connections inside has the real one. */
__attribute__((weak)) const char *rowlock_strerror(int error)
{
	(void) error;
	return "an error of the fake";
}

const char *rowlock_version(void)
{
	return ROWLOCK_VERSION;
}

int rowlock_client_new(const struct rowlock_client_options *options,
		       struct rowlock_client **ret_client,
		       struct rowlock_errinfo *reterr)
{
	static char dsn[4096], file[512], group[512], program[1024], auth[256];
	static char suffix[256];
	struct rowlock_client *client;
	int r;

	if (options->size != sizeof(*options))
		abort();
	last = *options;
	connect_to_test();
	r = fake_ask(
	    NULL, reterr,
	    "client_new dsn=%s file=%s group=%s suffix=%s ttl=%" PRIu64
	    " connect=%" PRIu64 " call=%" PRIu64 " idle=%" PRIu64
	    " reap=%" PRIu64 " auth=%s flags=%u program=%s log=%d dumpable=%d",
	    fake_hex(options->dsn, dsn, sizeof(dsn)),
	    fake_hex(options->defaults_file, file, sizeof(file)),
	    fake_hex(options->defaults_group, group, sizeof(group)),
	    fake_hex(options->defaults_group_suffix, suffix, sizeof(suffix)),
	    options->ttl_ms, options->connect_timeout_ms,
	    options->call_timeout_ms, options->row_idle_ms,
	    options->reap_interval_ms,
	    fake_hex(options->unverified_auth, auth, sizeof(auth)),
	    options->flags,
	    fake_hex(options->program, program, sizeof(program)),
	    options->log != NULL, prctl(PR_GET_DUMPABLE));
	if (r < 0)
		return r;
	client = calloc(1, sizeof(*client));
	client->ttl_ms = options->ttl_ms;
	client->row_idle_ms = options->row_idle_ms;
	client->on_revoke = options->on_revoke;
	client->revoke_arg = options->revoke_arg;
	the_client = client;
	*ret_client = client;
	return 0;
}

const char *rowlock_client_server(const struct rowlock_client *client)
{
	(void) client;
	return "fake:1";
}

void rowlock_client_free(struct rowlock_client *client)
{
	if (client)
		fake_say("client_free");
	while (getenv("ROWLOCK_FAKE_STUCK"))
		pause();
	free(client);
}

int rowlock_new(struct rowlock_client *client, const char *name,
		const struct rowlock_options *options,
		struct rowlock **ret_lock, struct rowlock_errinfo *reterr)
{
	char text[512], info[512];
	struct rowlock *lock;
	int r;

	if (options->size != sizeof(*options))
		abort();
	r = fake_ask(
	    NULL, reterr,
	    "new name=%s strategy=%d flags=%u at_least=%" PRIu64
	    " delay=%" PRIu64 " max=%" PRIu64 " info=%s",
	    fake_hex(name, text, sizeof(text)), (int) options->strategy,
	    options->flags, options->at_least_ms, options->delay_after_loss_ms,
	    options->max_hold_ms, fake_hex(options->info, info, sizeof(info)));
	if (r < 0)
		return r;
	lock = calloc(1, sizeof(*lock));
	lock->client = client;
	lock->row = options->strategy == ROWLOCK_ROW;
	snprintf(lock->name, sizeof(lock->name), "%s", name);
	*ret_lock = lock;
	return 0;
}

void rowlock_free(struct rowlock *lock)
{
	if (!lock)
		return;
	if (lock->held && !lock->lost)
		rowlock_release(lock, NULL);
	if (lock->twin) {
		lock->twin->twin = NULL;
		free(lock);
		return;
	}
	pthread_mutex_lock(&mutex);
	the_lock = NULL;
	pthread_mutex_unlock(&mutex);
	fake_say("free");
	free(lock);
}

int rowlock_acquire(struct rowlock *lock, uint64_t wait_ms,
		    struct rowlock_errinfo *reterr)
{
	char text[512];
	uint64_t bound =
	    lock->row ? lock->client->row_idle_ms : lock->client->ttl_ms;
	int r =
	    lock->before[0] ? fake_ask(NULL, reterr, "%s", lock->before) : 0;

	if (r < 0)
		return r;
	pthread_mutex_lock(&mutex);
	the_lock = lock;
	set_end_locked(true, bound - bound / 10);
	pthread_mutex_unlock(&mutex);
	r = fake_ask(lock, reterr, "acquire name=%s wait=%" PRIu64,
		     fake_hex(lock->name, text, sizeof(text)), wait_ms);
	pthread_mutex_lock(&mutex);
	lock->held = r == 0;
	pthread_mutex_unlock(&mutex);
	return r;
}

void fake_let_go(struct rowlock *lock)
{
	lock->held = false;
}

int rowlock_release(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	int r = fake_ask(NULL, reterr, "release");

	if (lock->lost && r == 0)
		r = fill(reterr, ROWLOCK_ELOST, "lost");
	lock->held = false;
	return r;
}

const char *rowlock_name(const struct rowlock *lock)
{
	return lock->name;
}

int rowlock_token(struct rowlock *lock, uint64_t *ret_token,
		  struct rowlock_errinfo *reterr)
{
	if (lock->lost)
		return fill(reterr, ROWLOCK_ELOST, "lost");
	*ret_token = 4711;
	return 0;
}

static int tell_guard(const struct rowlock *lock, const char *words, char *text,
		      size_t size, struct rowlock_errinfo *reterr)
{
	if (lock->lost)
		return fill(reterr, ROWLOCK_ELOST, "lost");
	snprintf(text, size, "%s %s", words, lock->name);
	return 0;
}

int rowlock_guard_sql(struct rowlock *lock, char *text, size_t size,
		      struct rowlock_errinfo *reterr)
{
	return tell_guard(lock, "the guard of", text, size, reterr);
}

int rowlock_guard_call(struct rowlock *lock, char *text, size_t size,
		       struct rowlock_errinfo *reterr)
{
	return tell_guard(lock, "a call for", text, size, reterr);
}

const char *rowlock_lost_reason(const struct rowlock *lock)
{
	return lock->lost ? "by the test" : NULL;
}

uint64_t rowlock_attempt(const struct rowlock *lock)
{
	return lock->row ? 0 : UINT64_MAX;
}

uint64_t rowlock_remaining_ms(const struct rowlock *lock)
{
	uint64_t now = now_ms(), left;

	pthread_mutex_lock(&mutex);
	left = lock->ends_ms > now ? lock->ends_ms - now : 0;
	if (lock->frozen)
		left = lock->hold_ms;
	if (!lock->held || lock->lost)
		left = 0;
	pthread_mutex_unlock(&mutex);
	return left;
}

/* A test that has sent something need not wait until our thread has it. */
static void look_for_news(void)
{
	bool news;

	if (test_fd < 0)
		return;
	pthread_mutex_lock(&mutex);
	take_lines_locked();
	news = new_time;
	new_time = false;
	pthread_mutex_unlock(&mutex);
	if (news)
		fake_say("looked");
}

int rowlock_held(const struct rowlock *const_lock)
{
	static int asked;
	const char *stall = getenv("ROWLOCK_FAKE_STALL");
	const char *near = getenv("ROWLOCK_FAKE_NEAR");
	struct rowlock *lock = (struct rowlock *) const_lock;

	look_for_news();
	asked++;
	if (near && asked >= atoi(near)) {
		lock->frozen = true;
		lock->hold_ms = 3000;
	}
	if (stall && asked == atoi(stall)) {
		fake_say("stalled");
		for (;;)
			pause();
	}
	return rowlock_remaining_ms(lock) > 0;
}

int rowlock_cancel(struct rowlock *lock)
{
	const char *late = getenv("ROWLOCK_FAKE_CANCEL");

	fake_say("cancel");
	pthread_mutex_lock(&mutex);
	if (late && strcmp(late, "late") == 0) {
		reply_code = 0;
		replied = true;
	}
	lock->cancelled = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	return 1;
}

void rowlock_on_lost(struct rowlock *lock, rowlock_lost_fn fn, void *arg)
{
	pthread_mutex_lock(&mutex);
	lock->fn = fn;
	lock->arg = arg;
	/* As is promised: afterwards the old one is not called any more. */
	while (telling == lock)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

int fake_ask_list(const char *call, const struct rowlock_list_options *options,
		  int (*put)(char *line, void *arg), void *arg,
		  struct rowlock_errinfo *reterr)
{
	char pattern[512], name[512];
	int ended = 0;

	if (test_fd < 0)
		return 0;
	pthread_mutex_lock(&mutex);
	listed = false;
	entry_count = 0;
	fake_say("%s pattern=%s name=%s row=%d lease=%d probe=%d", call,
		 fake_hex(options->pattern, pattern, sizeof(pattern)),
		 fake_hex(options->name, name, sizeof(name)),
		 !(options->flags & ROWLOCK_LIST_LEASES),
		 !(options->flags & ROWLOCK_LIST_ROWS),
		 options->flags & ROWLOCK_LIST_PROBE ? 1 : 0);
	while (!listed)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	for (size_t i = 0; i < entry_count; i++) {
		if (!ended)
			ended = put(entries[i], arg);
		free(entries[i]);
	}
	return fill(reterr, listed_code, fake_listed_text);
}

int rowlock_break(struct rowlock_client *client, enum rowlock_strategy strategy,
		  const char *name, struct rowlock_errinfo *reterr)
{
	char text[512];

	(void) client;
	return fake_ask(NULL, reterr, "break strategy=%d name=%s",
			(int) strategy, fake_hex(name, text, sizeof(text)));
}

int rowlock_reap(struct rowlock_client *client,
		 const struct rowlock_reap_options *options,
		 struct rowlock_reap_result *result,
		 struct rowlock_errinfo *reterr)
{
	int r;

	(void) client;
	if (result->size != sizeof(*result))
		abort();
	memset(reaped, 0, sizeof(reaped));
	r = fake_ask(NULL, reterr, "reap batch=%u most=%" PRIu64,
		     options->batch, options->time_limit_ms);
	result->evicted = reaped[0];
	result->swept = reaped[1];
	result->tokens = reaped[2];
	result->more = (int) reaped[3];
	return r;
}

/* Both of a pair are the lock that was asked for: the first one to be freed
 * goes without a word. */
int rowlock_rwlock_new(struct rowlock_client *client, const char *name,
		       const struct rowlock_options *options,
		       struct rowlock **ret_reader, struct rowlock **ret_writer,
		       struct rowlock_errinfo *reterr)
{
	struct rowlock *reader, *writer;
	int r = rowlock_new(client, name, options, &reader, reterr);

	if (r < 0)
		return r;
	writer = calloc(1, sizeof(*writer));
	*writer = *reader;
	reader->twin = writer;
	writer->twin = reader;
	snprintf(reader->before, sizeof(reader->before), "read");
	snprintf(writer->before, sizeof(writer->before), "write");
	*ret_reader = reader;
	*ret_writer = writer;
	return 0;
}

/* It is the fake lock of all its names, with '+' between them. */
int rowlock_multilock_new(struct rowlock_client *client,
			  const char *const *names, size_t count,
			  const struct rowlock_options *options,
			  struct rowlock **ret_lock,
			  struct rowlock_errinfo *reterr)
{
	char all[1024] = "";

	for (size_t i = 0; i < count; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
			 i ? "+" : "", names[i]);
	return rowlock_new(client, all, options, ret_lock, reterr);
}

int rowlock_multilock_token(struct rowlock *lock, const char *name,
			    uint64_t *ret_token, struct rowlock_errinfo *reterr)
{
	int r = fake_ask(NULL, reterr, "token");

	if (r < 0)
		return r;
	r = rowlock_token(lock, ret_token, reterr);
	*ret_token += strlen(name);
	return r;
}

/* ---------------------------------------------------------------- elections */

int rowlock_election_new(struct rowlock_client *client, const char *name,
			 const struct rowlock_election_options *options,
			 struct rowlock **ret_lock,
			 struct rowlock_errinfo *reterr)
{
	struct rowlock_options lock = *options->lock_options;
	int r;

	if (options->size != sizeof(*options))
		abort();
	r = rowlock_new(client, name, &lock, ret_lock, reterr);
	if (r == 0)
		snprintf((*ret_lock)->before, sizeof((*ret_lock)->before),
			 "campaign weight=%u", options->weight);
	return r;
}

/* The answer is code 1 and "WEIGHT MS", or code 0: nobody. */
int rowlock_election_challenger(struct rowlock *lock, unsigned int *ret_weight,
				uint64_t *ret_stood_ms,
				struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo told = { .message = "" };
	unsigned long stood_ms = 0;
	int r = fake_ask(NULL, &told, "challenger");

	(void) lock;
	*ret_weight = 0;
	if (r < 0)
		*reterr = told;
	else
		sscanf(told.message, "%u %lu", ret_weight, &stood_ms);
	*ret_stood_ms = stood_ms;
	return r < 0 ? r : 0;
}

/* --------------------------------------------------------------- semaphores */

int rowlock_semaphore_new(struct rowlock_client *client, const char *name,
			  unsigned int permits,
			  const struct rowlock_options *options,
			  struct rowlock **ret_lock,
			  struct rowlock_errinfo *reterr)
{
	int r = rowlock_new(client, name, options, ret_lock, reterr);

	if (r == 0)
		(*ret_lock)->permits = permits;
	return r;
}

int rowlock_semaphore_acquire(struct rowlock *lock, unsigned int count,
			      uint64_t wait_ms, struct rowlock_errinfo *reterr)
{
	snprintf(lock->before, sizeof(lock->before), "permits-%u-of-%u", count,
		 lock->permits);
	return rowlock_acquire(lock, wait_ms, reterr);
}

int rowlock_semaphore_count(struct rowlock_client *client, const char *name,
			    unsigned int *ret_permits, unsigned int *ret_used,
			    struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo told = { .message = "" };
	char text[512];
	int r = fake_ask(NULL, &told, "count name=%s",
			 fake_hex(name, text, sizeof(text)));

	(void) client;
	*ret_permits = *ret_used = 0;
	if (r < 0)
		*reterr = told;
	else
		sscanf(told.message, "%u %u", ret_permits, ret_used);
	return r < 0 ? r : 0;
}

int rowlock_semaphore_resize(struct rowlock_client *client, const char *name,
			     unsigned int permits,
			     struct rowlock_errinfo *reterr)
{
	char text[512];

	(void) client;
	return fake_ask(NULL, reterr, "resize name=%s permits=%u",
			fake_hex(name, text, sizeof(text)), permits);
}
