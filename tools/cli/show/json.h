/* SPDX-License-Identifier: MIT */
#ifndef CLI_JSON_H
#define CLI_JSON_H

/*
 * Members of a JSON object on stdout, each behind a comma. An unknown value is
 * null, never 0.
 */

#include <stdbool.h>
#include <stdint.h>

void json_text(const char *key, const char *value);

/** Null if nothing is known. */
void json_known(const char *key, const char *value);

void json_number(const char *key, bool known, uint64_t value);
void json_signed(const char *key, bool known, int64_t value);

/** All 64 bits, of which many readers of JSON keep 53; 0 is null. */
void json_bits(const char *key, uint64_t value);

/** "2026-11-20 12:00:00.000000" (UTC) as RFC 3339 writes it; "" is null. */
void json_time(const char *key, const char *text);

#endif
