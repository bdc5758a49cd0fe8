// SPDX-License-Identifier: MIT
/*
 * What each kind of fault excuses; one that is not in the table, nothing. What
 * the proxy does to single messages is of too many kinds for a table: it
 * excuses all but two holders at once and tokens out of order, which nothing
 * excuses.
 */
#include "faults.h"

#include <stdlib.h>
#include <string.h>

#include "vector.h"

#define LOSES (FAULT_LOSES_ROW | FAULT_LOSES_LEASE)
#define AWAY (LOSES | FAULT_ERRORS | FAULT_SLOWS)

static const struct kind {
	const char *name;
	unsigned int effects;
	bool lasts; /* until it is healed */
} kinds[] = {
	/* Clients; of the CPU they got busy ones too little for a moment, and
	 * starved ones for a good part of their TTL. */
	{ "kill", FAULT_KILLS, false },
	{ "stop", LOSES | FAULT_ERRORS | FAULT_HINDERS | FAULT_SLOWS, true },
	{ "busy", FAULT_HINDERS, true },
	{ "starve", LOSES | FAULT_ERRORS | FAULT_HINDERS | FAULT_SLOWS, true },
	/* From now on, until its heal, no answer of the server gets through:
	 * written when the fault that does it is in force. */
	{ "silence", FAULT_CUTS, true },
	/* The network: nothing passes; answers do not; requests do not; some
	 * packets do not. */
	{ "drop", AWAY | FAULT_DEAFENS, true },
	{ "drop-in", AWAY | FAULT_DEAFENS, true },
	{ "drop-out", AWAY, true },
	{ "loss", FAULT_ERRORS | FAULT_SLOWS | FAULT_SPARSE, true },
	/* The server. */
	{ "freeze", AWAY, true },
	{ "crash", AWAY | FAULT_ENDS, true },
	{ "connections", FAULT_ERRORS | FAULT_SLOWS, true },
	{ "shutout", AWAY | FAULT_ENDS, true },
	{ "readonly", FAULT_LOSES_LEASE | FAULT_ERRORS | FAULT_SLOWS, true },
	{ "cut", FAULT_LOSES_ROW | FAULT_ERRORS | FAULT_ENDS, true },
	{ "ddl", FAULT_ERRORS | FAULT_SLOWS, true },
	{ "full", FAULT_LOSES_LEASE | FAULT_ERRORS | FAULT_SLOWS, true },
	{ "clock", FAULT_CLOCK, true },
	{ "globals", FAULT_ERRORS, true },
	{ "idle", FAULT_LOSES_ROW | FAULT_ERRORS | FAULT_ENDS, true },
};

#define PROXY "proxy-"

static const struct kind proxy = { PROXY,
				   AWAY | FAULT_HINDERS | FAULT_ENDS |
				       FAULT_CLOCK | FAULT_TAKES,
				   true };

static const struct kind *find_kind(struct history_word word)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (history_is(word, kinds[i].name))
			return &kinds[i];
	if (word.length > strlen(PROXY) &&
	    !memcmp(word.at, PROXY, strlen(PROXY)))
		return &proxy;
	return NULL;
}

/* A number names a process; anything else, or nothing, hits all. */
static int64_t process_of(struct history_word target)
{
	int64_t number = 0;
	size_t i;

	if (!target.length)
		return -1;
	for (i = 0; i < target.length; i++) {
		if (target.at[i] < '0' || target.at[i] > '9')
			return -1;
		number = number * 10 + (target.at[i] - '0');
	}
	return number;
}

static bool same_word(struct history_word a, struct history_word b)
{
	return a.length == b.length &&
	       (!a.length || !memcmp(a.at, b.at, a.length));
}

bool faults_begin(struct faults *faults, const struct history_line *line)
{
	const struct kind *kind = find_kind(line->kind);

	faults->all = vector_grow(faults->all, faults->n, &faults->room,
				  sizeof(*faults->all));
	faults->all[faults->n++] = (struct fault){
		.begin = line->time,
		.end = !kind || kind->lasts ? UINT64_MAX : line->time,
		.effects = kind ? kind->effects : 0,
		.process = process_of(line->target),
		.kind = line->kind,
		.target = line->target,
		.line = *line,
	};
	return kind;
}

bool faults_heal(struct faults *faults, const struct history_line *line)
{
	size_t i;

	for (i = faults->n; i-- > 0;) {
		struct fault *fault = &faults->all[i];

		if (fault->end != UINT64_MAX || fault->begin > line->time ||
		    !same_word(fault->kind, line->kind) ||
		    (line->target.at &&
		     !same_word(fault->target, line->target)))
			continue;
		fault->end = line->time;
		return true;
	}
	return false;
}

static int by_begin(const void *left, const void *right)
{
	const struct fault *a = left, *b = right;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

void faults_sort(struct faults *faults)
{
	uint64_t reach = 0;
	size_t i;

	if (faults->n)
		qsort(faults->all, faults->n, sizeof(*faults->all), by_begin);
	faults->reach = calloc(faults->n + 1, sizeof(*faults->reach));
	if (!faults->reach)
		abort();
	for (i = 0; i < faults->n; i++) {
		if (faults->all[i].end > reach)
			reach = faults->all[i].end;
		faults->reach[i] = reach;
	}
}

void faults_fini(struct faults *faults)
{
	free(faults->all);
	free(faults->reach);
}

struct span {
	uint64_t from;
	uint64_t to;
	uint64_t grace;
};

/* How many began at @time or before. */
static size_t begun_by(const struct faults *faults, uint64_t time)
{
	size_t low = 0, high = faults->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (faults->all[middle].begin <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t longer(uint64_t end, uint64_t grace)
{
	return end > UINT64_MAX - grace ? UINT64_MAX : end + grace;
}

static bool hits(const struct fault *fault, int64_t process, bool alone)
{
	if (alone)
		return fault->process == process;
	return process < 0 || fault->process < 0 || fault->process == process;
}

static const struct fault *find(const struct faults *faults,
				unsigned int effects, int64_t process,
				bool alone, struct span span)
{
	size_t i;

	for (i = begun_by(faults, span.to);
	     i-- > 0 && longer(faults->reach[i], span.grace) >= span.from;) {
		const struct fault *fault = &faults->all[i];

		if (fault->effects & effects && hits(fault, process, alone) &&
		    longer(fault->end, span.grace) >= span.from)
			return fault;
	}
	return NULL;
}

const struct fault *faults_find(const struct faults *faults,
				unsigned int effects, int64_t process,
				uint64_t from, uint64_t to, uint64_t grace)
{
	return find(faults, effects, process, false,
		    (struct span){ from, to, grace });
}

/* They lie in the order of their begin: what one has in common with those
 * before it is counted with them. */
uint64_t faults_time(const struct faults *faults, unsigned int effects,
		     uint32_t process, uint64_t from, uint64_t to)
{
	size_t i, n = begun_by(faults, to), first = n;
	uint64_t sum = 0;

	while (first > 0 && faults->reach[first - 1] > from)
		first--;
	for (i = first; i < n; i++) {
		const struct fault *fault = &faults->all[i];
		uint64_t end = fault->end < to ? fault->end : to;

		if (!(fault->effects & effects) ||
		    !hits(fault, process, false) || end <= from)
			continue;
		if (fault->begin > from)
			from = fault->begin;
		sum += end - from;
		from = end;
	}
	return sum;
}

const struct fault *faults_find_own(const struct faults *faults,
				    unsigned int effects, uint32_t process,
				    uint64_t from, uint64_t to, uint64_t grace)
{
	return find(faults, effects, process, true,
		    (struct span){ from, to, grace });
}

static uint64_t excuses_until(const struct fault *fault, uint64_t grace,
			      uint64_t brief)
{
	uint64_t end = longer(fault->end, grace);
	uint64_t dead = longer(fault->begin, brief);

	return fault->process < 0 || end < dead ? end : dead;
}

const struct fault *faults_find_first(const struct faults *faults,
				      unsigned int effects, uint64_t from,
				      uint64_t to, uint64_t grace,
				      uint64_t brief, uint64_t *ret_end)
{
	size_t low = 0, high = faults->n;
	uint64_t end;

	/* The first by which an end that late is reached. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (longer(faults->reach[middle], grace) <= from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < faults->n && faults->all[low].begin < to; low++) {
		if (!(faults->all[low].effects & effects))
			continue;
		end = excuses_until(&faults->all[low], grace, brief);
		if (end <= from)
			continue;
		*ret_end = end;
		return &faults->all[low];
	}
	return NULL;
}
