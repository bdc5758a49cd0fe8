# SPDX-License-Identifier: MIT
"""What a refused account or database is advised, by a real server that knows."""
import os
import re
import shutil
import subprocess
import unittest

import harness
from harness import patience
from option_file import option_file
from test_server import ADMIN_DSN, DSN, ServerTest


class AccountTest(ServerTest):
    """Accounts, and a role, of the test's own."""

    def setUp(self):
        super().setUp()
        self.who = f"rl_advice_{os.getpid()}"
        self.database = re.search(r"database=([^;]+)", DSN)[1]
        self.environment["ROWLOCK_DSN"] = re.sub(
            r"user=[^;]+;password=[^;]+", f"user={self.who};password=pw", DSN)

    def tearDown(self):
        self.admin(f"DROP USER IF EXISTS '{self.who}'@'%'",
                   f"DROP ROLE IF EXISTS '{self.who}_r'")
        super().tearDown()

    def admin(self, *statements):
        path = os.path.join(self.directory, "admin.cnf")
        option_file(path, ADMIN_DSN)
        client = shutil.which("mariadb") or shutil.which("mysql")
        subprocess.run([client, f"--defaults-file={path}"], check=True,
                       timeout=patience(), text=True,
                       input=";\n".join(statements) + ";\n")

    def account(self, *grants):
        self.admin(f"CREATE USER '{self.who}'@'%' IDENTIFIED BY 'pw'",
                   f"CREATE ROLE '{self.who}_r'",
                   *(f"GRANT {grant} TO '{self.who}'@'%'" for grant in grants))

    def refused(self, *words, argv=("list",), **more):
        code, _, err = self.run_tool(*argv, **more)
        self.assertEqual(code, 125, err)
        for word in words:
            self.assertIn(word, err)


@unittest.skipUnless(ADMIN_DSN, "no ROWLOCK_TEST_ADMIN_DSN")
class Advice(AccountTest):
    def test_a_role_that_is_not_active_is_named(self):
        inactive = (f"the account has the role '{self.who}_r', which is not "
                    "active, and may lack what that may do: make it its "
                    "default (SET DEFAULT ROLE)\n")
        self.account(f"'{self.who}_r'")
        self.admin("GRANT SELECT, INSERT, UPDATE, DELETE ON "
                   f"`{self.database}`.* TO '{self.who}_r'")
        self.refused("Access denied", inactive)
        # It sees the database, then the version, and then one table.
        grant = f"GRANT SELECT ON `{self.database}`"
        self.admin(f"{grant}.business_lock TO '{self.who}'@'%'")
        self.refused("SELECT command denied", inactive)
        self.admin(f"{grant}.rowlock_schema TO '{self.who}'@'%'")
        self.refused("SELECT command denied", inactive)

    def test_a_right_that_is_missing_is_the_advice(self):
        self.account(f"SELECT ON `{self.database}`.rowlock_schema")
        self.refused("SELECT command denied", "`business_lock`",
                     "; grant that to the account, or name another account: "
                     "grants.sql has what each of them needs\n")

    def test_the_database_that_has_the_tables_is_named(self):
        self.account("SELECT ON mysql.*", f"SELECT ON `{self.database}`.*")
        self.refused("; name the database '", "' of this server, which has the "
                     "tables, (database=...) in ROWLOCK_DSN, --dsn or the "
                     "option file\n",
                     argv=("list", "--dsn=database=mysql"))

    def test_a_database_of_the_server_itself_is_not_migrated(self):
        # A role that is not active has nothing to do with it.
        self.account("SELECT ON mysql.*", f"'{self.who}_r'")
        self.refused("'mysql' is the server's own: name another database ",
                     argv=("list", "--dsn=database=mysql"))
        self.refused("database 'mysql' on ", " is the server's own; name one ",
                     tool=harness.MIGRATE,
                     argv=("--no-defaults", "--dsn=database=mysql"))

    def test_what_is_wrong_with_the_account_is_the_advice(self):
        self.account(f"SELECT ON `{self.database}`.*")
        alter = f"ALTER USER '{self.who}'@'%'"
        self.admin(f"{alter} ACCOUNT LOCK")
        self.refused("; unlock it (ALTER USER ... ACCOUNT UNLOCK)\n")
        self.admin(f"{alter} ACCOUNT UNLOCK", f"{alter} PASSWORD EXPIRE")
        self.refused("; give the account a new password (ALTER USER)\n")


if __name__ == "__main__":
    harness.main()
