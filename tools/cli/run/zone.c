/* SPDX-License-Identifier: MIT */
/*
 * See zone.h. C has one zone a process, in TZ, which is the command's as well,
 * and must not change while other threads read the environment. So all offsets
 * are read at once: a look at each day, and between two that differ a search
 * for the second. No zone has changed twice within a day since 1970.
 *
 * Failure modes: C takes a zone that it does not know for UTC, so the file of
 * the zone is looked at first.
 */
#include "run/zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY 86400
#define END (131 * 366ll * DAY)

/* Not the same on all hosts. */
static bool is_of_this_host(const char *name)
{
	return strcmp(name, "localtime") == 0 ||
	       strcmp(name, "posixrules") == 0 || strcmp(name, "Factory") == 0;
}

/* No way out of the folder, and no leap seconds, which the server has not. */
static bool is_name(const char *name)
{
	return *name && *name != '/' && !strstr(name, "..") &&
	       !is_of_this_host(name) && strncmp(name, "right/", 6) != 0 &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "abcdefghijklmnopqrstuvwxyz0123456789_+-/") ==
		   strlen(name);
}

static bool is_there(const char *name)
{
	const char *folder = getenv("TZDIR");
	char path[512], magic[4] = "", last = '\0';
	FILE *file;

	if (!folder || !*folder)
		folder = "/usr/share/zoneinfo";
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >=
	    (int) sizeof(path))
		return false;
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fread(magic, 1, sizeof(magic), file) != sizeof(magic))
		magic[0] = '\0';
	/* The rule for later years is its last line. */
	if (fseek(file, -1, SEEK_END) || fread(&last, 1, 1, file) != 1)
		last = '\0';
	fclose(file);
	return memcmp(magic, "TZif", sizeof(magic)) == 0 && last == '\n';
}

static int offset_now(int64_t second)
{
	time_t t = second;
	struct tm tm;

	return localtime_r(&t, &tm) ? (int) tm.tm_gmtoff : 0;
}

static void add(struct zone *zone, int64_t at, int offset)
{
	if (zone->count < ZONE_CHANGES)
		zone->changes[zone->count++] =
		    (struct zone_change){ at, offset };
}

/* The first second after @from, up to @to, with another offset. */
static int64_t find_change(int64_t from, int64_t to)
{
	int before = offset_now(from);

	while (to - from > 1) {
		int64_t middle = from + (to - from) / 2;

		if (offset_now(middle) == before)
			from = middle;
		else
			to = middle;
	}
	return to;
}

static void read_all(struct zone *zone)
{
	int before = offset_now(0);

	add(zone, INT64_MIN, before);
	for (int64_t day = DAY; day <= END; day += DAY) {
		int now = offset_now(day);

		if (now != before)
			add(zone, find_change(day - DAY, day), now);
		before = now;
	}
}

static void set_tz(const char *value)
{
	if (value)
		setenv("TZ", value, 1);
	else
		unsetenv("TZ");
	tzset();
}

bool zone_read(struct zone *zone, const char *name)
{
	const char *tz = getenv("TZ");
	char *before, colon[256];

	zone->count = 0;
	if (!is_name(name) || !is_there(name) ||
	    snprintf(colon, sizeof(colon), ":%s", name) >= (int) sizeof(colon))
		return false;
	before = tz ? strdup(tz) : NULL;
	if (tz && !before)
		return false;
	set_tz(colon);
	read_all(zone);
	set_tz(before);
	free(before);
	return true;
}

int zone_offset(const struct zone *zone, int64_t second)
{
	size_t low = 0, high = zone->count;

	if (!zone->count)
		return 0;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (zone->changes[middle].at <= second)
			low = middle;
		else
			high = middle;
	}
	return zone->changes[low].offset;
}
