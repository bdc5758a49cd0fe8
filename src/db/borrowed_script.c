/* SPDX-License-Identifier: MIT */
/* Calls that are made of rlk_borrowed_run(). */
#include "db/borrowed_script.h"

#include "base/error.h"
#include "db/sql.h"

#define TRIES 5

/* Some changed tables have no transactions, and were not rolled back. */
#define WARNING_STAYS 1196

#define ROLLBACK "ROLLBACK AND NO CHAIN NO RELEASE"

enum rlk_fault rlk_borrowed_run_script(const struct rlk_borrowed *on,
				       struct rlk_script *script,
				       uint64_t *ret_numbers, size_t most,
				       size_t *ret_answered,
				       struct rowlock_errinfo *reterr)
{
	const char *text = rlk_script_end(script);
	enum rlk_fault fault = RLK_FAILED;

	*ret_answered = 0;
	if (text)
		fault = rlk_borrowed_run(on, text, ret_numbers, most,
					 ret_answered, reterr);
	else
		rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	rlk_sql_fini(&script->sql);
	return fault;
}

enum rlk_fault rlk_borrowed_number(const struct rlk_borrowed *on,
				   uint64_t *ret_number,
				   struct rowlock_errinfo *reterr)
{
	const bool changed = rlk_borrowed_affected(on) > 0;
	const uint64_t told = changed ? rlk_borrowed_insert_id(on) : 0;
	size_t answered;

	*ret_number = told;
	return told || !changed
		   ? RLK_DONE
		   : rlk_borrowed_run(on, "SELECT LAST_INSERT_ID() LIMIT 1",
				      ret_number, 1, &answered, reterr);
}

/* Something may have met it that was meant for the statement before. */
static enum rlk_fault try_again(const struct rlk_borrowed *on, const char *text,
				struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = RLK_FAILED;
	size_t answered;

	for (int i = 0; i < TRIES && fault && fault != RLK_UNKNOWN; i++)
		fault = rlk_borrowed_run(on, text, NULL, 0, &answered, reterr);
	return fault;
}

/* A statement that does nothing, for the flags of its answer. */
static enum rlk_fault ask_state(const struct rlk_borrowed *on,
				struct rowlock_errinfo *reterr)
{
	struct rlk_script text = { .failed = false };
	uint64_t number;

	if (on->clock)
		return try_again(on, "DO 0", reterr);
	rlk_script_put(&text, "DO 0");
	return rlk_borrowed_say_script(on, &text, &number, reterr);
}

int rlk_borrowed_look(const struct rlk_borrowed *on,
		      struct rlk_borrowed_state *ret_state,
		      struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo error = { 0 };
	int code = rlk_borrowed_ready(on, reterr);

	if (code || rlk_borrowed_recall(on, ret_state))
		return code;
	if (!ask_state(on, &error) && rlk_borrowed_recall(on, ret_state))
		return 0;
	return rlk_fail_db(
	    reterr, error.code ? error.code : ROWLOCK_EDB, error.mysql,
	    "whether a transaction is open is not known: %s", error.message);
}

int rlk_borrowed_pin(const struct rlk_borrowed *on, bool *ret_reconnects,
		     struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo error = { 0 };
	int code = rlk_borrowed_ready(on, reterr);

	if (code || !rlk_borrowed_reconnects(on))
		return code;
	if (ask_state(on, &error))
		return rlk_fail_db(reterr, error.code, error.mysql, "%s",
				   error.message);
	*ret_reconnects = true;
	rlk_borrowed_let_reconnect(on, false);
	return 0;
}

enum rlk_fault rlk_borrowed_insist(const struct rlk_borrowed *on,
				   const char *text,
				   struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = try_again(on, text, reterr);

	if (fault)
		rlk_borrowed_close(on);
	return fault;
}

/* Two texts: nothing is known of whether it takes several statements in one. */
enum rlk_fault rlk_borrowed_roll_back(const struct rlk_borrowed *on,
				      enum rlk_autocommit autocommit,
				      struct rowlock_errinfo *reterr)
{
	static const char *const texts[] = {
		[RLK_AUTOCOMMIT_OFF] = "SET SESSION autocommit = 0",
		[RLK_AUTOCOMMIT_ON] = "SET SESSION autocommit = 1",
	};
	enum rlk_fault fault = rlk_borrowed_insist(on, ROLLBACK, reterr);

	if (!fault && on->rows_stay && rlk_borrowed_warned(on, WARNING_STAYS))
		*on->rows_stay = true;
	if (fault || autocommit == RLK_AUTOCOMMIT_AS_IT_IS)
		return fault;
	return rlk_borrowed_insist(on, texts[autocommit], reterr);
}
