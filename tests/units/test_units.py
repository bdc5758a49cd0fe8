# SPDX-License-Identifier: MIT
"""The units of docs/cron.md, docs/monitoring.md and the daemon's, started and stopped
by systemd.

tests/units/boot runs this as root, in a container of its own."""
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
import urllib.request

LONGEST_S = 300
CATALOG = "/usr/lib/systemd/catalog/rowlock.catalog"
SECRET = "a word that nobody prints"


def run(*argv, check=True, **more):
    return subprocess.run(argv, text=True, capture_output=True, check=check,
                          timeout=LONGEST_S, **more)


def sql(text):
    return run("mariadb", "-N", "rowlock", "-e", text).stdout.strip()


def systemctl(*argv, **more):
    return run("systemctl", *argv, **more).returncode


def shown(unit, what):
    return run("systemctl", "show", "-P", what, unit).stdout.strip()


def until(what, condition):
    """There is no event to wait for in another's process."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > LONGEST_S:
            raise AssertionError(f"waited {LONGEST_S} s until {what}")
        time.sleep(0.1)


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def contents(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def option_file(path, user, password=SECRET):
    write(path, f"[rowlock]\nsocket=/run/mysqld/mysqld.sock\nuser={user}\n"
          f"password={password}\ndatabase=rowlock\n", 0o600)


def units_of_the_page():
    with open("/test/cron.md", encoding="utf-8") as page:
        return dict(re.findall(r"```ini\n# (/etc/systemd/\S+)\n(.*?)```", page.read(),
                               re.S))


def options_of_the_page():
    """What docs/monitoring.md writes by systemctl edit."""
    with open("/test/monitoring.md", encoding="utf-8") as page:
        shown = re.search(r"^systemctl edit rowlock-reaperd\n((?:# .*\n)+)", page.read(),
                          re.M)
    return re.sub("^# ", "", shown[1], flags=re.M)


def entries(unit):
    """What the journal has of the unit, oldest first."""
    run("journalctl", "--sync")
    return [json.loads(line) for line in run(
        "journalctl", "-u", unit, "-o", "json").stdout.splitlines()]


def number_of(subject):
    with open(CATALOG, encoding="utf-8") as catalog:
        return re.search(rf"-- (\w+)\nSubject: {re.escape(subject)}\n",
                         catalog.read())[1]


def set_up():
    sql_as_root = ("CREATE DATABASE rowlock; "
                   f"CREATE USER app@localhost IDENTIFIED BY '{SECRET}'; "
                   f"CREATE USER rowlock_reaper@localhost IDENTIFIED BY '{SECRET}'; "
                   "GRANT ALL ON rowlock.* TO app@localhost; "
                   "GRANT ALL ON rowlock.* TO rowlock_reaper@localhost")
    run("mariadb", "-e", sql_as_root)
    option_file("/root/migrate.cnf", "app")
    run("rowlock-migrate", "--defaults-file=/root/migrate.cnf")
    for path, text in units_of_the_page().items():
        write(path, text)
        user = re.search("^User=(.*)$", text, re.M)
        if not user:
            continue
        run("useradd", "--create-home", user[1])
        option_file(f"/home/{user[1]}/.my.cnf", "app")
        run("chown", f"{user[1]}:", f"/home/{user[1]}/.my.cnf")
        # Tells that it runs, and that it is told to end.
        write(f"/usr/local/bin/{user[1]}",
              "#!/bin/sh\n[ ! -e /test/short ] || exit 0\n"
              "trap 'echo told to end; exit 0' TERM\necho at work\n"
              "while :; do sleep 0.1; done\n", 0o755)
    systemctl("daemon-reload")


def at_work(unit):
    return sum(e["MESSAGE"] == "at work" for e in entries(unit))


class Units(unittest.TestCase):
    def tearDown(self):
        for unit in ("importer", "mailer", "report", "rowlock-reaperd"):
            systemctl("stop", unit, check=False)
            systemctl("reset-failed", unit, check=False)

    def assert_stopped_well(self, unit):
        self.assertEqual(shown(unit, "ActiveState"), "inactive", entries(unit))
        self.assertEqual(shown(unit, "Result"), "success", entries(unit))
        self.assertEqual(sql("SELECT name, acquired_at FROM business_lease "
                             f"WHERE name NOT LIKE '_rowlock%'"), "")

    def test_a_timer_runs_the_job(self):
        write("/test/short", "")
        self.addCleanup(os.unlink, "/test/short")
        self.assertEqual(systemctl("start", "report.timer"), 0)
        self.assertEqual(shown("report.timer", "ActiveState"), "active")
        self.assertEqual(systemctl("start", "report.service"), 0)
        self.assert_stopped_well("report")
        systemctl("stop", "report.timer")

    def test_a_job_that_systemd_stops_is_no_failure(self):
        systemctl("start", "--no-block", "report.service")
        until("the job is at work", lambda: at_work("report"))
        self.assertEqual(systemctl("stop", "report.service"), 0)
        self.assert_stopped_well("report")

    def test_a_service_that_waits_for_its_turn_is_stopped_at_once(self):
        holder = subprocess.Popen(
            ["rowlock", "hold", "--defaults-file=/root/migrate.cnf", "importer"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.kill)
        self.assertTrue(holder.stdout.readline())
        before = at_work("importer")
        systemctl("start", "importer")
        until("it waits", lambda: sql(
            "SELECT COUNT(*) FROM information_schema.processlist "
            "WHERE state = 'User lock'") != "0")
        self.assertEqual(systemctl("stop", "importer"), 0)
        self.assertEqual(at_work("importer"), before)
        self.assertEqual(shown("importer", "Result"), "success")
        # Its turn has come.
        systemctl("start", "importer")
        holder.communicate()
        until("it is at work", lambda: at_work("importer") > before)
        self.assertEqual(systemctl("stop", "importer"), 0)
        self.assert_stopped_well("importer")
        self.assertIn("told to end", [e["MESSAGE"] for e in entries("importer")])

    def test_a_service_on_one_of_many_hosts_leads_again_after_its_death(self):
        before = at_work("mailer")
        systemctl("start", "mailer")
        until("it is at work", lambda: at_work("mailer") > before)
        os.kill(int(shown("mailer", "MainPID")), 9)
        until("it is at work again", lambda: at_work("mailer") > before + 1)
        self.assertEqual(systemctl("stop", "mailer"), 0)
        self.assert_stopped_well("mailer")

    def test_a_loss_is_an_entry_that_the_catalogue_explains(self):
        before = at_work("mailer")
        systemctl("start", "mailer")
        until("it is at work", lambda: at_work("mailer") > before)
        run("rowlock", "break", "--defaults-file=/root/migrate.cnf", "mailer")
        lost = number_of("The lock @ROWLOCK_NAME@ was lost")
        until("it has learned that", lambda: any(
            e.get("MESSAGE_ID") == lost for e in entries("mailer")))
        entry, = (e for e in entries("mailer") if e.get("MESSAGE_ID") == lost)
        self.assertEqual((entry["PRIORITY"], entry["ROWLOCK_NAME"],
                          entry["SYSLOG_IDENTIFIER"], entry["_SYSTEMD_UNIT"]),
                         ("3", "mailer", "rowlock", "mailer.service"))
        run("journalctl", "--update-catalog")
        self.assertIn("Subject: The lock mailer was lost", run(
            "journalctl", "-x", "-u", "mailer").stdout)

    def test_what_will_not_get_better_is_not_started_again(self):
        option_file("/home/mailer/.my.cnf", "app", "another")
        run("chown", "mailer:", "/home/mailer/.my.cnf")
        self.addCleanup(run, "chown", "mailer:", "/home/mailer/.my.cnf")
        self.addCleanup(option_file, "/home/mailer/.my.cnf", "app")
        systemctl("start", "mailer")
        until("it has ended", lambda: shown("mailer", "ActiveState") == "failed")
        self.assertEqual(shown("mailer", "ExecMainStatus"), "125")
        self.assertEqual(shown("mailer", "NRestarts"), "0")
        self.assertEqual(entries("mailer")[-1]["_PID"], "1")
        self.assertTrue(any(e["PRIORITY"] == "3" and "app" in e["MESSAGE"]
                            for e in entries("mailer") if e["_PID"] != "1"))

    def test_the_daemon_is_ready_after_its_first_pass(self):
        option_file("/etc/rowlock/reaperd.cnf", "rowlock_reaper")
        self.assertEqual(systemctl("start", "rowlock-reaperd"), 0)
        self.assertIn("Removed 0 rows", shown("rowlock-reaperd", "StatusText"))
        self.assertEqual(systemctl("reload", "rowlock-reaperd"), 0)
        self.assertIn("reloaded", " ".join(
            e["MESSAGE"] for e in entries("rowlock-reaperd")))
        self.assertEqual(systemctl("stop", "rowlock-reaperd"), 0)
        self.assertEqual(shown("rowlock-reaperd", "Result"), "success")

    def test_the_daemon_serves_its_metrics_and_its_page(self):
        option_file("/etc/rowlock/reaperd.cnf", "rowlock_reaper")
        more = "/etc/systemd/system/rowlock-reaperd.service.d/override.conf"
        write(more, options_of_the_page())
        systemctl("daemon-reload")
        self.addCleanup(systemctl, "daemon-reload")
        self.addCleanup(os.unlink, more)
        self.assertEqual(systemctl("restart", "rowlock-reaperd"), 0)
        with urllib.request.urlopen("http://127.0.0.1:9188/metrics") as answer:
            text = answer.read().decode()
        self.assertIn("\nrowlock_up 1\n", text)
        self.assertIn('class="nightly"', text)
        with urllib.request.urlopen("http://127.0.0.1:9188/") as answer:
            self.assertIn("<!DOCTYPE html>", answer.read().decode())
        self.assertEqual(systemctl("stop", "rowlock-reaperd"), 0)
        self.assertEqual(shown("rowlock-reaperd", "Result"), "success")

    def test_a_timer_writes_the_metrics_into_a_file(self):
        option_file("/etc/rowlock/reaperd.cnf", "rowlock_reaper")
        place = "/var/lib/prometheus/node-exporter"
        os.makedirs(place)
        for unit in ("rowlock-metrics.service", "rowlock-metrics.timer"):
            shutil.copy(f"/usr/share/rowlock/monitoring/{unit}", "/etc/systemd/system")
        systemctl("daemon-reload")
        self.assertEqual(systemctl("enable", "--now", "rowlock-metrics.timer"), 0)
        self.addCleanup(systemctl, "disable", "--now", "rowlock-metrics.timer")
        until("it has written", lambda: os.path.exists(f"{place}/rowlock.prom"))
        systemctl("stop", "rowlock-metrics.timer")
        until("it has ended", lambda: shown("rowlock-metrics", "ActiveState") == "inactive")
        self.assertIn("\nrowlock_up 1\n", contents(f"{place}/rowlock.prom"))
        # Its socket would start it.
        server = ("mariadb.socket", "mariadb.service")
        systemctl("stop", *server)
        self.addCleanup(systemctl, "start", *server)
        self.assertEqual(systemctl("start", "rowlock-metrics"), 0)
        self.assertIn("\nrowlock_up 0\n", contents(f"{place}/rowlock.prom"))
        self.assertEqual(os.listdir(place), ["rowlock.prom"])

    def test_the_daemon_with_a_wrong_account_fails_at_its_start_and_stays_so(self):
        option_file("/etc/rowlock/reaperd.cnf", "rowlock_reaper", "another")
        self.assertNotEqual(systemctl("start", "rowlock-reaperd", check=False), 0)
        self.assertEqual(shown("rowlock-reaperd", "ActiveState"), "failed")
        self.assertEqual(shown("rowlock-reaperd", "ExecMainStatus"), "78")
        self.assertEqual(shown("rowlock-reaperd", "NRestarts"), "0")

    def test_the_daemon_starts_before_its_server_and_waits_for_it(self):
        option_file("/etc/rowlock/reaperd.cnf", "rowlock_reaper")
        # Its socket would start it.
        server = ("mariadb.socket", "mariadb.service")
        systemctl("stop", *server)
        self.addCleanup(systemctl, "start", *server)
        self.assertEqual(systemctl("start", "rowlock-reaperd"), 0)
        away = number_of("rowlock-reaperd cannot work for now")
        self.assertIn(away, [e.get("MESSAGE_ID", e["MESSAGE"])
                             for e in entries("rowlock-reaperd")])
        systemctl("start", *server)
        until("it is at work", lambda: "Removed" in shown(
            "rowlock-reaperd", "StatusText"))

    def test_nothing_tells_the_password(self):
        self.assertNotIn(SECRET, run("journalctl", "-a").stdout)


if __name__ == "__main__":
    set_up()
    done = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result
    print(f"counts: {done.testsRun} cases on systemd",
          run("systemctl", "--version").stdout.split()[1], file=sys.stderr)
    sys.exit(not done.wasSuccessful())
