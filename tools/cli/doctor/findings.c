/* SPDX-License-Identifier: MIT */
/*
 * Keeps findings and prints them. Failure modes: a finding for which there is
 * no room is dropped (no examination makes 64), a long text is cut.
 */
#include "doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/text.h"

static const char *const section_words[] = {
	[SECTION_SERVER] = "Server",
	[SECTION_ENGINE] = "Engine and proxy",
	[SECTION_DURABILITY] = "Durability",
	[SECTION_CLOCK] = "Clock",
	[SECTION_SCHEMA] = "Schema",
	[SECTION_RIGHTS] = "Rights",
	[SECTION_TIMEOUTS] = "Time-outs",
	[SECTION_CLUSTER] = "Cluster",
	[SECTION_TLS] = "TLS",
	[SECTION_LOAD] = "Load",
	[SECTION_LIVE] = "Live",
};

static const char *const verdict_words[] = {
	[VERDICT_OK] = "ok",
	[VERDICT_UNKNOWN] = "unknown",
	[VERDICT_ADVICE] = "advice",
	[VERDICT_WRONG] = "wrong",
};

void findings_add(struct findings *findings, enum section section,
		  enum verdict verdict, const char *next, const char *format,
		  ...)
{
	struct finding *finding = &findings->list[findings->count];
	va_list args;

	if (findings->count == RLK_ARRAY_SIZE(findings->list))
		return;
	findings->count++;
	finding->section = section;
	finding->verdict = verdict;
	va_start(args, format);
	vsnprintf(finding->reason, sizeof(finding->reason), format, args);
	va_end(args);
	snprintf(finding->next, sizeof(finding->next), "%s", next ? next : "");
}

bool findings_has(const struct findings *findings, enum section section)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].section == section)
			return true;
	return false;
}

enum verdict findings_verdict(const struct findings *findings,
			      enum section section)
{
	enum verdict worst = VERDICT_OK;

	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].section == section &&
		    findings->list[i].verdict > worst)
			worst = findings->list[i].verdict;
	return worst;
}

enum verdict findings_worst(const struct findings *findings)
{
	enum verdict worst = VERDICT_OK;

	for (size_t i = 0; i < SECTIONS; i++)
		if (findings_verdict(findings, (enum section) i) > worst)
			worst = findings_verdict(findings, (enum section) i);
	return worst;
}

bool findings_decided(const struct findings *findings)
{
	static const enum section decide[] = {
		SECTION_SERVER,
		SECTION_SCHEMA,
		SECTION_RIGHTS,
		SECTION_LIVE,
	};

	for (size_t i = 0; i < findings->count; i++)
		for (size_t j = 0; j < RLK_ARRAY_SIZE(decide); j++)
			if (findings->list[i].section == decide[j] &&
			    findings->list[i].verdict == VERDICT_UNKNOWN)
				return false;
	return true;
}

static void put_json(const struct finding *finding, bool first)
{
	printf("%s{\"section\":\"%s\",\"verdict\":\"%s\",\"reason\":",
	       first ? "\n" : ",\n", section_words[finding->section],
	       verdict_words[finding->verdict]);
	text_json(stdout, finding->reason);
	fputs(",\"next\":", stdout);
	if (*finding->next)
		text_json(stdout, finding->next);
	else
		fputs("null", stdout);
	putchar('}');
}

static void put_line(const struct finding *finding)
{
	printf("%-17s %-8s ", section_words[finding->section],
	       verdict_words[finding->verdict]);
	text_escape(stdout, finding->reason, false);
	putchar('\n');
	if (!*finding->next)
		return;
	printf("%-26s -> ", "");
	text_escape(stdout, finding->next, false);
	putchar('\n');
}

void findings_put(const struct findings *findings, bool json)
{
	bool first = true;

	if (json)
		printf("{\"verdict\":\"%s\",\"findings\":[",
		       verdict_words[findings_worst(findings)]);
	for (size_t section = 0; section < SECTIONS; section++)
		for (size_t i = 0; i < findings->count; i++) {
			if (findings->list[i].section != section)
				continue;
			if (json)
				put_json(&findings->list[i], first);
			else
				put_line(&findings->list[i]);
			first = false;
		}
	if (json)
		puts("\n]}");
}
