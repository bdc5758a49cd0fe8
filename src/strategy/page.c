/* SPDX-License-Identifier: MIT */
#include "strategy/page.h"

#include <stdio.h>

bool rlk_page_turn(struct rlk_page *page, struct rlk_page *ret_from)
{
	if (!rlk_page_more(page))
		return false;
	*ret_from = *page;
	page->rows = 0;
	page->first = false;
	return true;
}

bool rlk_page_note(struct rlk_page *page, const char *name, uint64_t slot)
{
	if (page->rows >= page->limit)
		return false;
	page->rows++;
	page->slot = slot + 1;
	snprintf(page->name, sizeof(page->name), "%s", name);
	return true;
}
