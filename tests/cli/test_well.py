# SPDX-License-Identifier: MIT
"""Is it well? 'rowlock ping' on a real server of its own."""
import os
import re
import shutil
import subprocess
import sys
import unittest

import harness
from harness import patience
from option_file import option_file
from test_server import ADMIN_DSN, DSN, ServerTest


@unittest.skipUnless(ADMIN_DSN, "no ROWLOCK_TEST_ADMIN_DSN")
class Ping(ServerTest):
    def query(self, sql, dsn=ADMIN_DSN):
        path = os.path.join(self.directory, "query.cnf")
        if os.path.exists(path):
            os.unlink(path)
        option_file(path, dsn)
        client = shutil.which("mariadb") or shutil.which("mysql")
        return subprocess.run([client, f"--defaults-file={path}", "-N"],
                              check=True, timeout=patience(), text=True,
                              input=sql, stdout=subprocess.PIPE).stdout

    def told(self, code, *words, dsn=DSN):
        self.environment["ROWLOCK_DSN"] = dsn
        got, out, err = self.run_tool("ping")
        self.assertEqual(got, code, err)
        self.assertEqual((out + err).count("\n"), 1)
        for word in words:
            self.assertIn(word, out + err)

    def test_a_good_server_is_well_and_keeps_nothing(self):
        count = ("SELECT COUNT(*) FROM business_lease WHERE name LIKE "
                 "'rowlock-ping/%'; SELECT COUNT(*) FROM lock_token WHERE name "
                 "LIKE 'rowlock-ping/%'; SELECT COUNT(*) FROM business_lock "
                 "WHERE name LIKE 'rowlock-ping/%';")
        self.told(0, ": well: ")
        self.assertEqual(self.query(count, DSN).split(), ["0"] * 3)

    def test_a_server_that_is_not_there_does_not_answer(self):
        self.told(2, "rowlock: ping: no answer: ",
                  dsn=re.sub("port=[0-9]+", "port=1", DSN))

    def test_a_wrong_password_is_a_refusal(self):
        self.told(1, "rowlock: ping: refuses: ",
                  dsn=re.sub("password=[^;]+", "password=wrong", DSN))

    def test_no_room_for_another_connection_is_a_refusal(self):
        self.query("CREATE USER rl_ping IDENTIFIED BY 'pw' "
                   "WITH MAX_USER_CONNECTIONS 1; GRANT ALL ON "
                   f"{re.search('database=([^;]+)', DSN)[1]}.* TO rl_ping")
        dsn = re.sub("user=[^;]+;password=[^;]+", "user=rl_ping;password=pw",
                     DSN)
        try:
            self.told(1, "rowlock: ping: refuses: ", "max_user_connections",
                      dsn=dsn)
        finally:
            self.query("DROP USER rl_ping")

    def test_a_server_without_our_tables_refuses(self):
        self.told(1, "rowlock: ping: refuses: ", "rowlock_schema",
                  dsn=re.sub("database=[^;]+", "database=mysql", ADMIN_DSN))


if __name__ == "__main__":
    if not DSN:
        print("1..0 # SKIP no ROWLOCK_TEST_DSN")
        sys.exit(77)
    harness.main()
