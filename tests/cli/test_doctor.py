# SPDX-License-Identifier: MIT
"""rowlock doctor: each verdict of each section, on a server of its own.

What a server cannot be made to say in a test, a relay in between makes of its answers.
"""
import glob
import json
import os
import re
import socket
import subprocess
import threading
import unittest

import harness
import own_server
import test_tls
from false_server import FalseServer, Talk
from harness import Together, patience
from own_server import OwnServer
from packets import Gone, packet, receive

CLI = os.environ.get("ROWLOCK_TOOL", "rowlock")
SECTIONS = ["Server", "Engine and proxy", "Durability", "Clock", "Schema", "Rights",
            "Time-outs", "Cluster", "TLS", "Load", "Live"]
DECIDE = ["Server", "Schema", "Rights", "Live"]


def sized(text):
    return bytes([len(text)]) + text


def error(number, text):
    return b"\xff" + number.to_bytes(2, "little") + b"#HY000" + text


class Request:
    """A packet of the client: no two are the same."""

    def __init__(self, text):
        self.text = text

    def __contains__(self, part):
        return part in self.text


class Relay:
    """Passes packets on; what a server says goes through @rewrite(request, payload)."""

    def __init__(self, port, rewrite, keeps=False):
        self.port_of_server, self.rewrite, self.keeps = port, rewrite, keeps
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port_of_server))
            self.sockets += [client, server]
            request = [Request(b"")]
            for work in (self.ask, self.answer):
                threading.Thread(target=work, args=(client, server, request),
                                 daemon=True).start()

    def ask(self, client, server, request):
        try:
            while True:
                number, payload = receive(client)
                request[0] = Request(payload)
                # The server's own error has no rows behind it.
                server.sendall(packet(number, payload.replace(
                    getattr(self.rewrite, "spoils", b"\0SPOIL"), b"SPOILT")))
        except (Gone, OSError):
            self.end(server)

    def answer(self, client, server, request):
        began = False  # the login is over
        try:
            while True:
                number, payload = receive(server)
                # The rest of an answer may come when the next question is asked.
                began = began or number == 1
                if number == 1 or not began:
                    asked = request[0]
                payload = self.rewrite(asked, payload)
                if payload is not None:
                    client.sendall(packet(number, payload))
        except (Gone, OSError):
            if not self.keeps:
                self.end(client)

    @staticmethod
    def end(peer):
        try:
            peer.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self):
        self.end(self.listener)
        self.listener.close()
        for peer in self.sockets:
            peer.close()


def values(**changed):
    """Rewrites rows of SHOW VARIABLES and SHOW STATUS."""
    def rewrite(_, payload):
        for name, value in changed.items():
            if payload.startswith(sized(name.encode())):
                return sized(name.encode()) + sized(value.encode())
        return payload
    return rewrite


def fails(part, most=1000, number=1105):
    """The answer to each of the first requests with @part in it is an error."""
    failed = []

    def rewrite(request, payload):
        if request in failed:
            return None
        if part not in request or len(failed) == most:
            return payload
        failed.append(request)
        return error(number, b"not today")
    return rewrite


def refused(number, text):
    """The server's first word, or that to a login, is an error."""
    def rewrite(request, payload):
        if request.text or (payload[0] == 10 and number in (1045, 1226)):
            return payload if payload[0] == 10 else error(number, text)
        return error(number, text)
    return rewrite


class Silent(Talk):
    """Lets everybody in, and goes at the first question."""

    def answer(self, question):
        raise Gone


def alone(case):
    """It changes what the others find."""
    case.alone = True
    return case


def load_tests(loader, *_):
    cases = {name: Doctor(name) for name in loader.getTestCaseNames(Doctor)}
    apart = [cases.pop(name) for name in list(cases)
             if hasattr(getattr(Doctor, name), "alone")]
    return unittest.TestSuite(apart + [Together(cases.values())])


class Doctor(OwnServer):
    def begin(self, *argv, through=None, **more):
        """An examination takes seconds: several go on at a time."""
        if through:
            self.through(through)
        return self.start("doctor", "--json", *argv, tool=CLI, **more)

    def examined(self, code, process=None):
        """The findings, by section."""
        got, out, err = self.finish(process or self.begin())
        self.assertEqual(got, code, out + err)
        told = json.loads(out)
        verdicts = {finding["verdict"] for finding in told["findings"]}
        self.assertEqual(told["verdict"], next(
            word for word in ("wrong", "advice", "unknown", "ok") if word in verdicts))
        sections = {}
        for finding in told["findings"]:
            sections.setdefault(finding["section"], []).append(finding)
        self.assertEqual(list(sections), SECTIONS)
        return sections

    def through(self, rewrite, keeps=False):
        relay = Relay(self.port, rewrite, keeps)
        self.addCleanup(relay.close)
        self.environment["ROWLOCK_DSN"] = self.dsn.replace(f"port={self.port}",
                                                           f"port={relay.port}")

    def finds(self, section, verdict, reason, following="", process=None, through=None,
              others="ok"):
        """Just this section has a finding of this verdict; all others are @others."""
        code = {"wrong": 2, "advice": 1, "unknown": int(section in DECIDE)}.get(verdict, 0)
        sections = self.examined(code, process or self.begin(through=through))
        bad = [finding for finding in sections[section]
               if finding["verdict"] == verdict]
        self.assertEqual(len(bad), 1, sections[section])
        self.assertIn(reason, bad[0]["reason"])
        self.assertIn(following, bad[0]["next"] or "")
        for name, findings in sections.items():
            for finding in findings if name != section else ():
                self.assertEqual(finding["verdict"], others, finding)

    def test_a_good_server_is_all_green_to_the_applications_account(self):
        for findings in self.examined(0).values():
            for finding in findings:
                self.assertEqual(finding["verdict"], "ok", finding)
                self.assertIsNone(finding["next"])
        code, out, err = self.run_tool("doctor", tool=CLI)
        self.assertEqual((code, err), (0, ""))
        for name in SECTIONS:
            self.assertRegex(out, f"(?m)^{name} +ok +[a-zA-Z0-9]")

    @alone
    def test_examinations_draw_tokens_of_one_name(self):
        for process in [self.begin() for _ in range(3)]:
            self.examined(0, process)
        self.assertEqual(self.sql("SELECT DISTINCT name FROM lock_token"),
                         "rowlock-doctor\n")

    @alone
    def test_a_name_that_another_keeps_is_unknown(self):
        holder = self.start("run", "rowlock-doctor", "--", "sh", "-c",
                            "echo held; exec cat", tool=CLI, stdin=subprocess.PIPE)
        self.assertEqual(holder.stdout.readline().strip(), "held")
        sections = self.examined(1)
        holder.stdin.close()
        holder.wait(patience())
        self.assertEqual([f["verdict"] for f in sections["Live"]],
                         ["unknown", "ok", "ok", "ok"])
        self.assertIn("rowlock show rowlock-doctor", sections["Live"][0]["next"])

    def test_wrong_usage_examines_nothing(self):
        for words in (["name"], ["--bogus"]):
            self.assertEqual(self.run_tool("doctor", *words, tool=CLI)[0], 125)

    def test_a_server_that_is_not_there_leaves_all_else_unknown(self):
        self.environment["ROWLOCK_DSN"] = self.dsn.replace(f"port={self.port}", "port=1")
        self.finds("Server", "wrong", "connect to ", others="unknown")

    def test_a_server_that_nobody_named_is_no_question_of_rights(self):
        del self.environment["ROWLOCK_DSN"]
        path = os.path.join(self.directory, "named.cnf")
        with open(path, "w", encoding="ascii") as out:
            out.write(f"[client]\nprotocol=tcp\nport={self.port}\n")
        self.finds("Server", "wrong", "no server is named", others="unknown",
                   process=self.begin(f"--defaults-file={path}"))

    @alone
    def test_a_server_that_takes_no_writes_is_wrong(self):
        self.changed("SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0")
        sections = self.examined(2)
        self.assertEqual(sections["Server"][0]["verdict"], "wrong")
        self.assertIn("takes no writes", sections["Server"][0]["reason"])
        self.assertIn("name the primary", sections["Server"][0]["next"])
        self.assertNotIn("read_only", sections["Server"][0]["next"])
        self.assertEqual(sections["Live"][0]["verdict"], "unknown")
        for name in SECTIONS[1:]:
            self.assertNotIn(sections[name][0]["verdict"], ("wrong", "advice"))

    def test_a_server_that_goes_or_is_silent_meanwhile_is_wrong(self):
        def goes(part):
            def rewrite(request, payload):
                if part in request:
                    raise Gone
                return payload
            return rewrite

        def freezes(part):
            frozen = []

            def rewrite(request, payload):
                if part in request:
                    frozen.append(part)
                return None if frozen else payload
            return rewrite
        cases = [(rewrite(part), part)
                 for rewrite in (goes, freezes)
                 for part in (b"SHOW GLOBAL VARIABLES", b"UPDATE lock_permits",
                              b"FROM lock_token_floor WHERE id = 1")]
        for part, process in [(part, self.begin(through=rewrite))
                              for rewrite, part in cases]:
            with self.subTest(part=part):
                sections = self.examined(2, process)
                self.assertEqual([f["verdict"] for f in sections["Server"]],
                                 ["ok", "wrong"])
                self.assertIn("was lost during the examination",
                              sections["Server"][1]["reason"])
                for name in SECTIONS[1:]:
                    self.assertNotIn("wrong", [f["verdict"] for f in sections[name]])

    def test_an_engine_that_is_neither_is_wrong(self):
        server = FalseServer(Silent, b"8.0.11-TiDB-v8.5.0")
        self.addCleanup(server.__exit__)
        self.environment["ROWLOCK_DSN"] = (f"host=127.0.0.1;port={server.port};user=u;"
                                           "database=d")
        self.finds("Engine and proxy", "wrong", "TiDB", others="unknown")

    def test_a_proxy_that_numbers_connections_is_advice(self):
        def rewrite(request, payload):
            if request.text or payload[0] != 10:
                return payload
            end = payload.index(b"\0") + 1
            return payload[:end] + (4711).to_bytes(4, "little") + payload[end + 4:]
        self.finds("Engine and proxy", "advice", "numbers of its own",
                   "connect to the server itself", through=rewrite)

    def test_a_proxy_that_reads_elsewhere_is_wrong(self):
        def rewrite(request, payload):
            if b"SELECT MAX(version), " not in request or payload[:1] != b"\x01":
                return payload
            end = 3 + payload[2] if len(payload) > 3 else 0
            return payload[:2] + sized(b"elsewhere") + payload[end:] if end else payload
        sections = self.examined(2, self.begin(through=rewrite))
        self.assertEqual([f["verdict"] for f in sections["Engine and proxy"]],
                         ["ok", "wrong"])
        self.assertIn("splits reads", sections["Engine and proxy"][1]["reason"])
        self.assertEqual([f["verdict"] for f in sections["Live"]], ["unknown"])

    def test_connections_to_different_servers_are_wrong_and_nothing_is_killed(self):
        asked = []

        def rewrite(request, payload):
            asked.append(request)
            return (sized(b"0") if b"IS_USED_LOCK('rl:" in request and
                    re.fullmatch(rb"[\x01-\x09][0-9]+", payload) else payload)
        sections = self.examined(2, self.begin(through=rewrite))
        self.assertIn("connections go to different servers",
                      sections["Engine and proxy"][-1]["reason"])
        self.assertEqual([f["verdict"] for f in sections["Live"]], ["unknown"])
        self.assertFalse([1 for request in asked if b"KILL " in request])

    def test_what_is_not_durable_is_advice(self):
        cases = [
            (change, following, self.begin(through=values(**change)))
            for change, following in (
                ({"innodb_flush_log_at_trx_commit": "2"},
                 "SET GLOBAL innodb_flush_log_at_trx_commit = 1"),
                ({"log_bin": "ON", "sync_binlog": "0"}, "SET GLOBAL sync_binlog = 1"),
                ({"innodb_doublewrite": "OFF"}, "innodb_doublewrite = ON"),
                ({"innodb_doublewrite": "DETECT_ONLY"}, "innodb_doublewrite = ON"))]
        for change, following, process in cases:
            with self.subTest(change=change):
                self.finds("Durability", "advice", next(reversed(change)), following,
                           process)

    def test_what_is_durable_in_other_words_is_ok(self):
        for process in [self.begin(through=values(**change)) for change in (
                {"innodb_flush_log_at_trx_commit": "3"},
                {"log_bin": "ON", "sync_binlog": "1"},
                {"innodb_doublewrite": "DETECT_AND_RECOVER"})]:
            self.examined(0, process)

    def clock(self, change):
        """Rewrites the server's answers to what its clock says."""
        looks = []

        def rewrite(request, payload):
            match = re.fullmatch(rb"\x10([0-9]{16})", payload)
            if not match or b"TIMESTAMPDIFF(MICROSECOND, '1970-01-01'" not in request:
                return payload
            looks.append(int(match[1]))
            return sized(str(change(looks)).encode())
        return rewrite

    def test_a_clock_five_minutes_off_is_advice(self):
        for word, process in [
                (word, self.begin(through=self.clock(
                    lambda looks, off=off: looks[-1] + off * 1000000)))
                for off, word in ((300, "ahead of"), (-300, "behind"))]:
            self.finds("Clock", "advice", word, "NTP", process)

    def test_a_clock_of_another_rate_is_advice(self):
        for process in [
                self.begin(through=self.clock(
                    lambda looks, factor=factor: looks[0] +
                    factor * (looks[-1] - looks[0]))) for factor in (2, 0)]:
            self.finds("Clock", "advice", "another rate", "--observe-beats", process)

    def test_a_clock_that_is_not_told_is_unknown(self):
        self.finds("Clock", "unknown", "not today", through=fails(b"'1970-01-01'", 1))

    def test_a_host_whose_clock_is_off_is_told(self):
        library = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        if not library or os.environ.get("ROWLOCK_TEST_SLOW"):
            self.skipTest("no libfaketime here")
        self.finds("Clock", "advice", "ahead of", process=self.begin(env={
            **self.environment, "LD_PRELOAD": library[0], "FAKETIME": "-5m",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}))

    @alone
    def test_tables_that_are_not_as_they_must_be_are_wrong(self):
        for do, undo, reason in (
                ("ALTER TABLE lock_permits ENGINE=MyISAM",
                 "ALTER TABLE lock_permits ENGINE=InnoDB", "not InnoDB"),
                ("ALTER TABLE job_run ENGINE=MyISAM",
                 "ALTER TABLE job_run ENGINE=InnoDB", "not InnoDB"),
                ("RENAME TABLE job_run TO job_run_away",
                 "RENAME TABLE job_run_away TO job_run", "job_run is gone"),
                ("RENAME TABLE lease_revocation TO away",
                 "RENAME TABLE away TO lease_revocation",
                 "lease_revocation is gone"),
                ("DELETE FROM lock_token_floor",
                 "INSERT INTO lock_token_floor VALUES (1, 0, NULL)",
                 "no token can be drawn")):
            with self.subTest(do=do):
                self.sql(do)
                try:
                    sections = self.examined(2)
                finally:
                    self.sql(undo)
                self.assertEqual(sections["Schema"][0]["verdict"], "wrong")
                self.assertIn(reason, sections["Schema"][0]["reason"])
                self.assertEqual(sections["Live"][0]["verdict"], "unknown")

    @alone
    def test_tables_of_an_older_version_are_advice_or_wrong(self):
        self.sql("CREATE TABLE kept AS SELECT * FROM rowlock_schema")
        self.addCleanup(self.sql, "REPLACE INTO rowlock_schema SELECT * FROM kept",
                        "DROP TABLE kept")
        for version, code, verdict in (("8", 1, "advice"), ("7", 2, "wrong")):
            self.sql(f"DELETE FROM rowlock_schema WHERE version = {version}")
            finding = self.examined(code)["Schema"][0]
            self.assertEqual(finding["verdict"], verdict)
            self.assertIn("run 'rowlock-migrate'",
                          finding["reason"] + (finding["next"] or ""))

    @alone
    def test_a_view_that_cannot_be_read_is_advice(self):
        self.environment["ROWLOCK_DSN"] = self.sandbox("dsn", "--root") + (
            ";database=rowlock")
        self.sql("CREATE USER gone; GRANT SELECT ON rowlock.* TO gone",
                 "CREATE OR REPLACE DEFINER=gone SQL SECURITY DEFINER VIEW lock_summary "
                 "AS SELECT COUNT(*) AS holds FROM business_lease", "DROP USER gone")
        self.addCleanup(self.sql, "DROP VIEW lock_summary")
        self.finds("Schema", "advice", "view lock_summary cannot be read", "grants.sql")

    @alone
    def test_tables_of_another_version_are_advice_or_wrong(self):
        for version, code, word in (("9", 1, "upgrade rowlock on this host"),
                                    ("99", 2, "newer version of rowlock")):
            self.sql(f"INSERT INTO rowlock_schema VALUES ({version}, '', NOW(6), NULL)")
            try:
                finding = self.examined(code)["Schema"][0]
            finally:
                self.sql(f"DELETE FROM rowlock_schema WHERE version = {version}")
            self.assertIn(word, finding["reason"] + (finding["next"] or ""))

    def test_a_database_without_our_tables_is_wrong(self):
        self.environment["ROWLOCK_DSN"] = self.sandbox("dsn", "--root").replace(
            "database=rowlock", "database=mysql")
        finding = self.examined(2)["Schema"][0]
        self.assertEqual(finding["verdict"], "wrong")
        self.assertIn("rowlock_schema", finding["reason"])

    @alone
    def test_each_right_that_is_missing_is_named_with_its_grant(self):
        missing = (("business_lock", "INSERT"), ("business_lock", "UPDATE"),
                   ("business_lease", "UPDATE"), ("lease_session", "DELETE"),
                   ("lock_token", "UPDATE"), ("lock_token_floor", "UPDATE"),
                   ("lock_permits", "INSERT"), ("job_run", "UPDATE"))
        self.changed(
            ";".join(f"REVOKE {right} ON {table} FROM {self.account()}"
                     for table, right in missing),
            ";".join(f"GRANT {right} ON {table} TO {self.account()}"
                     for table, right in missing))
        sections = self.examined(2)
        findings = sections["Rights"]
        self.assertEqual([(f["verdict"], f["reason"]) for f in findings],
                         [("wrong", f"the account has no {right} on {table}")
                          for table, right in missing])
        for (table, right), finding in zip(missing, findings):
            self.assertIn(f"GRANT {right} ON rowlock.{table} TO", finding["next"])
        self.assertEqual(sections["Live"][0]["verdict"], "unknown")
        self.assertEqual({f["verdict"] for f in sections["Live"][1:]}, {"ok"})

    def account(self):
        if not hasattr(self, "who"):
            user = re.search("user=([^;]+)", self.dsn)[1]
            host = subprocess.run(
                ["mariadb", f"--defaults-file={self.place}/sb/root.cnf", "-N"],
                input=f"SELECT host FROM mysql.user WHERE user = '{user}'", check=True,
                text=True, timeout=patience(), stdout=subprocess.PIPE).stdout.strip()
            self.who = f"'{user}'@'{host}'"
        return self.who

    def test_an_account_that_is_not_let_in_is_wrong(self):
        self.environment["ROWLOCK_DSN"] = re.sub("password=[^;]+", "password=no",
                                                 self.dsn)
        self.finds("Rights", "wrong", "Access denied", others="unknown")

    @alone
    def test_a_role_that_is_not_active_is_named(self):
        for grants in ("SELECT ON rowlock.rowlock_schema", "SELECT ON rowlock.*"):
            self.sql("CREATE ROLE idle", "GRANT ALL ON rowlock.* TO idle",
                     "CREATE USER sleepy IDENTIFIED BY 'pw'", "GRANT idle TO sleepy",
                     f"GRANT {grants} TO sleepy")
            self.addCleanup(self.sql, "DROP USER IF EXISTS sleepy",
                            "DROP ROLE IF EXISTS idle")
            self.environment["ROWLOCK_DSN"] = re.sub(
                "user=[^;]+;password=[^;]+", "user=sleepy;password=pw", self.dsn)
            found = self.examined(2)["Rights"][-1]
            self.sql("DROP USER sleepy", "DROP ROLE idle")
            self.assertEqual(found["verdict"], "wrong")
            self.assertIn("the role 'idle', which is not active", found["reason"])
            self.assertIn("SET DEFAULT ROLE", found["reason"] + (found["next"] or ""))

    def test_a_refusal_is_of_the_section_that_it_is_about(self):
        for process, section in [
                (self.begin(through=refused(number, b"no")), section)
                for number, section in (
                    (1040, "Load"), (1203, "Load"), (1226, "Load"), (1047, "Cluster"),
                    (1049, "Schema"), (1129, "Server"), (1130, "Rights"),
                    (1862, "Rights"), (3032, "Server"), (4151, "Rights"))]:
            with self.subTest(section=section):
                self.finds(section, "wrong", "no", process=process, others="unknown")

    def test_a_right_that_is_not_told_is_unknown(self):
        self.finds("Rights", "unknown", "has UPDATE on lock_permits: ", through=fails(
            b"UPDATE lock_permits"))

    def test_what_is_in_the_way_of_all_rights_is_told_once(self):
        self.finds("Rights", "unknown", "has SELECT on business_lock: ",
                   "has our tables locked", through=fails(b" WHERE 1 = 0", number=1205))

    @alone
    def test_a_limit_of_the_account_is_advice(self):
        limit = f"GRANT USAGE ON *.* TO {self.account()} WITH MAX_STATEMENT_TIME "
        self.changed(limit + "1", limit + "0")
        self.finds("Time-outs", "advice", "the account has MAX_STATEMENT_TIME 1 s",
                   "WITH MAX_STATEMENT_TIME 0")
        limit = f"GRANT USAGE ON *.* TO {self.account()} WITH MAX_USER_CONNECTIONS "
        self.changed(f"{limit}7 MAX_STATEMENT_TIME 0", limit + "0")
        self.finds("Load", "advice", "the account has MAX_USER_CONNECTIONS 7",
                   "or a larger number")

    def test_a_time_out_that_ends_applications_is_advice(self):
        for name, told, process in [
                (name, told, self.begin(through=values(**{name: value})))
                for name, value, told in (
                    ("wait_timeout", "5", "5"), ("idle_transaction_timeout", "5", "5"),
                    ("idle_write_transaction_timeout", "5", "5"),
                    ("max_statement_time", "5.000000", "5"),
                    ("max_statement_time", "0.500000", "0.5"))]:
            self.finds("Time-outs", "advice", f"{name} is {told} s",
                       f"SET GLOBAL {name} = ", process)

    def test_a_node_of_a_cluster_is_ok_and_told(self):
        cluster = self.examined(0, self.begin(
            through=lambda request, payload: re.sub(
                b"\x03OFF\xfb", b"\x02ON\xfb", payload)
            if b"'WSREP_ON'" in request else payload))["Cluster"]
        self.assertEqual([finding["verdict"] for finding in cluster], ["ok"])
        self.assertIn("a Galera cluster with several writers", cluster[0]["reason"])

    def test_tls_that_is_asked_for_and_not_there_is_wrong(self):
        self.environment["ROWLOCK_DSN"] = self.dsn + ";ssl-enforce=1"
        self.finds("TLS", "wrong", "no TLS", others="unknown")

    def test_a_certificate_that_has_ended_or_is_anothers_is_wrong(self):
        address = test_tls.address_of_this_host()
        if not address:
            self.skipTest("no address that is not local in name")
        for pem, words in ((test_tls.EXPIRED, "expired"), (test_tls.PEM, "certificate")):
            impostor = test_tls.Impostor(address)
            self.addCleanup(impostor.close)
            impostor.context.load_cert_chain(pem)
            self.environment["ROWLOCK_DSN"] = (
                f"host={address};port={impostor.port};user=u;password=p;database=d;"
                f"ssl-ca={pem}")
            self.finds("TLS", "wrong", words, others="unknown")

    def test_tls_that_proves_nothing_or_ends_soon_is_advice(self):
        unverified = self.begin("--tls-unverified")
        until = [self.begin(through=values(Ssl_cipher="TLS_AES_256_GCM_SHA384",
                                           Ssl_server_not_after=text))
                 for text in ("Nov 20 12:00:00 2001 GMT", "",
                              "Nov 20 12:00:00 2101 GMT")]
        self.finds("TLS", "advice", "--tls-unverified is given", "leave out", unverified)
        self.finds("TLS", "advice", "ends on Nov 20 12:00:00 2001", "new certificate",
                   until[0])
        self.finds("TLS", "unknown", "does not say until when", process=until[1])
        self.finds("TLS", "ok", "valid until Nov 20 12:00:00 2101", process=until[2])

    def test_a_server_that_is_nearly_full_is_advice(self):
        cases = [(reason, following, self.begin(through=values(**change)))
                 for reason, following, change in (
                     ("Threads_connected is 8 of 10", "SET GLOBAL max_connections = 20",
                      {"Threads_connected": "8", "max_connections": "10"}),
                     ("Prepared_stmt_count is 80 of 100", "max_prepared_stmt_count",
                      {"Prepared_stmt_count": "80", "max_prepared_stmt_count": "100"}),
                     ("max_user_connections is 5", "max_user_connections = 0",
                      {"max_user_connections": "5"}))]
        def spoilt(_, payload):
            return payload
        spoilt.spoils = b"SHOW SESSION STATUS"
        unknown = self.begin(through=spoilt)
        for reason, following, process in cases:
            self.finds("Load", "advice", reason, following, process)
        self.assertEqual(self.examined(0, unknown)["Load"][0]["verdict"], "unknown")

    def test_a_lock_that_is_refused_is_wrong(self):
        self.finds("Live", "wrong", "not today", through=fails(
            b"INTO business_lease (name, slot, session, attempt, acquired_at, "))

    @alone
    def test_a_transaction_that_has_our_rows_is_named_with_its_owner(self):
        own = subprocess.Popen(self.client("--unbuffered"), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
        self.addCleanup(own.communicate)
        print("BEGIN; SELECT COUNT(*) FROM business_lease FOR UPDATE; "
              "SELECT CONNECTION_ID();", file=own.stdin, flush=True)
        own.stdout.readline()
        number = own.stdout.readline().strip()
        blind = self.begin()
        self.environment["ROWLOCK_DSN"] = self.sandbox("dsn", "--root") + (
            ";database=rowlock")
        self.finds("Live", "wrong", f"that of connection {number}, root@localhost",
                   f"KILL {number}")
        self.finds("Live", "wrong", "a lock cannot be acquired: ", "PROCESS", process=blind)

    def test_a_bell_that_does_not_ring_is_advice(self):
        self.finds("Live", "advice", "does not ring", "connect to the server itself",
                   through=lambda request, payload: sized(b"99999")
                   if b"IS_USED_LOCK('rlk-doctor" in request and
                   re.fullmatch(rb"[\x01-\x09][0-9]+", payload) else payload)

    def test_an_end_that_does_not_come_through_is_told(self):
        self.through(lambda request, payload: payload, keeps=True)
        live = self.examined(2)["Live"]
        self.assertEqual([finding["verdict"] for finding in live],
                         ["ok", "ok", "wrong", "advice"])
        self.assertIn("KILL of a connection of its own was answered", live[2]["reason"])
        self.assertIn("wait_timeout", live[3]["reason"])


if __name__ == "__main__":
    own_server.main()
