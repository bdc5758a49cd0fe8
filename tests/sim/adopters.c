/* SPDX-License-Identifier: MIT */
/*
 * Threads that hand a lease over, and others that take it, of the same process
 * or of another one. The string is where all of them find it, as in a file: it
 * may be used twice, come late, or from a process that is dead.
 *
 * A thread that has exported a lease waits for a while, which its process may
 * not survive; then it takes the lease back, adopts it itself, or leaves it, as
 * its process ends.
 */
#include <rowlock/adoption.h>

#include <string.h>

#include "app_private.h"
#include "judge.h"
#include "sim.h"
#include "tables.h"
#include "trace.h"

static bool is_plain(const struct sim_handle *handle)
{
	return !handle->row && !handle->names;
}

/* Its options exclude that, or a transaction is open, or in doubt. */
static bool may_refuse(int code)
{
	return code == ROWLOCK_EUNSUPPORTED ||
	       (code == ROWLOCK_EHELD && sim_world.guards);
}

static int adopt(struct sim_thread *thread, struct sim_handle *handle,
		 const struct sim_offer *offer)
{
	/* A handle that has lost what it exported is told of that first. */
	const bool told_first = handle->lock->hold != NULL;
	struct sim_call call;
	int code;

	thread->serial++;
	sim_trace((struct sim_note){ "adopt serial=%u name=%n",
				     { thread->serial, handle->name } });
	sim_thread_asks(thread, handle, &call, "adopt", 0);
	code = rowlock_adopt(handle->lock, offer->text, NULL);
	sim_thread_asked(thread, &call);
	sim_trace(
	    (struct sim_note){ "adopted serial=%u code=%d",
			       { thread->serial, (uint64_t) (int64_t) code } });
	/* An attempt never comes back to a row. */
	if (code == ROWLOCK_ELOST && !told_first &&
	    sim_offer_stands(handle->name, offer))
		sim_violation("A2: the lease of '%s' is there as it was "
			      "exported, and its adopter is told that it is "
			      "not",
			      sim_names[handle->name]);
	sim_judge_acquired(handle->lock, code);
	sim_app_code(SIM_CALL_OTHER, code);
	sim_app_expect("adopt", code,
		       code == ROWLOCK_ELOST || code == ROWLOCK_EBUSY ||
			   code == ROWLOCK_EUNSUPPORTED ||
			   (code == ROWLOCK_ECANCELED && handle->cancels));
	sim_thread_forget_cancels(handle);
	return code;
}

bool sim_adopter_takes(struct sim_thread *thread, struct sim_handle *handle)
{
	struct sim_offer offer = *sim_offer_of(handle->name);

	return is_plain(handle) && offer.text[0] && sim_below(4) &&
	       adopt(thread, handle, &offer) == 0;
}

unsigned int sim_adopter_name(unsigned int name)
{
	unsigned int offered = (unsigned int) sim_below(sim_world.names);

	return sim_offer_stands(offered, sim_offer_of(offered)) ? offered
								: name;
}

/* Not held, and neither lost nor free. */
static void wait_for_adopter(void)
{
	if (sim_below(2))
		sim_sleep(sim_between(0, 20000));
	else if (sim_below(4) == 0)
		sim_sleep(sim_between(0, (int64_t) sim_world.ttl_ms * 2000));
}

/* @tried: to adopt it by the same handle, which has found that it is another's.
 */
static int take_back(struct sim_handle *handle, struct sim_offer *offer,
		     uint64_t attempt, bool tried)
{
	struct sim_call call;
	int code;

	if (offer->attempt == attempt)
		offer->taken_back = true;
	sim_call_begin(&call, "take back", sim_world.call_ms);
	code = rowlock_release(handle->lock, NULL);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_RELEASE, code);
	sim_app_expect("the release of an exported lease", code,
		       code == ROWLOCK_ELOST ||
			   (code == ROWLOCK_ENOTHELD && tried) ||
			   (code == ROWLOCK_EUNKNOWN && !sim_world.calm));
	return code;
}

bool sim_adopter_gives(struct sim_thread *thread, struct sim_handle *handle)
{
	const uint64_t attempt = rowlock_attempt(handle->lock);
	const uint64_t session =
	    handle->lock->hold ? handle->lock->hold->session : 0;
	struct sim_offer *offer = sim_offer_of(handle->name);
	char text[sizeof(offer->text)];
	struct sim_offer mine;
	struct sim_call call;
	bool tries;
	int code;

	if (!is_plain(handle) || sim_below(3))
		return false;
	/* It is not held any more before the call has woken a waiter. */
	sim_judge_release(handle->lock);
	sim_call_begin(&call, "export", sim_world.call_ms);
	code = rowlock_export(handle->lock, text, sizeof(text), NULL);
	sim_call_end(&call);
	sim_trace(
	    (struct sim_note){ "exported serial=%u code=%d",
			       { thread->serial, (uint64_t) (int64_t) code } });
	sim_app_code(SIM_CALL_OTHER, code);
	sim_app_expect("export", code,
		       may_refuse(code) ||
			   (code == ROWLOCK_ELOST && !sim_world.calm));
	if (code) {
		sim_judge_gives(handle->lock, false);
		return false;
	}
	sim_judge_exported(handle->lock);
	mine = (struct sim_offer){ .attempt = attempt, .session = session };
	memcpy(mine.text, text, sizeof(text));
	*offer = mine;
	wait_for_adopter();
	/* Its client ends, and leaves it to whoever has the string. */
	if (!sim_world.ending && sim_app_leaves(thread->app)) {
		thread->app->exports = true;
		sim_judge_released(handle->lock, 0);
		return true;
	}
	tries = sim_below(4) == 0;
	if (tries && adopt(thread, handle, &mine) == 0)
		return false;
	if (rowlock_held(handle->lock))
		sim_violation("'%s' is held, and was not adopted",
			      sim_names[handle->name]);
	code = take_back(handle, offer, attempt, tries);
	sim_judge_released(handle->lock, code);
	return true;
}
