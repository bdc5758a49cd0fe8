# SPDX-License-Identifier: MIT
"""Engines and proxies that are not what they look like: the real command
against a server of a few lines that says what each of them says of itself, and
has the session that it is asked for. Who is let in is told next that there are
no tables; who is not is told its name.
"""
import os
import re
import struct

import harness
from false_server import EOF_PACKET, OK, FalseServer, Talk, column, text
from harness import ToolTest

CLI = os.environ.get("ROWLOCK_TOOL", "rowlock")

GREETED = 7  # the number of each session, as the greeting has it
SERVER, ANOTHER = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "elsewhere"
NO_TABLES = "run 'rowlock-migrate'"
NEEDS = "rowlock needs MariaDB 10.6 or MySQL 8.0, or later"

# What it greets with, its VERSION() if that is another, its version_comment.
SERVERS = (
    ("10.11.19-MariaDB-0+deb12u1", None, "Debian 12"),
    ("5.5.5-10.6.21-MariaDB-log", "10.6.21-MariaDB-log",
     "mariadb.org binary distribution"),
    ("11.8.9-MariaDB-4 from Debian", None, "-- Please help get to 10k stars at "
     "https://github.com/MariaDB/Server"),
    ("5.5.5-10.6.12 23.02.2-maxscale", "10.6.12-MariaDB-log", "MariaDB Server"),
    ("8.0.36", None, "MySQL Community Server - GPL"),
    ("8.4.6", None, "MySQL Enterprise Server - Commercial"),
    ("9.7.4-2", None, "(Debian)"),
    ("8.4.0-router", "8.4.0", "MySQL Community Server - GPL"),
    ("8.0.36-28", None, "Percona Server (GPL), Release 28, Revision 47601f19"),
    ("8.0.36-28.1", None, "Percona XtraDB Cluster (GPL), Release rel28, "
     "Revision bfb687f, WSREP version 26.1.4.3"),
    ("8.0.39", None, "Source distribution"),
    ("8.0.mysql_aurora.3.08.0", "8.0.39", "Source distribution"),
    ("8.0.37-azure", None, "MySQL Community Server (GPL)"),
    ("8.0.40-google", None, "(Google)"),
    ("8.0.32-X-Cluster-8.4.20-20251017", None, "PolarDB-X Standard Edition"),
)

ENGINES = (
    ("TiDB", "8.0.11-TiDB-v8.5.3", None, ""),
    ("TiDB", "8.0.36", None, "TiDB Server (Apache License 2.0) Community "
     "Edition, MySQL 8.0 compatible"),
    ("Vitess", "8.0.43-Vitess", None, ""),
    ("Vitess", "8.0.36", None, "Version: 21.0.3 (Git revision 2b2e7ff branch "
     "'HEAD') built on Tue Feb 11 by runner@host using go1.23.6 linux/amd64"),
    ("Dolt", "8.0.33", None, "Dolt"),
    ("MatrixOne", "8.0.30-MatrixOne-v2.1.0", None, "MatrixOne"),
    ("OceanBase", "5.7.25-OceanBase_CE-v4.4.2.1", None, ""),
    ("OceanBase", "8.0.30", None, "OceanBase_CE 4.4.2.1 (r101000022026050611)"),
    ("PolarDB-X", "5.7.25-TDDL-5.4.19-20251031", None, ""),
    ("SingleStore", "8.0.30", None, "SingleStoreDB source distribution "
     "(compatible; MySQL Enterprise & MySQL Commercial)"),
    ("StarRocks", "8.0.33", None, "StarRocks version 3.3.2"),
    ("Doris", "8.0.36", None, "Doris version doris-3.0.3-rc03-43f06a5e26"),
    ("ClickHouse", "24.3.1.1-ClickHouse", None, ""),
    ("Databend", "8.0.90-v1.2.680-nightly", None, "DatabendQuery v1.2.680"),
    ("ReadySet", "8.0.26-readyset", None, ""),
    # Behind a proxy that greets for it.
    ("TiDB", "8.0.36", "8.0.11-TiDB-v8.5.3", ""),
)


def items(words):
    """What a SELECT has in its list."""
    found, depth, quoted, item = [], 0, False, ""
    for letter in words:
        quoted ^= letter == "'"
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth and not quoted:
            found.append(item.strip())
            item = ""
        else:
            item += letter
    return found + [item.strip()]


class Session(Talk):
    """Of a server: it has what is set, and tells it."""

    def __init__(self, server, peer):
        super().__init__(server, peer)
        self.values = {}

    def refuse(self, number, words):
        self.send(b"\xff" + struct.pack("<H", number) + b"#HY000" +
                  words.encode())

    def row(self, values):
        row = b"".join(b"\xfb" if value is None else text(value.encode())
                       for value in values)
        self.send(bytes([len(values)]), *[column() for _ in values], EOF_PACKET,
                  row, EOF_PACKET)

    def value_of(self, item):
        server = self.server
        told = {
            "DATABASE()": "rowlock", "CONNECTION_ID()": str(server.number),
            "VERSION()": server.really, "@@server_uuid": SERVER,
            "@@port": "3306", "@@version_comment": server.comment,
        }
        if item in told or item.startswith("@@SESSION."):
            return told.get(item) or self.values.get(item[len("@@SESSION."):])
        for part, value in (("@@character_set_client", "utf8mb4 utf8mb4_bin"),
                            ("SERVER_UID", SERVER), ("GET_LOCK", "1"),
                            ("ptime", "1700000000"), ("UPTIME", "1700000000"),
                            ("wsrep_on", server.wsrep), ("@@read_only", "0 0 0"),
                            ("TIMESTAMPDIFF", "0")):
            if part in item:
                return value
        return None if "(" in item or item == "NULL" else item

    def answer(self, question):
        words = question[1:].decode()
        self.server.said.append(words)
        if question[:1] == b"\1":
            raise ConnectionError
        if words.startswith("SET"):
            self.set(words)
        elif words.startswith("SELECT MAX(version)"):
            if self.server.reads:
                self.row(self.server.reads)
            else:
                self.refuse(1146, "Table 'rowlock_schema' doesn't exist")
        elif "wsrep_sync_wait" in words:
            self.row([" ".join(self.values.get(f"wsrep_{name}", "1") for name
                               in ("sync_wait", "retry_autocommit"))])
        elif words.startswith("SELECT"):
            listed = words[len("SELECT "):].removesuffix(" FOR UPDATE")
            self.row([self.value_of(item) for item in items(listed)])
        else:
            self.send(OK)

    def set(self, words):
        if self.server.lacks and self.server.lacks in words:
            self.refuse(1238, f"Variable '{self.server.lacks}' is read only")
            return
        for name, value in re.findall(r"SESSION (\w+) = ('[^']*'|\d+)", words):
            self.values[name] = value.strip("'")
        if "max_statement_time" in self.values:
            self.values["max_statement_time"] = "0.000000"
        self.send(OK)


class Engines(ToolTest):

    def setUp(self):
        super().setUp()
        del self.environment["ROWLOCK_FAKE"]

    def serve(self, greets, version=None, comment="", **more):
        manners = {"number": GREETED, "lacks": None, "reads": None,
                   "wsrep": None, "said": [], **more}
        server = FalseServer(talk=Session, version=greets.encode(),
                             really=version or greets, comment=comment,
                             **manners)
        self.addCleanup(server.__exit__)
        self.environment["ROWLOCK_DSN"] = (
            f"host=127.0.0.1;port={server.port};user=u;password=p;"
            "database=rowlock")
        return server

    def tell(self):
        """What is said of it."""
        code, out, said = self.run_tool("list", tool=CLI)
        self.assertEqual((code, out), (125, ""), said)
        return said

    def test_what_is_mariadb_or_mysql_is_let_in(self):
        for greets, version, comment in SERVERS:
            with self.subTest(greets):
                self.serve(greets, version, comment)
                self.assertIn(NO_TABLES, self.tell())

    def test_each_other_engine_is_refused_by_its_name(self):
        for name, greets, version, comment in ENGINES:
            with self.subTest(greets, name=name):
                server = self.serve(greets, version, comment)
                said = self.tell()
                self.assertIn(f"127.0.0.1:{server.port} is {name}, which", said)
                self.assertIn(NEEDS, said)

    def test_engine_that_refuses_what_is_set_is_told_by_its_name(self):
        self.serve("8.0.33", None, "Dolt", lacks="net_read_timeout")
        self.assertIn(" is Dolt, which", self.tell())
        self.serve("8.0.33", None, "MySQL", lacks="net_read_timeout")
        self.assertIn("'net_read_timeout' is read only", self.tell())

    def test_other_numbers_for_sessions_are_no_reason(self):
        self.serve("8.0.36", number=4711)
        self.assertIn(NO_TABLES, self.tell())

    def test_reads_from_another_server_are_refused(self):
        self.serve("8.0.36", reads=["6", ANOTHER, "7"])
        said = self.tell()
        self.assertIn("splits reads from writes", said)
        self.assertIn("connect to the primary", said)

    def test_sessions_that_are_shared_are_refused(self):
        self.serve("8.0.36", reads=["6", SERVER, "8"])
        self.assertIn("two sessions, 7 and 8", self.tell())

    def test_statement_that_looks_first_is_taken_for_a_write(self):
        server = self.serve("8.0.36")
        self.tell()
        looks = [said for said in server.said if "@@version_comment" in said]
        reads = [said for said in server.said if "MAX(version)" in said]
        self.assertTrue(looks and reads)
        for said in looks:
            self.assertRegex(said, " FOR UPDATE$")
        for said in reads:
            self.assertNotIn("UPDATE", said)

    # As Percona XtraDB Cluster answers: MySQL by all its words, and wsrep_on.

    def test_cluster_of_percona_waits_for_what_is_committed(self):
        server = self.serve("8.0.36-28.1", None, "Percona XtraDB Cluster (GPL)",
                            wsrep="ON")
        self.assertIn(NO_TABLES, self.tell())
        self.assertIn("SET SESSION wsrep_sync_wait = 7, SESSION "
                      "wsrep_retry_autocommit = 0", server.said)

    def test_cluster_of_percona_whose_retries_are_not_a_sessions(self):
        server = self.serve("8.0.36-28.1", None, "Percona XtraDB Cluster (GPL)",
                            wsrep="ON", lacks="wsrep_retry_autocommit")
        self.assertIn(NO_TABLES, self.tell())
        self.assertIn("SET SESSION wsrep_sync_wait = 7", server.said)
        self.serve("8.0.36-28.1", wsrep="ON", lacks="wsrep_sync_wait")
        self.assertIn("'wsrep_sync_wait' is read only", self.tell())


if __name__ == "__main__":
    harness.main()
