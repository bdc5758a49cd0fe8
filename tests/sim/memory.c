/* SPDX-License-Identifier: MIT */
/*
 * The library's memory: an arena per process, so that a process that is killed
 * gives all of it back, and one that ends is seen to have freed every block.
 * Blocks of one size go round in a list; what is freed is overwritten.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"

#define CHUNK (64 * 1024)
#define STEP 16
#define SMALL_MOST (255 * STEP)

#define NEVER_WRITTEN 0xc5
#define FREED 0xd7

struct header {
	struct sim_arena *arena;
	size_t size;
};

_Static_assert(sizeof(struct header) == STEP, "alignment");

struct chunk {
	struct rlk_list node;
	char room[CHUNK - sizeof(struct rlk_list)];
};

struct big {
	struct rlk_list node;
	struct header header;
};

static struct rlk_list spare = RLK_LIST_INIT(spare);

void *sim_malloc(size_t size);
void *sim_calloc(size_t count, size_t size);
void *sim_realloc(void *block, size_t size);
char *sim_strdup(const char *text);
void sim_free(void *block);

void sim_arena_init(struct sim_arena *arena)
{
	memset(arena, 0, sizeof(*arena));
	rlk_list_init(&arena->chunks);
	rlk_list_init(&arena->big);
}

void sim_arena_fini(struct sim_arena *arena)
{
	struct rlk_list *node;

	while ((node = rlk_list_first(&arena->chunks))) {
		rlk_list_remove(node);
		rlk_list_append(&spare, node);
	}
	while ((node = rlk_list_first(&arena->big))) {
		rlk_list_remove(node);
		free(container_of(node, struct big, node));
	}
	sim_arena_init(arena);
}

static void more(struct sim_arena *arena)
{
	struct rlk_list *node = rlk_list_first(&spare);
	struct chunk *chunk;

	if (node) {
		rlk_list_remove(node);
		chunk = container_of(node, struct chunk, node);
	} else {
		chunk = malloc(sizeof(*chunk));
		if (!chunk)
			abort();
		rlk_list_init(&chunk->node);
	}
	rlk_list_append(&arena->chunks, &chunk->node);
	arena->next = chunk->room;
	arena->end = chunk->room + sizeof(chunk->room);
}

static struct header *take_small(struct sim_arena *arena, size_t size)
{
	size_t class = (size + STEP - 1) / STEP;
	size_t whole = class * STEP + sizeof(struct header);
	struct header *header = arena->free[class];

	if (header) {
		memcpy(&arena->free[class], header + 1, sizeof(void *));
		return header;
	}
	if ((size_t) (arena->end - arena->next) < whole)
		more(arena);
	header = (struct header *) (void *) arena->next;
	arena->next += whole;
	return header;
}

static struct header *take_big(struct sim_arena *arena, size_t size)
{
	struct big *big = malloc(sizeof(*big) + size);

	if (!big)
		abort();
	rlk_list_init(&big->node);
	rlk_list_append(&arena->big, &big->node);
	return &big->header;
}

/* A sanitizer sees more if every block is one of its own. */
static bool is_small(size_t size)
{
#if defined(SIM_ASAN) || defined(SIM_TSAN)
	(void) size;
	return false;
#else
	return size <= SMALL_MOST;
#endif
}

void *sim_malloc(size_t size)
{
	struct sim_arena *arena = &sim_self->proc->arena;
	struct header *header;

	if (size < sizeof(void *))
		size = sizeof(void *);
	header =
	    is_small(size) ? take_small(arena, size) : take_big(arena, size);
	*header = (struct header){ arena, size };
	arena->live++;
	memset(header + 1, NEVER_WRITTEN, size);
	return header + 1;
}

void *sim_calloc(size_t count, size_t size)
{
	void *block = sim_malloc(count * size);

	memset(block, 0, count * size);
	return block;
}

void sim_free(void *block)
{
	struct header *header;
	struct sim_arena *arena;

	if (!block)
		return;
	header = (struct header *) block - 1;
	arena = header->arena;
	arena->live--;
	memset(block, FREED, header->size);
	if (is_small(header->size)) {
		size_t class = (header->size + STEP - 1) / STEP;

		memcpy(block, &arena->free[class], sizeof(void *));
		arena->free[class] = header;
	} else {
		struct big *big = container_of(header, struct big, header);

		rlk_list_remove(&big->node);
		free(big);
	}
}

void *sim_realloc(void *block, size_t size)
{
	void *other = sim_malloc(size);

	if (block) {
		size_t before = ((struct header *) block - 1)->size;

		memcpy(other, block, before < size ? before : size);
		sim_free(block);
	}
	return other;
}

char *sim_strdup(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(sim_malloc(size), text, size);
}
