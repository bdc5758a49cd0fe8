/* SPDX-License-Identifier: MIT */
/*
 * See recipe.h.
 */
#include "recipe/recipe.h"

#include "base/error.h"
#include "base/sized.h"

#include <stdlib.h>

static int check(const struct rowlock_options *options,
		 struct rowlock_errinfo *reterr)
{
	if (options->strategy == ROWLOCK_ROW)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"the row strategy has none; use ROWLOCK_LEASE");
	if (options->at_least_ms || options->delay_after_loss_ms)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"only the name of a plain lock can be kept; "
				"leave out at_least_ms and "
				"delay_after_loss_ms");
	if (options->flags & ROWLOCK_TOKEN_WITH_GRANT)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"it is granted without a token; leave out "
				"ROWLOCK_TOKEN_WITH_GRANT");
	return 0;
}

int rlk_recipe_options(const char *what, const char *name,
		       const struct rowlock_options *options,
		       struct rowlock_options *ret_options,
		       struct rowlock_errinfo *reterr)
{
	int code = rlk_options_read("lock options", options, ret_options,
				    sizeof(*ret_options), reterr);

	if (!code)
		code = check(ret_options, reterr);
	if (code && name)
		rlk_prefix(reterr, "%s '%.150s': ", what, name);
	else if (code)
		rlk_prefix(reterr, "%s: ", what);
	if (code)
		return code;
	ret_options->flags &= ~(unsigned int) ROWLOCK_OWNER_THREAD;
	ret_options->flags |= ROWLOCK_OWNER_HANDLE | ROWLOCK_NOT_REENTRANT;
	return 0;
}

int rlk_recipe_make(struct rowlock_client *client, const char *name,
		    const struct rlk_strategy *strategy,
		    const struct rowlock_options *options,
		    struct rlk_recipe *recipe, struct rowlock **ret_lock,
		    struct rowlock_errinfo *reterr)
{
	int code;

	if (!recipe)
		return rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	code = rlk_lock_make(client, name, strategy, options, ret_lock, reterr);
	if (code)
		free(recipe);
	else
		(*ret_lock)->recipe = recipe;
	return code;
}
