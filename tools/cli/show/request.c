/* SPDX-License-Identifier: MIT */
/*
 * See request.h. Failure modes: main() checks that stdout could be written.
 */
#include "show/request.h"

#include <stdio.h>

#include "common/terms.h"
#include "common/text.h"
#include "show/json.h"

const char *request_word(enum rowlock_answer answer)
{
	switch (answer) {
	case ROWLOCK_ANSWER_HEARD:
		return "knows";
	case ROWLOCK_ANSWER_LATER:
		return "gives it back when it is done";
	case ROWLOCK_ANSWER_NO:
		return "does not give it back";
	case ROWLOCK_ANSWER_NONE:
	case ROWLOCK_ANSWER_UNASKED:
		break;
	}
	return "has not answered";
}

bool request_is_for(const struct rowlock_revocation *asked,
		    const struct rowlock_entry *entry)
{
	return asked->answer != ROWLOCK_ANSWER_UNASKED && asked->attempt &&
	       entry->strategy == ROWLOCK_LEASE &&
	       entry->kind == ROWLOCK_KIND_LOCK &&
	       entry->attempt == asked->attempt;
}

void request_put_json(const struct rowlock_revocation *asked)
{
	fputs(",\"asked\":{\"host\":", stdout);
	text_json(stdout, asked->host);
	json_number("pid", asked->pid > 0, asked->pid);
	json_known("program", asked->program);
	json_known("reason", asked->reason);
	json_time("asked_at", asked->asked_at);
	json_known("answer", answer_word(asked->answer));
	putchar('}');
}

void request_put_lines(const struct rowlock_revocation *asked)
{
	fputs("asked by:   ", stdout);
	text_escape(stdout, asked->program, true);
	printf("[%u]@", asked->pid);
	text_escape(stdout, asked->host, true);
	fputs("\nreason:     ", stdout);
	text_escape(stdout, *asked->reason ? asked->reason : "-", true);
	printf("\nanswer:     the holder %s\n", request_word(asked->answer));
}
