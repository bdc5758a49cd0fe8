# SPDX-License-Identifier: MIT
"""rowlock-reaperd --metrics: /metrics and the page for people, by HTTP."""
import html.parser
import http.client
import os
import re
import shutil
import signal
import socket
import threading
import time
import unittest

import harness
import own_server
from chromium import CHROMIUM, Chromium
from harness import REAPERD, ToolTest, patience
from metrics_text import parsed, promtool_says
from option_file import option_file
from own_server import OwnTables

DAEMON = os.environ.get("ROWLOCK_REAPERD", "rowlock-reaperd")
BUILT = os.environ.get("HAVE_LIBMICROHTTPD") == "1"
PASSES = ("rowlock_reaper_passes_total", "done")
PART = 200
TELEPHONE, DESK = (360, 740, True), (1280, 800, False)


class Usage(ToolTest):
    def test_a_place_that_is_none_is_refused(self):
        for at in ("", "x", "70000", ":9188", "127.0.0.1:", "::1:9188", "[::1:9188",
                   "db1:9188", "[127.0.0.1]:9188"):
            code, out, err = self.run_tool(f"--metrics={at}", tool=REAPERD)
            self.assertEqual((code, out), (125, ""), at)
            self.assertIn("PORT" if BUILT else "libmicrohttpd", err)
        code, _, err = self.run_tool("--once", "--metrics=0", tool=REAPERD)
        self.assertEqual(code, 125)
        code, _, err = self.run_tool("--class=x", tool=REAPERD)
        self.assertEqual(code, 125)
        self.assertIn("PATTERN=CLASS", err)
        for name in ("", "a:80", "http://a", "a b", "*.a"):
            code, _, err = self.run_tool(f"--page-host={name}", tool=REAPERD)
            self.assertEqual(code, 125, name)
            self.assertIn("locks.example.com", err)
        code, _, err = self.run_tool(*["--page-host=a.b"] * 17, tool=REAPERD)
        self.assertEqual(code, 125)
        self.assertEqual(self.fake.seen, [])


class Page(html.parser.HTMLParser):
    """The text of each cell, and that each is in a bdi of its own."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.open, self.text = [], set(), [], ""
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")], attrs
        if tag in ("meta", "link"):
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if "td" in self.open:
            self.rows[-1][-1] += data


class Daemon(OwnTables):
    def daemon(self, *argv, at="0"):
        process = self.start(f"--metrics={at}", *argv, tool=DAEMON)
        line = ""
        while "metrics are at" not in line:
            line = process.stderr.readline()
            self.assertTrue(line, "it has ended")
        self.port = int(re.search(r":(\d+)/metrics", line)[1])
        return process

    def ask(self, path="/metrics", method="GET", **more):
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=patience())
        connection.request(method, path, **more)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer, body

    def holds(self, *names, **more):
        texts = {"host": "<i>host", "program": "job\"'&amp;",
                 "info": "<script>alert(1)</script>", **more}

        def quoted(text):
            return f"CONVERT(0x{text.encode().hex()} USING utf8mb4)"
        self.sql("INSERT INTO lease_session (id, ttl, expires_at, host, pid, program, "
                 "started_at) VALUES (1, 3600000, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR, "
                 f"{quoted(texts['host'])}, 7, {quoted(texts['program'])}, "
                 "UTC_TIMESTAMP(6))",
                 *("INSERT INTO business_lease (name, slot, session, attempt, "
                   f"acquired_at, info) VALUES ({quoted(name)}, 0, 1, 1, "
                   f"UTC_TIMESTAMP(6), {quoted(texts['info'])})" for name in names))

    def many_holds(self, program="job"):
        """Ten thousand, with texts of a hundred characters."""
        self.holds(program=program, host="h" * 100)
        self.sql("INSERT INTO business_lease (name, slot, session, attempt, acquired_at,"
                 " info) SELECT CONCAT(REPEAT('n', 90), LPAD(seq, 10, '0')), 0, 1, seq, "
                 "UTC_TIMESTAMP(6), REPEAT('i', 100) FROM seq_1_to_10000",
                 "INSERT INTO business_lock (name) VALUES ('row')")


class Serve(Daemon):
    def metrics(self):
        answer, body = self.ask()
        self.assertEqual(answer.status, 200)
        return parsed(body)

    def raw(self, text):
        peer = socket.create_connection(("127.0.0.1", self.port), patience())
        self.addCleanup(peer.close)
        try:
            peer.sendall(text)
        except OSError:
            pass  # it has refused already
        return peer

    def passes_go_on(self):
        first = self.metrics()[PASSES]
        for waited in harness.waiting():
            if self.metrics()[PASSES] > first + 1:
                return
        self.fail(f"no pass in {waited:.0f} s")

    def test_the_daemons_own_figures_are_there(self):
        self.sql("INSERT INTO business_lease (name, slot, session, attempt, "
                 "acquired_at) VALUES ('gone', 0, 9, 9, UTC_TIMESTAMP(6))")
        self.daemon("-i", "100ms")
        for _ in harness.waiting():
            found = self.metrics()
            if found["rowlock_reaper_removed_total", "lease"] == 1:
                break
        self.assertEqual(found["rowlock_reaper_removed_total", "lease"], 1)
        self.assertEqual(found["rowlock_up",], 1)
        self.assertEqual(found["rowlock_reaper_removed_total", "session"], 0)
        self.assertEqual(found["rowlock_reaper_passes_total", "failed"], 0)
        self.assertEqual(found["rowlock_reaper_interval_seconds",], 0.1)
        self.assertGreaterEqual(found["rowlock_reaper_last_pass_age_seconds",], 0)
        self.assertGreaterEqual(found["rowlock_reaper_last_pass_duration_seconds",], 0)
        if shutil.which("promtool"):
            self.assertEqual(promtool_says(self.ask()[1]), (0, ""))
        else:
            print("# skipped: no promtool")

    def test_nothing_but_GET_of_three_places_is_answered(self):
        self.daemon("-i", "24h")
        for method in ("POST", "HEAD", "PUT", "DELETE", "OPTIONS", "BREW"):
            answer, _ = self.ask(method=method, body=b"x" * 100000
                                 if method in ("POST", "PUT") else None)
            self.assertEqual((answer.status, answer.getheader("Allow")), (405, "GET"),
                             method)
        for path in ("/metric", "/metrics/", "/../etc/passwd", "//"):
            self.assertEqual(self.ask(path)[0].status, 404, path)
        for path in ("/", "/metrics?x=y", "/style.css"):
            answer, _ = self.ask(path)
            self.assertEqual(answer.status, 200, path)
            self.assertIn("default-src 'none'",
                          answer.getheader("Content-Security-Policy"))

    def test_a_page_of_the_internet_cannot_read_names(self):
        """DNS rebinding: its name points here, and the browser asks us by it."""
        self.holds("a")
        self.daemon("-i", "24h")
        for host, status in (("evil.example.com", 403), ("evil.example.com:80", 403),
                             ("127.0.0.1.example.com", 403), ("localhost.", 403),
                             ("a" * 300 + ".com", 403), ("localhost:9188", 200),
                             ("DB1", 200), ("a.localhost", 200), ("[::1]:9188", 200),
                             ("10.0.0.1:9188", 200), (os.uname().nodename, 200)):
            answer, body = self.ask(headers={"Host": host}, path="/")
            self.assertEqual(answer.status, status, host)
            self.assertEqual("<table>" in body, status == 200)
        # Prometheus may ask by any name.
        self.assertEqual(self.ask(headers={"Host": "db1.example.com"})[0].status, 200)

    def test_the_page_is_shown_by_the_names_that_are_given(self):
        """Behind a proxy that hands on the name it was asked by."""
        self.daemon("-i", "24h", "--page-host=locks.example.com",
                    "--page-host", "db1.example.com")
        for host, status in (("locks.example.com", 200), ("DB1.example.com:9188", 200),
                             ("evil.locks.example.com", 403), ("example.com", 403),
                             ("locks.example.com.evil.com", 403)):
            self.assertEqual(self.ask(headers={"Host": host}, path="/")[0].status,
                             status, host)

    def test_every_address_is_that_of_both_protocols(self):
        try:
            with socket.create_server(("::", 0), family=socket.AF_INET6):
                pass
        except OSError as error:
            self.skipTest(f"no IPv6: {error}")
        self.daemon("-i", "24h", at="[::]:0")
        self.assertEqual(self.ask()[0].status, 200)
        with socket.create_connection(("::1", self.port), patience()) as peer:
            peer.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            self.assertIn(b" 200 ", peer.recv(4096))

    def test_garbage_is_no_end(self):
        self.daemon("-i", "100ms")
        for text in (b"\0\xff\xfe\r\n\r\n", b"GET", b"\r\n" * 1000, b"GET " + b"a" * 70000,
                     b"GET /metrics HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01",
                     b"GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                     b"GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz"):
            self.raw(text)
        self.passes_go_on()

    def test_slow_clients_keep_nobody_out_and_no_pass(self):
        process = self.daemon("-i", "100ms")
        peers = [self.raw(b"GET /metr") for _ in range(150)]
        over = threading.Event()

        def drip():
            """None of them is silent for so long that it is ended for that."""
            while not over.wait(0.5):
                for peer in peers:
                    try:
                        peer.sendall(b"i")
                    except OSError:
                        pass  # it was ended for another
        thread = threading.Thread(target=drip)
        thread.start()
        try:
            self.passes_go_on()
        finally:
            over.set()
            thread.join()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(patience()), 0)
        self.assertNotIn("without an answer", process.stderr.read())

    def test_fifty_clients_cost_one_look_a_second(self):
        self.daemon("-i", "24h")
        bodies, failed = set(), []
        began = time.monotonic()

        def client():
            try:
                for _ in range(4):
                    answer, body = self.ask()
                    bodies.add(body)
                    if answer.status != 200:
                        failed.append(answer.status)
            except OSError as error:
                failed.append(error)
        threads = [threading.Thread(target=client) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        # Each look has another age of the last pass.
        self.assertLessEqual(len(bodies), time.monotonic() - began + 2)

    def test_names_are_on_the_page_and_classes_in_metrics(self):
        names = ["<b>x</b>", "a\"b'c&d", "&lt;", "אבג שלום", "plain"]
        self.holds(*names, "sneaky\u202etxt")
        self.daemon("-i", "24h", "--class=pl*=simple")
        answer, body = self.ask("/")
        self.assertEqual(answer.getheader("Content-Type"), "text/html; charset=utf-8")
        page = Page(body)
        self.assertEqual({row[0] for row in page.rows[1:]},
                         {*names, "sneaky\\u{202e}txt"})
        for row in page.rows[1:]:
            self.assertEqual(row[1], "held, lease")
            self.assertEqual(row[2], "job\"'&amp;[7]@<i>host")
            self.assertRegex(row[3], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, ")
            self.assertRegex(row[4], r"^\d+m\d\ds more")
            self.assertEqual(row[5], "<script>alert(1)</script>")
        self.assertNotIn("script", page.tags)
        self.assertIn("<bdi>אבג שלום</bdi>", body)
        self.assertIn("</bdi>[7]@<bdi>&lt;i&gt;host</bdi></td>", body)
        self.assertIn('name="viewport"', body)
        self.assertIn('http-equiv="refresh"', body)
        self.assertIn("6 held, 0 dead, 1 client\n", page.text)
        _, text = self.ask()
        self.assertEqual(parsed(text)["rowlock_holds", "lease", "lock", "held",
                                      "simple"], 1)
        for name in names:
            self.assertNotIn(name, text)

    def test_a_long_list_is_shown_in_part(self):
        self.many_holds()
        self.daemon("-i", "24h")
        _, body = self.ask("/")
        page = Page(body)
        self.assertEqual(len(page.rows), 1 + PART)
        self.assertIn(f"This is a part: the first {PART} rows", page.text)
        self.assertLess(body.index("This is a part"), body.index("<table>"))
        self.assertIn("10000 held", page.text)

    def page_with(self, words):
        """A page is that of a second."""
        for _ in harness.waiting():
            body = self.ask("/")[1]
            if words in body:
                break
        self.assertIn(words, body)
        return body

    def test_a_list_that_ends_too_early_says_so_above_its_rows(self):
        self.daemon("-i", "24h")
        self.assertNotIn("<table>", self.page_with("Nobody holds anything."))
        self.changed("ALTER TABLE business_lock RENAME COLUMN info TO words",
                     "ALTER TABLE business_lock RENAME COLUMN words TO info")
        body = self.page_with("l.info")
        self.assertNotIn("<table>", body)
        self.assertNotIn("Nobody holds", body)
        self.holds("a")
        body = self.page_with("<table>")
        self.assertIn("This is a part: the first 1 row in", body)
        self.assertLess(body.index("l.info"), body.index("This is a part"))
        self.assertLess(body.index("This is a part"), body.index("<table>"))

    def test_a_database_that_does_not_answer_is_told(self):
        self.environment["ROWLOCK_DSN"] = "host=127.0.0.1;port=1;user=u;database=d"
        self.daemon()
        answer, body = self.ask()
        self.assertEqual((answer.status, parsed(body)["rowlock_up",]), (200, 0))
        self.assertEqual(parsed(body)["rowlock_reaper_passes_total", "done"], 0)
        self.assertIn("127.0.0.1:1", Page(self.ask("/")[1]).text)

    def test_a_port_that_is_taken_ends_it(self):
        self.daemon("-i", "24h")
        code, _, err = self.run_tool(f"--metrics={self.port}", tool=DAEMON)
        self.assertEqual(code, 1)
        self.assertIn(f"cannot listen at {self.port}: Address already in use", err)

    def test_an_address_of_another_host_ends_it(self):
        code, _, err = self.run_tool("--metrics=192.0.2.1:9", tool=DAEMON)
        self.assertEqual(code, 1)
        self.assertIn("give an address of this host", err)

    def test_HUP_has_the_option_files_read_again(self):
        path = os.path.join(self.directory, "own.cnf")
        del self.environment["ROWLOCK_DSN"]
        option_file(path, "host=127.0.0.1;port=1;user=u;database=d", "rowlock")
        process = self.daemon(f"--defaults-file={path}", "-i", "24h")
        self.assertEqual(self.metrics()["rowlock_up",], 0)
        os.unlink(path)
        option_file(path, self.dsn, "rowlock")
        process.send_signal(signal.SIGHUP)
        for waited in harness.waiting():
            if self.metrics()["rowlock_up",] == 1:
                break
        else:
            self.fail(f"not up after {waited:.0f} s")


# The page as a browser has made it.
SEEN = """(() => {
	const of = (list, what) => [...list].map(what);
	const left = (node) => {
		const range = document.createRange();
		range.selectNodeContents(node);
		return range.getBoundingClientRect().left;
	};
	const rows = document.querySelectorAll("tbody tr");
	return {
		spoilt: window.spoilt ?? null,
		title: document.title,
		tags: of(document.querySelectorAll("*"), (e) => e.localName),
		handlers: of(document.querySelectorAll("*"), (e) => e.getAttributeNames())
			.flat().filter((name) => name.startsWith("on")),
		cells: of(rows, (row) => of(row.cells, (cell) => cell.textContent)),
		holders: of(rows, (row) => of(row.cells[2].childNodes, left)),
		beyond: of(document.querySelectorAll("*"), (e) =>
			e.getBoundingClientRect().right).filter((x) => x > innerWidth + 1).length,
		wide: document.documentElement.scrollWidth > innerWidth,
		first: document.querySelector("tbody td")?.getBoundingClientRect().bottom,
		part: document.querySelector("p + p")?.getBoundingClientRect().bottom,
		height: innerHeight,
		text: document.body.innerText,
		letters: getComputedStyle(document.body).fontSize,
	};
})()"""
TAGS = {"html", "head", "meta", "title", "link", "body", "h1", "p", "span", "code", "table",
        "thead", "tbody", "tr", "th", "td", "bdi"}
HOSTILE = ["<script>window.spoilt = 1</script>", "<img src=x onerror='spoilt = 1'>",
           "\"><svg/onload=spoilt=1>", "' onmouseover='spoilt=1", "<!--", "]]>",
           "</td></tr></table></body><h1>gone", "&lt;b&gt;&amp;#39;", "<meta http-equiv="
           "refresh content='0;url=http://127.0.0.1:1/'>", "</title><style>*{all:unset}",
           "javascript:spoilt=1", "אבג [7] (שלום)", "مرحبا a ب", "sneaky\u202etxt.exe",
           "\u2067isolate", "z\u0301\u0301"]


@unittest.skipUnless(CHROMIUM, "no chromium")
class InChromium(Daemon):
    def shown(self, browser, size):
        browser.open(f"http://127.0.0.1:{self.port}/", *size)
        seen = browser.evaluate(SEEN)
        self.assertEqual(set(seen["tags"]) - TAGS, set())
        self.assertEqual((seen["title"], seen["spoilt"], seen["handlers"]),
                         ("rowlock", None, []))
        self.assertEqual((seen["wide"], seen["beyond"]), (False, 0), size)
        self.assertEqual(seen["letters"], "16px")
        # Not even tried: nothing was refused by the policy, nothing was loaded.
        self.assertEqual(browser.seen("Log.entryAdded", "Page.javascriptDialogOpening",
                                      "Runtime.exceptionThrown"), [])
        self.assertEqual({request["request"]["url"].removeprefix(
            f"http://127.0.0.1:{self.port}") for request in
            browser.seen("Network.requestWillBeSent")} - {"/", "/style.css"}, set())
        return seen

    def keep(self, browser, name):
        path = os.path.join(os.environ.get("ROWLOCK_BUILD", "."), name)
        browser.screenshot(path)
        print(f"# screenshot: {path}")

    def test_hostile_names_are_text_on_a_telephone_and_a_desk(self):
        self.holds(*HOSTILE, program="משימה (7)", host="<b>مضيف",
                   info="</bdi><script>spoilt = 1</script>")
        self.daemon("-i", "24h")
        with Chromium() as browser:
            for name, size in (("telephone", TELEPHONE), ("desk", DESK)):
                seen = self.shown(browser, size)
                self.keep(browser, f"page-{name}.png")
                self.assertEqual(
                    {row[0].replace("\\u{202e}", "\u202e").replace(
                        "\\u{2067}", "\u2067") for row in seen["cells"]}, set(HOSTILE))
                self.assertNotIn("\u202e", seen["text"])
                for row in seen["cells"]:
                    self.assertEqual(row[1], "held, lease")
                    self.assertEqual(row[2], "משימה (7)[7]@<b>مضيف")
                    self.assertEqual(row[5], "</bdi><script>spoilt = 1</script>")
                # The program stays before its number, and that before its host.
                for places in seen["holders"]:
                    self.assertEqual((len(places), places), (3, sorted(places)))

    def test_a_reason_without_a_blank_does_not_widen_the_page(self):
        self.environment["ROWLOCK_DSN"] = (
            f"host=localhost;socket={self.directory}/{'<b>s' * 14};user=u;database=d")
        self.daemon("-i", "24h")
        with Chromium() as browser:
            self.assertIn("<b>s<b>s", self.shown(browser, TELEPHONE)["text"])

    def test_ten_thousand_holds_are_usable_on_a_telephone_and_a_desk(self):
        self.many_holds(program="p" * 100)
        self.daemon("-i", "24h")
        with Chromium() as browser:
            for size in (TELEPHONE, DESK):
                seen = self.shown(browser, size)
                self.assertEqual(len(seen["cells"]), PART)
                self.assertEqual({len(cell) for cell in seen["cells"][0][:1]}, {100})
                self.assertIn("This is a part", seen["text"])
                # Seen without scrolling, and the first name with it.
                self.assertLess(seen["part"], seen["height"])
                self.assertLess(seen["first"], seen["height"])

    def test_it_shows_the_next_state_by_itself(self):
        self.holds("first")
        self.daemon("-i", "24h")
        with Chromium() as browser:
            self.assertEqual([row[0] for row in self.shown(browser, TELEPHONE)["cells"]],
                             ["first"])
            self.sql("UPDATE business_lease SET name = 'second'")
            for waited in harness.waiting():
                if browser.evaluate("document.querySelector('td')?.textContent") == "second":
                    break
            else:
                self.fail(f"the page is as it was after {waited:.0f} s")


if __name__ == "__main__":
    if not BUILT:
        del Serve, InChromium
    own_server.main()
