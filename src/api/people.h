/* SPDX-License-Identifier: MIT */
#ifndef RLK_API_PEOPLE_H
#define RLK_API_PEOPLE_H

#include <rowlock/admin.h>

/** Check @given. *@ret_options has a flag for each strategy that is to be
 *  listed. Returns 0 or ROWLOCK_EINVAL. */
int rlk_list_options_read(const struct rowlock_list_options *given,
			  struct rowlock_list_options *ret_options,
			  struct rowlock_errinfo *reterr);

/** The pattern for LIKE, with '!' as its escape character, of the names that
 *  @options asks for. The caller frees it; NULL without memory. */
char *rlk_list_like(const struct rowlock_list_options *options);

#endif
