/* SPDX-License-Identifier: MIT */
/*
 * Memory that runs out: the linker sends every allocation of the program
 * here. The one with a chosen number fails, once; what is made and what is not
 * given back is counted.
 */
#include "memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *memory);

static _Atomic long countdown; /* to the one that fails; 0: none does */
static _Atomic long live;
static _Atomic long bytes;
static _Atomic long made;
static _Atomic bool held;

void fake_memory_fail(unsigned int number)
{
	countdown = number;
}

void fake_memory_hold(bool hold)
{
	held = hold;
}

bool fake_memory_failed(void)
{
	bool failed = countdown <= 0;

	countdown = 0;
	return failed;
}

long fake_memory_live(void)
{
	return live;
}

long fake_memory_bytes(void)
{
	return bytes;
}

long fake_memory_made(void)
{
	return made;
}

static bool fails(void)
{
	return !held && countdown > 0 && --countdown == 0;
}

static long size_of(void *memory)
{
	return (long) (malloc_usable_size(memory) + sizeof(size_t));
}

static void *count(void *memory)
{
	if (!memory)
		return NULL;
	live++;
	made++;
	bytes += size_of(memory);
	return memory;
}

static void discount(void *memory)
{
	if (!memory)
		return;
	live--;
	bytes -= size_of(memory);
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : count(__real_malloc(size));
}

void *__wrap_calloc(size_t number, size_t size)
{
	return fails() ? NULL : count(__real_calloc(number, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
	void *moved;

	if (fails())
		return NULL;
	discount(memory);
	moved = __real_realloc(memory, size);
	return count(moved ? moved : memory);
}

char *__wrap_strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = __wrap_malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

void __wrap_free(void *memory)
{
	discount(memory);
	__real_free(memory);
}
