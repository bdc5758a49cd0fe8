/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proc.h"
#include "server.h"
#include "sim.h"

#define KEPT 8192

struct event {
	int64_t at;
	unsigned int proc;
	unsigned int thread;
	struct sim_note note;
};

static struct event events[KEPT];
static uint64_t count;
bool sim_verbose;

static void print_value(char word, uint64_t value)
{
	switch (word) {
	case 'u':
		printf("%" PRIu64, value);
		break;
	case 'd':
		printf("%" PRId64, (int64_t) value);
		break;
	case 'n':
		fputs(sim_names[value], stdout);
		break;
	default:
		fputs((const char *) (uintptr_t) value, stdout);
	}
}

static void print(const struct event *event)
{
	const char *at = event->note.words;
	unsigned int value = 0;

	if (*at == '#')
		printf("# %" PRId64 " ", event->at * 1000);
	else
		printf("%" PRId64 " %u.%u ", event->at * 1000, event->proc,
		       event->thread);
	for (; *at; at++) {
		if (*at == '%')
			print_value(*++at, event->note.value[value++]);
		else if (*at != '#')
			putchar(*at);
	}
	putchar('\n');
}

static void keep(unsigned int proc, unsigned int thread, struct sim_note note)
{
	struct event *event = &events[count++ % KEPT];

	*event = (struct event){ sim_now, proc, thread, note };
	if (sim_verbose)
		print(event);
}

void sim_trace(struct sim_note note)
{
	const struct sim_proc *proc = sim_self ? sim_self->proc : NULL;

	keep(proc ? proc->number : 0, sim_self ? sim_self->number : 0, note);
}

void sim_trace_world(struct sim_note note)
{
	keep(0, 0, note);
}

void sim_trace_statement(const struct sim_session *session)
{
	const struct sim_answer *answer = &session->answer;

	keep(0, 0,
	     (struct sim_note){
		 "#process %u connection %u: %s error=%u rows=%u",
		 { session->proc, session->id,
		   sim_text(session->request.op->label), answer->error,
		   answer->affected + answer->rows } });
}

void sim_trace_session(const struct sim_session *session, const char *what,
		       uint64_t value)
{
	keep(0, 0,
	     (struct sim_note){
		 "#process %u connection %u: %s %u",
		 { session->proc, session->id, sim_text(what), value } });
}

void sim_trace_begin(void)
{
	count = 0;
}

void sim_trace_print(unsigned int wanted)
{
	uint64_t kept = count < KEPT ? count : KEPT;
	uint64_t first = count - (wanted < kept ? wanted : kept);

	for (uint64_t i = first; i < count; i++)
		print(&events[i % KEPT]);
}
