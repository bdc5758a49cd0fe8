/* SPDX-License-Identifier: MIT */
/*
 * A hold keeps its reason until its handle is freed, and there may be a hundred
 * thousand of them: a reason is a text of the client's, of which it keeps few.
 *
 * Failure modes: after RLK_REASONS different ones, the reason of a loss is that
 * no heartbeat succeeded, or that it was adopted, without more.
 */
#include "hold/late.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATE "no heartbeat succeeded in time"

const char *rlk_reason_keep_locked(struct rowlock_client *client,
				   const char *text)
{
	for (size_t i = 0; i < RLK_REASONS; i++) {
		if (!client->reasons[i])
			return client->reasons[i] = strdup(text);
		if (strcmp(client->reasons[i], text) == 0)
			return client->reasons[i];
	}
	return NULL;
}

void rlk_late_note_locked(struct rowlock_client *client,
			  const struct rowlock_errinfo *error)
{
	char text[sizeof(error->message) + sizeof(LATE) + 16];

	snprintf(text, sizeof(text), LATE "; the last: %s", error->message);
	client->session.late = rlk_reason_keep_locked(client, text);
}

const char *rlk_late_reason_locked(const struct rowlock_client *client)
{
	const char *late = client->session.late;

	return late ? late : LATE;
}
