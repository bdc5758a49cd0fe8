/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_LIST_H
#define RLK_BASE_LIST_H

/*
 * An intrusive, circular, doubly linked list. A node that is in no list points
 * to itself, so that rlk_list_remove() may be called twice.
 */

#include <stdbool.h>

#include "base/macro.h"

struct rlk_list {
	struct rlk_list *next;
	struct rlk_list *prev;
};

#define RLK_LIST_INIT(list)                                                    \
	{                                                                      \
		&(list), &(list)                                               \
	}

static inline void rlk_list_init(struct rlk_list *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool rlk_list_empty(const struct rlk_list *list)
{
	return list->next == list;
}

static inline void rlk_list_append(struct rlk_list *list, struct rlk_list *node)
{
	node->prev = list->prev;
	node->next = list;
	list->prev->next = node;
	list->prev = node;
}

static inline void rlk_list_remove(struct rlk_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	rlk_list_init(node);
}

/** The first node, NULL if there is none. */
static inline struct rlk_list *rlk_list_first(const struct rlk_list *list)
{
	return rlk_list_empty(list) ? NULL : list->next;
}

/** Walk the structs whose @member is in @list; the present one may be removed.
 */
#define rlk_list_each(entry, list, member)                                     \
	for (struct rlk_list *node_ = (list)->next, *after_ = node_->next;     \
	     node_ != (list) &&                                                \
	     ((entry) = container_of(node_, __typeof__(*(entry)), member));    \
	     node_ = after_, after_ = node_->next)

/** Walk the nodes alone. */
#define rlk_list_for_each(node, after, list)                                   \
	for ((node) = (list)->next, (after) = (node)->next; (node) != (list);  \
	     (node) = (after), (after) = (node)->next)

#endif
