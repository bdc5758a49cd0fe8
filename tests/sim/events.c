/* SPDX-License-Identifier: MIT */
/*
 * Chance, and what will happen when: events in a binary heap.
 */
#include <stdlib.h>

#include "scheduler.h"

/* ------------------------------------------------------------- chance */

static uint64_t state[4];

static uint64_t split_mix(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void sim_seed(uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		state[i] = split_mix(&seed);
}

static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

/* xoshiro256** (Blackman, Vigna 2018). */
uint64_t sim_random(void)
{
	uint64_t result = rotate(state[1] * 5, 7) * 9;
	uint64_t t = state[1] << 17;

	state[2] ^= state[0];
	state[3] ^= state[1];
	state[1] ^= state[2];
	state[0] ^= state[3];
	state[2] ^= t;
	state[3] = rotate(state[3], 45);
	return result;
}

uint64_t sim_below(uint64_t n)
{
	if (n >> 32)
		return sim_random() % n;
	return (sim_random() >> 32) * n >> 32;
}

int64_t sim_between(int64_t from, int64_t to)
{
	return from + (int64_t) sim_below((uint64_t) (to - from) + 1);
}

bool sim_chance(uint32_t per_million)
{
	return per_million && sim_below(1000000) < per_million;
}

/* ------------------------------------------------------------- events */

static struct sim_event **heap; /* from 1 */
static uint32_t heap_count;
static uint32_t heap_size;

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at < b->at || (a->at == b->at && a->tie < b->tie);
}

static void put(struct sim_event *event, uint32_t slot)
{
	heap[slot] = event;
	event->slot = slot;
}

static void up(struct sim_event *event, uint32_t slot)
{
	while (slot > 1 && before(event, heap[slot / 2])) {
		put(heap[slot / 2], slot);
		slot /= 2;
	}
	put(event, slot);
}

static void down(struct sim_event *event, uint32_t slot)
{
	for (;;) {
		uint32_t child = slot * 2;

		if (child > heap_count)
			break;
		if (child < heap_count && before(heap[child + 1], heap[child]))
			child++;
		if (!before(heap[child], event))
			break;
		put(heap[child], slot);
		slot = child;
	}
	put(event, slot);
}

void sim_event_clear(struct sim_event *event)
{
	uint32_t slot = event->slot;
	struct sim_event *last;

	if (!slot)
		return;
	event->slot = 0;
	last = heap[heap_count--];
	if (last == event)
		return;
	if (slot > 1 && before(last, heap[slot / 2]))
		up(last, slot);
	else
		down(last, slot);
}

struct sim_event *sim_event_first(void)
{
	return heap_count ? heap[1] : NULL;
}

void sim_event_set(struct sim_event *event, int64_t at_us)
{
	sim_event_clear(event);
	if (heap_count + 2 > heap_size) {
		heap_size = heap_size ? heap_size * 2 : 256;
		heap = realloc(heap, heap_size * sizeof(struct sim_event *));
		if (!heap)
			abort();
	}
	event->at = at_us < sim_now ? sim_now : at_us;
	event->tie = (uint32_t) sim_random();
	up(event, ++heap_count);
}
