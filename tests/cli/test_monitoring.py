# SPDX-License-Identifier: MIT
"""tools/monitoring: the rules work, and name no metric that is not printed."""
import json
import os
import re
import shutil
import subprocess
import unittest

import harness
from harness import patience

TOP = os.path.join(harness.HERE, "..", "..")
MONITORING = os.path.join(TOP, "tools", "monitoring")


def read(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as text:
        return text.read()


class Monitoring(unittest.TestCase):
    def test_rules_and_dashboard_name_metrics_that_there_are(self):
        printed = set(re.findall(r'"(rowlock_[a-z_]+)"',
                                 read("tools", "metrics", "exposition.c") +
                                 read("tools", "reaper", "serve.c")))
        for name in ("alerts.yml", "alerts_test.yml", "dashboard.json"):
            used = set(re.findall(r"\browlock_[a-z_]+", read("tools", "monitoring", name)))
            self.assertTrue(used, name)
            self.assertEqual(used - printed, set(), name)

    def test_each_metric_is_in_the_manual(self):
        for source, page in (("metrics/exposition.c", "rowlock.1.scd"),
                             ("reaper/serve.c", "rowlock-reaperd.8.scd")):
            told = read("tools", "man", page)
            for name in re.findall(r'"(rowlock_[a-z_]+)"', read("tools", source)):
                self.assertIn(f"*{name}*", told)

    def test_the_dashboard_is_json(self):
        board = json.loads(read("tools", "monitoring", "dashboard.json"))
        self.assertEqual(board["title"], "rowlock")
        self.assertEqual(len({panel["id"] for panel in board["panels"]}),
                         len(board["panels"]))

    def test_the_query_for_sql_is_of_columns_that_the_view_has(self):
        query = read("tools", "monitoring", "sql_exporter.yml").partition("SELECT")[2]
        view = read("sql", "schema", "0008.sql").partition("VIEW lock_summary")[2]
        for column in re.findall(r"\b(strategy|kind|state|holds|oldest_held_s)\b", query):
            self.assertRegex(view, rf"\b{column}\b")

    def test_no_view_reads_another_view(self):
        # Where its account is not there a dump with such a one cannot be read.
        views = dict(re.findall(r"VIEW (\w+) AS(.*?);", read("sql", "schema", "0008.sql"),
                                re.S))
        self.assertEqual(sorted(views), ["job_status", "lock_status", "lock_summary"])
        for text in views.values():
            self.assertNotRegex(text, "|".join(views))

    def test_the_rules_alert_as_they_should(self):
        if not shutil.which("promtool"):
            self.skipTest("no promtool")
        for words in (["check", "rules", "alerts.yml"],
                      ["test", "rules", "alerts_test.yml"]):
            done = subprocess.run(["promtool", *words], cwd=MONITORING, text=True,
                                  capture_output=True, timeout=patience(), check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    harness.main()
