/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_MACRO_H
#define RLK_BASE_MACRO_H

/*
 * The only macros of the library. None changes control flow, none hides a
 * variable.
 */

#include <stddef.h>

/** Run @fn(&variable) when the variable's block is left. A guard is never read.
 */
#define _cleanup_(fn) __attribute__((cleanup(fn), unused))

/** The value of @pointer, which is NULL afterwards: ownership moves on. */
#define TAKE_PTR(pointer)                                                      \
	__extension__({                                                        \
		__typeof__(pointer) taken_ = (pointer);                        \
		(pointer) = NULL;                                              \
		taken_;                                                        \
	})

/** The struct of @type that @pointer's target is the @member of. */
#define container_of(pointer, type, member)                                    \
	((type *) (void *) ((char *) (pointer) -offsetof(type, member)))

#define RLK_ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define RLK_PRINTF(text, first) __attribute__((format(printf, text, first)))

#endif
