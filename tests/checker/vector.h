/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_CHECKER_VECTOR_H
#define ROWLOCK_CHECKER_VECTOR_H

#include <stddef.h>
#include <stdlib.h>

/** @array with room for one more after @n of @size bytes. A checker without
 *  memory has nothing to say: it ends. */
static inline void *vector_grow(void *array, size_t n, size_t *room,
				size_t size)
{
	if (n < *room)
		return array;
	*room = *room ? *room * 2 : 64;
	array = realloc(array, *room * size);
	if (!array)
		abort();
	return array;
}

#endif
