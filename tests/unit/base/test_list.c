/* SPDX-License-Identifier: MIT */
/*
 * The intrusive list.
 */
#include "base/list.h"

#include "test.h"

struct item {
	int number;
	struct rlk_list node;
};

static int number_of(struct rlk_list *node)
{
	return container_of(node, struct item, node)->number;
}

CASE("nodes stand in the order they came")
{
	struct rlk_list list = RLK_LIST_INIT(list);
	struct item items[5];
	struct rlk_list *node;
	struct rlk_list *after;
	int expected = 0;

	assert_true(rlk_list_empty(&list));
	assert_null(rlk_list_first(&list));
	for (int i = 0; i < 5; i++) {
		items[i].number = i;
		rlk_list_append(&list, &items[i].node);
	}
	assert_false(rlk_list_empty(&list));
	assert_int_equal(number_of(rlk_list_first(&list)), 0);
	rlk_list_for_each(node, after, &list)
	{
		assert_int_equal(number_of(node), expected++);
	}
	assert_int_equal(expected, 5);
}

CASE("the present node may be removed while walking")
{
	struct rlk_list list = RLK_LIST_INIT(list);
	struct item items[6];
	struct rlk_list *node;
	struct rlk_list *after;
	int sum = 0;

	for (int i = 0; i < 6; i++) {
		items[i].number = i;
		rlk_list_append(&list, &items[i].node);
	}
	rlk_list_for_each(node, after, &list)
	{
		if (number_of(node) % 2)
			rlk_list_remove(node);
	}
	rlk_list_for_each(node, after, &list)
	{
		sum += number_of(node);
	}
	assert_int_equal(sum, 0 + 2 + 4);
}

CASE("removing twice does no harm")
{
	struct rlk_list list = RLK_LIST_INIT(list);
	struct item first = { .number = 1 };
	struct item second = { .number = 2 };

	rlk_list_append(&list, &first.node);
	rlk_list_append(&list, &second.node);
	rlk_list_remove(&first.node);
	rlk_list_remove(&first.node);
	assert_true(rlk_list_empty(&first.node));
	assert_int_equal(number_of(rlk_list_first(&list)), 2);
	rlk_list_append(&list, &first.node);
	assert_int_equal(number_of(list.prev), 1);
}

CASE_MAIN(case_main)
