/* SPDX-License-Identifier: MIT */
/*
 * One thread of libmicrohttpd answers all clients, so nothing here is shared
 * but what the main thread says (stop, reload). An answer is kept for a second:
 * fifty clients cost the database one look.
 *
 * Only GET is answered; each answer ends its connection. A client has 5 seconds
 * for each byte and 16 KiB for its request, and 64 may be connected: above 48
 * the oldest connection is ended for a new one, so that no number of slow
 * clients keeps Prometheus out.
 *
 * Failure modes: a database that does not answer makes clients wait for as long
 * as a look may take; then they get rowlock_up 0, with the status 200.
 */
#include "serve.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/pace.h"
#include "common/report.h"
#include "common/text.h"
#include "host.h"
#include "metrics/exposition.h"
#include "page.h"

#define FRESH_MS 1000
#define CALL_MS 2000
#define CONNECTIONS 64
#define CONNECTIONS_WELL 48
#define SILENCE_S 5
#define REQUEST_BYTES (16 * 1024)

#define FORBID_ALL                                                             \
	"default-src 'none'; style-src 'self'; base-uri 'none'; "              \
	"form-action 'none'; frame-ancestors 'none'"

/* An answer, and when it was made; NULL: never. */
struct answer {
	struct MHD_Response *response;
	uint64_t made_ms;
};

struct guest {
	int fd; /* -1: this place is free */
	uint64_t number;
};

struct serve {
	const struct worker_config *config;
	struct worker *worker;
	struct MHD_Daemon *daemon;

	/* Its thread's. */
	struct lookout lookout;
	struct rowlock_client *client; /* NULL: no page was asked for yet */
	struct look look;
	uint64_t looked_ms; /* 0: never */
	struct answer metrics, page;
	struct MHD_Response *style, *no_such, *not_allowed, *no_answer;
	struct MHD_Response *not_ours;
	struct guest guests[CONNECTIONS];
	uint64_t guests_so_far;

	pthread_mutex_t mutex; /* guards all below */
	pthread_cond_t changed;
	bool busy; /* with the database */
	bool stopping;
	bool reload;
};

/* ---------------------------------------------------------------- address */

/* Returns 0 or an error of getaddrinfo(). */
static int address_of(const char *at, struct sockaddr_storage *ret_address)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM,
	};
	const char *colon = strrchr(at, ':');
	const char *port = colon ? colon + 1 : at;
	char host[64] = "127.0.0.1";
	struct addrinfo *found;
	unsigned int number;
	int r;

	if (colon) {
		size_t length = (size_t) (colon - at);
		bool brackets = length > 2 && *at == '[' && colon[-1] == ']';

		at += brackets;
		length -= brackets ? 2 : 0;
		if (length == 0 || length >= sizeof(host) ||
		    !memchr(at, ':', length) == brackets)
			return EAI_NONAME;
		snprintf(host, sizeof(host), "%.*s", (int) length, at);
	}
	/* getaddrinfo() cuts a number that is too large. */
	if (!text_number(port, 0, UINT16_MAX, &number))
		return EAI_SERVICE;
	r = getaddrinfo(host, port, &hints, &found);
	if (r == 0) {
		memcpy(ret_address, found->ai_addr, found->ai_addrlen);
		freeaddrinfo(found);
	}
	return r;
}

bool serve_understands(const char *at)
{
	struct sockaddr_storage address;

	return address_of(at, &address) == 0;
}

/* ---------------------------------------------------------------- answers */

static struct MHD_Response *response_of(const char *type, const char *text,
					size_t size, bool copy)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
	    size, (void *) text,
	    copy ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT);
	const char *const headers[][2] = {
		{ "Content-Type", type },
		{ "Content-Security-Policy", FORBID_ALL },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cache-Control", "no-store" },
		{ "Connection", "close" },
	};

	for (size_t i = 0; response && i < RLK_ARRAY_SIZE(headers); i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	return response;
}

static struct MHD_Response *fixed(const char *type, const char *text)
{
	return response_of(type, text, strlen(text), false);
}

static bool is_fresh(uint64_t made_ms)
{
	return made_ms > 0 && pace_now_ms() - made_ms < FRESH_MS;
}

static void drop(struct MHD_Response **response)
{
	if (*response)
		MHD_destroy_response(*response);
	*response = NULL;
}

/* Those that are being sent the old one have a reference of their own. */
static void make(struct serve *serve, struct answer *answer, const char *type,
		 void (*put)(FILE *out, struct serve *serve))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	drop(&answer->response);
	if (!out)
		return;
	put(out, serve);
	if (fclose(out) == 0)
		answer->response = response_of(type, text, size, true);
	answer->made_ms = pace_now_ms();
	free(text);
}

static void look(struct serve *serve)
{
	if (is_fresh(serve->looked_ms))
		return;
	lookout_look(&serve->lookout, &serve->look);
	serve->looked_ms = pace_now_ms();
}

static void put_counter(FILE *out, const char *name, const char *label,
			const char *value, uint64_t number)
{
	fprintf(out, "%s{%s=\"%s\"} %llu\n", name, label, value,
		(unsigned long long) number);
}

static void put_passes(FILE *out, struct serve *serve)
{
	struct worker_passes passes;

	worker_tell(serve->worker, &passes);
	exposition_head(out, "rowlock_reaper_passes_total", "counter",
			"Passes of this daemon.");
	put_counter(out, "rowlock_reaper_passes_total", "result", "done",
		    passes.done);
	put_counter(out, "rowlock_reaper_passes_total", "result", "failed",
		    passes.failed);
	exposition_head(out, "rowlock_reaper_removed_total", "counter",
			"Rows that this daemon removed.");
	put_counter(out, "rowlock_reaper_removed_total", "kind", "session",
		    passes.evicted);
	put_counter(out, "rowlock_reaper_removed_total", "kind", "lease",
		    passes.swept);
	put_counter(out, "rowlock_reaper_removed_total", "kind", "token",
		    passes.tokens);
	exposition_seconds(out, "rowlock_reaper_interval_seconds",
			   "How long this daemon rests between two passes.",
			   (int64_t) serve->config->interval_ms * 1000);
	if (passes.done == 0)
		return;
	exposition_seconds(
	    out, "rowlock_reaper_last_pass_age_seconds",
	    "How long ago the last pass of this daemon ended that went well.",
	    (int64_t) (pace_now_ms() - passes.ended_ms) * 1000);
	exposition_seconds(out, "rowlock_reaper_last_pass_duration_seconds",
			   "How long that pass took.",
			   (int64_t) passes.took_ms * 1000);
}

static void put_metrics(FILE *out, struct serve *serve)
{
	look(serve);
	exposition_put(out, &serve->look, serve->lookout.classes);
	put_passes(out, serve);
}

/* The page's client. Returns 0, or the reason is in @reterr. */
static int open_client(struct serve *serve, struct rowlock_errinfo *reterr)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;

	if (serve->client)
		return 0;
	options.program = "rowlock-reaperd";
	options.flags |= ROWLOCK_NO_REAPER;
	options.call_timeout_ms = CALL_MS;
	return connection_open(&serve->config->connection, options,
			       &serve->client, reterr);
}

static void put_page(FILE *out, struct serve *serve)
{
	struct rowlock_errinfo error;

	look(serve);
	if (serve->look.error.code)
		page_put_failure(out, serve->look.error.message);
	else if (open_client(serve, &error) < 0)
		page_put_failure(out, error.message);
	else
		page_put(out, &serve->look, serve->client,
			 serve->lookout.classes);
}

/* ------------------------------------------------------------ the database */

static bool begin(struct serve *serve)
{
	bool reload, go;

	pthread_mutex_lock(&serve->mutex);
	reload = serve->reload;
	serve->reload = false;
	go = serve->busy = !serve->stopping;
	pthread_mutex_unlock(&serve->mutex);
	if (go && reload) {
		lookout_fini(&serve->lookout);
		rowlock_client_free(serve->client);
		serve->client = NULL;
	}
	return go;
}

static void end(struct serve *serve)
{
	pthread_mutex_lock(&serve->mutex);
	serve->busy = false;
	pthread_cond_signal(&serve->changed);
	pthread_mutex_unlock(&serve->mutex);
}

static struct MHD_Response *made(struct serve *serve, struct answer *answer,
				 const char *type,
				 void (*put)(FILE *out, struct serve *serve))
{
	if (!is_fresh(answer->made_ms)) {
		if (!begin(serve))
			return NULL;
		make(serve, answer, type, put);
		end(serve);
	}
	return answer->response;
}

/* Only the page has names. */
static bool is_asked_as_us(const struct serve *serve,
			   struct MHD_Connection *connection)
{
	return host_is_ours(MHD_lookup_connection_value(connection,
							MHD_HEADER_KIND,
							MHD_HTTP_HEADER_HOST),
			    &serve->config->hosts);
}

static enum MHD_Result answer(void *cls, struct MHD_Connection *connection,
			      const char *url, const char *method,
			      const char *version, const char *upload_data,
			      size_t *upload_data_size, void **request)
{
	struct serve *serve = cls;
	struct MHD_Response *response;

	(void) version;
	(void) upload_data;
	(void) upload_data_size;
	(void) request;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return MHD_queue_response(connection,
					  MHD_HTTP_METHOD_NOT_ALLOWED,
					  serve->not_allowed);
	if (strcmp(url, "/metrics") == 0)
		response = made(serve, &serve->metrics,
				"text/plain; version=0.0.4; charset=utf-8",
				put_metrics);
	else if (strcmp(url, "/") == 0 && !is_asked_as_us(serve, connection))
		return MHD_queue_response(connection, MHD_HTTP_FORBIDDEN,
					  serve->not_ours);
	else if (strcmp(url, "/") == 0)
		response = made(serve, &serve->page, "text/html; charset=utf-8",
				put_page);
	else if (strcmp(url, "/style.css") == 0)
		response = serve->style;
	else
		return MHD_queue_response(connection, MHD_HTTP_NOT_FOUND,
					  serve->no_such);
	if (!response)
		return MHD_queue_response(
		    connection, MHD_HTTP_SERVICE_UNAVAILABLE, serve->no_answer);
	return MHD_queue_response(connection, MHD_HTTP_OK, response);
}

/* ----------------------------------------------------------------- guests */

static struct guest *find_guest(struct serve *serve, int fd)
{
	for (size_t i = 0; i < CONNECTIONS; i++)
		if (serve->guests[i].fd == fd)
			return &serve->guests[i];
	return NULL;
}

/* The library closes it when it sees the end. */
static void end_oldest(struct serve *serve)
{
	struct guest *oldest = NULL;
	size_t count = 0;

	for (size_t i = 0; i < CONNECTIONS; i++) {
		struct guest *guest = &serve->guests[i];

		count += guest->fd >= 0;
		if (guest->fd >= 0 &&
		    (!oldest || guest->number < oldest->number))
			oldest = guest;
	}
	if (count > CONNECTIONS_WELL)
		shutdown(oldest->fd, SHUT_RDWR);
}

/* It comes or goes. */
static void note_guest(void *cls, struct MHD_Connection *connection,
		       void **context, enum MHD_ConnectionNotificationCode what)
{
	struct serve *serve = cls;
	int fd = MHD_get_connection_info(connection,
					 MHD_CONNECTION_INFO_CONNECTION_FD)
		     ->connect_fd;
	struct guest *guest =
	    find_guest(serve, what == MHD_CONNECTION_NOTIFY_STARTED ? -1 : fd);

	(void) context;
	if (!guest)
		return;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		guest->fd = -1;
		return;
	}
	*guest = (struct guest){ fd, ++serve->guests_so_far };
	end_oldest(serve);
}

/* ---------------------------------------------------------- start and stop */

static void free_serve(struct serve *serve)
{
	lookout_fini(&serve->lookout);
	rowlock_client_free(serve->client);
	drop(&serve->metrics.response);
	drop(&serve->page.response);
	drop(&serve->style);
	drop(&serve->no_such);
	drop(&serve->not_allowed);
	drop(&serve->no_answer);
	drop(&serve->not_ours);
	pthread_cond_destroy(&serve->changed);
	pthread_mutex_destroy(&serve->mutex);
	free(serve);
}

static struct serve *new_serve(const struct worker_config *config,
			       struct worker *worker)
{
	struct serve *serve = calloc(1, sizeof(*serve));

	if (!serve)
		return NULL;
	serve->config = config;
	serve->worker = worker;
	lookout_init(&serve->lookout, &config->connection, "rowlock-reaperd",
		     &config->classes);
	for (size_t i = 0; i < CONNECTIONS; i++)
		serve->guests[i].fd = -1;
	serve->style = fixed("text/css; charset=utf-8", page_style);
	serve->no_such = fixed("text/plain", "Not here: / and /metrics are.\n");
	serve->not_allowed = fixed("text/plain", "Only GET is answered.\n");
	serve->no_answer = fixed("text/plain", "No memory, or it ends.\n");
	serve->not_ours =
	    fixed("text/plain",
		  "Ask by an address, by a name without a dot, or by one "
		  "that --page-host gives.\n");
	if (serve->not_allowed)
		MHD_add_response_header(serve->not_allowed, "Allow", "GET");
	pthread_mutex_init(&serve->mutex, NULL);
	pace_init(&serve->changed);
	return serve;
}

static bool is_any(const struct sockaddr_storage *address)
{
	return IN6_IS_ADDR_UNSPECIFIED(
	    &((const struct sockaddr_in6 *) address)->sin6_addr);
}

static bool listen_at(struct serve *serve, const char *at)
{
	struct sockaddr_storage address;
	unsigned int flags = MHD_USE_AUTO_INTERNAL_THREAD;

	if (address_of(at, &address) != 0)
		return false;
	/* [::] is every address of this host, as an operator means it. */
	if (address.ss_family == AF_INET6)
		flags |= is_any(&address) ? MHD_USE_DUAL_STACK : MHD_USE_IPv6;
	serve->daemon = MHD_start_daemon(
	    flags, 0, NULL, NULL, answer, serve, MHD_OPTION_SOCK_ADDR, &address,
	    MHD_OPTION_CONNECTION_LIMIT, (unsigned int) CONNECTIONS,
	    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int) SILENCE_S,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) REQUEST_BYTES,
	    MHD_OPTION_NOTIFY_CONNECTION, note_guest, serve, MHD_OPTION_END);
	return serve->daemon;
}

bool serve_start(const char *at, const struct worker_config *config,
		 struct worker *worker, struct serve **ret_serve)
{
	struct serve *serve = new_serve(config, worker);
	const char *colon = strrchr(at, ':');

	errno = 0;
	if (!serve || !listen_at(serve, at)) {
		report(ROWLOCK_LOG_ERROR,
		       "--metrics: cannot listen at %s: %s; give %s", at,
		       strerror(serve && errno ? errno : ENOMEM),
		       errno == EADDRNOTAVAIL
			   ? "an address of this host"
			   : "another port, or end what is there");
		if (serve)
			free_serve(serve);
		return false;
	}
	report(ROWLOCK_LOG_INFO, "metrics are at http://%.*s:%u/metrics",
	       colon ? (int) (colon - at) : 9, colon ? at : "127.0.0.1",
	       MHD_get_daemon_info(serve->daemon, MHD_DAEMON_INFO_BIND_PORT)
		   ->port);
	*ret_serve = serve;
	return true;
}

void serve_ask_reload(struct serve *serve)
{
	pthread_mutex_lock(&serve->mutex);
	serve->reload = true;
	pthread_mutex_unlock(&serve->mutex);
}

bool serve_stop(struct serve *serve, uint64_t until_ms)
{
	bool busy;

	if (!serve)
		return true;
	pthread_mutex_lock(&serve->mutex);
	serve->stopping = true;
	while (serve->busy && pace_now_ms() < until_ms)
		pace_wait(&serve->changed, &serve->mutex, until_ms);
	busy = serve->busy;
	pthread_mutex_unlock(&serve->mutex);
	if (busy)
		return false;
	MHD_stop_daemon(serve->daemon);
	free_serve(serve);
	return true;
}
