"""A real `reverie open`, attacked over its socket: nothing is read, run or half written."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from pipeline.consolidation.commit import report as reports
from pipeline.consolidation.commit.report import DreamReport
from pipeline.web import wire
from pipeline.web.gate import HEADERS, REFUSAL
from pipeline.web.serving import serve
from pipeline.web.site import site
from pipeline.web.visit import Setting
from tests.cli.conftest import make_desk

ROOT = Path(__file__).resolve().parents[2]
FORM = "Content-Type: application/x-www-form-urlencoded"
OLD = "Prices are whole cents, as they always were."
SECRET = "0nly-f0r-its-0wner"
NOBODY = 65534


def _part(pattern, text):
    found = re.search(pattern, text)
    assert found, (pattern, text)
    return found[1]


class Reply:
    """What came back; `status` is 0 where the connection was closed without a word."""

    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1]) if first else 0
        self.headers = [tuple(line.lower().split(": ", 1)) for line in lines]
        self.text = self.body.decode("utf-8", "replace")

    @property
    def is_guarded(self):
        """Whether each header that keeps foreign pages out stands there, once."""
        sent = [name for name, _ in self.headers]
        guards = [(name.decode(), value.decode().lower()) for name, value in HEADERS]
        kept = dict(self.headers).get("cache-control")
        return kept in ("no-store", "no-cache") and all(
            pair in self.headers and sent.count(pair[0]) == 1 for pair in guards
        )

    @property
    def is_refusal(self):
        return 400 <= self.status < 500 and self.body == REFUSAL and self.is_guarded


class Served:
    """A running `reverie open`."""

    def __init__(self, desk, process, address, log):
        self.desk, self.process, self.address, self._log = desk, process, address, log
        port = _part(r"^http://127\.0\.0\.1:(\d+)/", address)
        self.token = _part(r"/([\w-]{32})/$", address)
        self.port = int(port)
        self.host = f"127.0.0.1:{port}"
        self.origin = f"Origin: http://{self.host}"

    def raw(self, data):
        """Send bytes and return all that comes until the connection is closed."""
        got = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as link:
            with suppress(ConnectionError):
                link.sendall(data)
            with suppress(ConnectionError):
                while piece := link.recv(1 << 16):
                    got += piece
        return Reply(got)

    def ask(self, path="", *headers, method="GET", body=b"", host=None):
        """Ask for a path below the token, or for any that begins with a slash."""
        target = path if path.startswith(("/", "http:")) else f"/{self.token}/{path}"
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host or self.host}", "Connection: close", *headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def proof(self):
        return _part('name="proof" value="([0-9a-f]{64})"', self.ask("memory/cents").text)

    def send(self, path, proof, *headers, **form):
        """Send a form as the page itself does."""
        body = urlencode({"proof": proof, **form}, doseq=True).encode()
        return self.ask(path, self.origin, FORM, *headers, method="POST", body=body)

    def log(self):
        return self._log.read_text("utf-8")

    def most_memory(self):
        """Return how much memory it ever had, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        return int(_part(r"VmHWM:\s+(\d+) kB", status)) // 1024

    def held(self):
        """Return how many files and threads it holds."""
        return tuple(len(os.listdir(f"/proc/{self.process.pid}/{what}")) for what in ("fd", "task"))


@contextmanager
def serving(desk, *more, **env) -> Iterator[Served]:
    log = desk.project.parent / "log"
    command = [sys.executable, "-m", "pipeline.cli.main", "open", *(more or ("--no-browser",))]
    with log.open("ab") as errors:
        process = subprocess.Popen(
            command, cwd=desk.project, env={**desk.env, "PYTHONPATH": str(ROOT), **env},
            stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
    with process:
        try:
            yield Served(desk, process, process.stdout.readline().strip(), log)
        finally:
            process.kill()


def shop(root):
    desk = make_desk(root)
    desk.here("add", OLD, "--name", "cents", "--type", "decision")
    desk.here("add", "Search is Postgres full text.", "--name", "search", "--type", "decision")
    return desk


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A page that no attack here changes, with secrets lying around it; its log stays clean of tracebacks."""
    desk = shop(tmp_path_factory.mktemp("attacked"))
    home, store = Path(desk.here("status", "--json").json["home"]), desk.store
    report = DreamReport(SECRET, str(store), "2026-11-01T00:00:00+00:00", word="done")
    written = reports.write(report, home).with_suffix(".json")
    for folder in (store.parent, home, home.parent, desk.project):
        (folder / "secret.md").write_text(f"---\nname: secret\ntype: project\n---\n{SECRET}\n")
        (folder / "secret.json").write_bytes(written.read_bytes())
    shutil.rmtree(written.parent)
    written.parent.mkdir()
    before = {file.name: file.read_bytes() for file in store.glob("*.md")}
    with serving(desk) as running:
        yield running
        assert "Traceback" not in running.log() and "ERROR" not in running.log()
        assert running.token not in running.log()
    assert {file.name: file.read_bytes() for file in store.glob("*.md")} == before


# -- who is answered ------------------------------------------------------------------------------------


def test_only_the_token_in_its_place_is_answered(served):
    token, other = served.token, served.token[:-1] + ("A" if served.token[-1] != "A" else "B")
    for path, *headers in (
        ["/"], ["/memory/cents"], ["/static/style.css"], ["/health/stream"], ["/favicon.ico"],
        [f"/{other}/"], [f"/{token[:-1]}/"], [f"/{token}x/"], [f"/{token.swapcase()}/"], [f"//{token}/"],
        [f"/./{token}/"], [f"/x/../{token}/"], [f"/%2f{token}/"], [f"/{token}%00/"], [f"/{token}%2e/"],
        [f"/?token={token}"], [f"/?/{token}/"], ["/", f"Authorization: Bearer {token}"],
        ["/", f"Cookie: token={token}"], ["/", f"X-Forwarded-Prefix: /{token}"],
        ["/", f"Referer: {served.address}"], ["/", f"X-Original-URL: /{token}/"],
        [f"http://{served.host}/{token}/"], [f"http://evil.example/{token}/"],
    ):  # fmt: skip
        for method in ("GET", "POST", "OPTIONS"):
            reply = served.ask(path, *headers, served.origin, method=method)
            assert reply.is_refusal and reply.status == 404, (method, path, headers, reply.status)
    assert served.ask().status == 200


def test_under_a_foreign_name_nothing_is_shown(served):
    port = served.port
    for host in (
        "evil.example", f"evil.example:{port}", "127.0.0.1", "localhost", f"127.0.0.1:{port + 1}",
        f"127.0.0.1:{port}.evil.example", f"127.0.0.1:0{port}", f"127.0.0.1.:{port}", f"localhost.:{port}",
        f"127.0.0.1:{port}@evil.example", f"evil@127.0.0.1:{port}", f"[::1]:{port}", f"0.0.0.0:{port}",
        f"127.1:{port}", f"2130706433:{port}", f"LOCALHOST:{port}", f"http://127.0.0.1:{port}", "",
    ):  # fmt: skip
        reply = served.ask(host=host or " ")
        assert reply.is_refusal and reply.status in (400, 421), (host, reply.status)
    start, own = f"GET /{served.token}/ HTTP/", f"Host: {served.host}\r\n"
    for request in (
        f"{start}1.0\r\n\r\n", f"{start}1.1\r\n\r\n", f"{start}1.1\r\n{own}Host: evil.example\r\n\r\n",
        f"{start}1.1\r\n{own}{own}\r\n", f"{start}1.1\r\nX-Forwarded-Host: {served.host}\r\n\r\n",
        f"GET /{served.token}/\r\n\r\n",
        f"{start}1.1\r\n{own} evil.example\r\n\r\n", f"{start}1.1\r\nHost : {served.host}\r\n\r\n",
    ):  # fmt: skip
        reply = served.raw(request.encode())
        assert reply.is_refusal, (request, reply.status, reply.text)
    assert served.raw(f"{start}1.0\r\n{own}\r\n".encode()).status == 200


def test_a_foreign_page_changes_and_reads_nothing(served):
    proof = served.proof()
    body = urlencode({"proof": proof, "name": "cents", "pinned": "yes", "scope": "project"}).encode()
    own, foreign = served.origin, "Origin: http://evil.example"
    for method, *headers in (
        ["POST", FORM], ["POST", FORM, "Origin: null"], ["POST", FORM, foreign], ["POST", FORM, own, foreign],
        ["POST", FORM, f"{own}.evil.example"], ["POST", FORM, f"Origin: https://{served.host}"],
        ["POST", FORM, "Origin: http://127.0.0.1"], ["POST", FORM, own, "Sec-Fetch-Site: cross-site"],
        ["POST", FORM, own, "Sec-Fetch-Site: same-site"], ["OPTIONS", foreign], ["GET", foreign],
        ["GET", "Origin: null"], ["GET", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
        ["GET", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"], ["PUT"], ["DELETE"], ["TRACE"],
        ["POST", FORM, "X-HTTP-Method-Override: GET"],
    ):  # fmt: skip
        for path in ("memories/pin", "memory/cents", "health/stream", "static/page.js"):
            reply = served.ask(path, *headers, method=method, body=body if method == "POST" else b"")
            assert reply.is_refusal and reply.status in (400, 403), (method, path, headers, reply.status)


def test_a_form_counts_only_with_the_proof_and_as_a_form(served):
    proof, fields = served.proof(), {"name": "cents", "pinned": "yes", "scope": "project"}
    for wrong in ("", proof[:-1], proof + "0", proof.upper() + " ", "0" * 64, "\udcff", served.token):
        reply = served.send("memories/pin", wrong.encode("utf-8", "surrogatepass"), **fields)
        assert reply.status == 400 and reply.is_guarded, wrong
    body = urlencode({"proof": proof, **fields}).encode()
    for kind in ("text/plain", "application/json", "multipart/form-data; boundary=x", ""):
        headers = [served.origin, *([f"Content-Type: {kind}"] if kind else [])]
        reply = served.ask("memories/pin", *headers, method="POST", body=body)
        assert reply.status == 413 and reply.is_guarded, kind
    asked = urlencode({"proof": proof, **fields})
    for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "TRACE", "BREW"):
        more = [served.origin, "X-HTTP-Method-Override: POST", "X-HTTP-Method: POST"]
        reply = served.ask(f"memories/pin?{asked}", *more, method=method)
        assert reply.status == 405 and reply.is_guarded, method
    assert served.send(f"memories/pin?{asked}", "").status == 400


# -- what is read ---------------------------------------------------------------------------------------


def _ways_out(served):
    """Yield spellings that would lead to a secret, were any of them made into a path."""
    outside = served.desk.store.parent / "secret.md"
    yield from ("../secret", "..\\secret.md", "%2e%2e/secret.md", "..%2fsecret.json", "x/../../secret.md")
    yield from (
        "%c0%ae%c0%ae%c0%afsecret.md",
        "../secret.md\0.css",
        str(outside),
        "../../../../../etc/passwd",
    )


def _holds_a_secret(reply):
    text = reply.text.replace(quote(SECRET), "")
    return SECRET in text or "root:x:" in text or "def answer" in text


def test_no_address_and_no_form_leads_out_of_the_folder(served):
    proof = served.proof()
    asks = {
        "": ("in", "q", "type", "show"), "memory/cents": ("scope", "in"), "today": ("day", "only"),
        "timeline": ("month",), "dreams": ("run",), "inbox": ("item", "kind"), "graph": ("type", "group"),
        "graph/picture": ("relation",), "cost": ("by",), "health": ("look",), "runs": ("kind",),
    }  # fmt: skip
    for way in _ways_out(served):
        spelt = (quote(way, safe="%/\\:*"), quote(way, safe=""))
        paths = {f"{start}{each}" for each in spelt for start in ("static/", "memory/", "runs/")}
        paths |= {f"runs/{each}/bundle" for each in spelt}
        paths |= {f"{page}?{urlencode({name: way})}" for page, names in asks.items() for name in names}
        for path in paths:
            reply = served.ask(path)
            assert reply.status < 500 and reply.is_guarded and not _holds_a_secret(reply), (path, reply.text)
        for deed, form in (
            ("memories/restore", {"name": way, "scope": "project"}), ("memories/forget", {"name": way}),
            ("memories/edit", {"name": way, "text": "gone"}), ("memories/move", {"name": way, "scope": way}),
            ("memories/undo", {"run": way}), ("dreams/undo", {"run": way, "dream": way}),
            ("runs/rerun", {"run": way, "model": way}),
            ("inbox/decide", {"item": way, "decision": "accept"}), (f"memories/{quote(way, safe='')}", {}),
        ):  # fmt: skip
            reply = served.send(deed, proof, **form)
            assert 400 <= reply.status < 500 and not _holds_a_secret(reply), (deed, way, reply.text)


def test_numbers_that_nothing_holds_are_refused_in_words(served):
    proof = served.proof()
    for number in ("9" * 5_000, str(10**30), "-1", "1e9", "\u00b2", "NaN", "0x10"):
        for path, name in (
            ("", "from"),
            ("inbox", "item"),
            ("graph", "group"),
            ("cost", "days"),
            ("runs", "from"),
        ):
            reply = served.ask(f"{path}?{urlencode({name: number})}")
            assert reply.status == 400 and "fault in Reverie" not in reply.text, (path, number[:40])
        for deed in ("decide", "undo"):
            assert served.send(f"inbox/{deed}", proof, item=number, decision="accept").status == 400


# -- what is sent ---------------------------------------------------------------------------------------


def test_what_is_no_request_or_far_too_much_is_refused_and_harms_nobody(served):
    start = f"/{served.token}/memories/pin HTTP/1.1\r\nHost: {served.host}\r\n{served.origin}\r\n{FORM}\r\n"
    chunked = f"POST {start}Transfer-Encoding: chunked\r\n\r\n"
    for request in (
        f"{chunked}ZZZ\r\nhello", f"{chunked}-5\r\nhello", f"{chunked}5\r\nhelloworld\r\n",
        f"{chunked}ffffffffffffffffffffffff\r\n", f"POST {start}Content-Length: -1\r\n\r\n",
        "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZ\r\n",
        f"POST {start}Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "\0\0\0",
        f"POST {start}Transfer-Encoding: gzip\r\n\r\n", "\x16\x03\x01\x02\0\x01\xfc\x03\r\n\r\n",
        f"GET /{served.token}/\u00e9 HTTP/1.1\r\n\r\n", f"GET {start}X: a\0b\r\n\r\n",
        f"GET {start}" + "".join(f"X-{n}: {n:0100}\r\n" for n in range(10_000)) + "\r\n",
        f"GET /{'x' * 200_000} HTTP/1.1\r\n\r\n",
    ):  # fmt: skip
        reply = served.raw(request.encode("latin-1"))
        assert reply.is_refusal or reply.status == 0, (request[:300], reply.status, reply.text)
    many = urlencode({"item": [*range(6_000)]}, doseq=True)
    reply = served.ask("inbox/decide", served.origin, FORM, method="POST", body=many.encode())
    assert reply.status == 413 and "too many fields" in reply.text
    socket_wanted = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]  # fmt: skip
    assert served.ask("/", *socket_wanted).is_refusal
    assert served.ask("static/icon.svg", *socket_wanted).status == 200
    before = served.most_memory()
    for path in ("memories/pin", "/x"):
        reply = served.ask(path, served.origin, FORM, method="POST", body=b"a" * 100_000_000)
        assert reply.status in (0, 404, 413), reply.status
    assert served.most_memory() < before + 20


def test_a_body_that_never_ends_keeps_nobody_waiting(served):
    head = (
        f"POST /{served.token}/memories/pin HTTP/1.1\r\nHost: {served.host}\r\n{served.origin}\r\n{FORM}\r\n"
    )
    links = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(50)]
    for link in links:
        link.sendall(f"{head}Content-Length: 1000\r\n\r\nproof=".encode())
    assert served.ask().status == 200
    for link in links:
        link.close()
    assert served.ask().status == 200


def test_who_says_nothing_is_let_go_and_who_never_asks_ends_it(tmp_path, monkeypatch):
    monkeypatch.setattr(wire, "HEAD_SECONDS", 0.05)
    address = []
    there = threading.Event()

    def ready(given):
        address.append(given)
        there.set()

    app = site(Setting(folder=tmp_path, secret=b"s"))
    server = threading.Thread(target=serve, args=(app,), kwargs={"idle_seconds": 0.5, "ready": ready})
    server.start()
    assert there.wait(20)
    port = int(address[0].split(":")[2].partition("/")[0])
    for said in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: "):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as link:
            link.sendall(said)
            assert link.recv(100) == b""
    server.join(20)
    assert not server.is_alive()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_every_answer_says_what_a_browser_may_do_with_it(served):
    proof = served.proof()
    for reply, status in (
        (served.ask(), 200), (served.ask("health/stat"), 404), (served.ask("today/"), 307),
        (served.ask("memory/nothing"), 404), (served.ask("cost?days=x"), 400),
        (served.ask("graph/picture"), 200), (served.ask("?part=rows"), 200), (served.ask("inbox/item"), 200),
        (served.ask("static/page.js"), 200), (served.ask("", method="HEAD"), 200),
        (served.send("memories/pin", proof, name="nothing"), 404), (served.ask("", method="TRACE"), 403),
    ):  # fmt: skip
        assert reply.status == status and reply.is_guarded
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as link:
        link.sendall(f"GET /{served.token}/health/stream HTTP/1.1\r\nHost: {served.host}\r\n\r\n".encode())
        assert Reply(link.recv(4096)).is_guarded


def test_two_hundred_streams_that_were_closed_leave_nothing_behind(served):
    def watch(_):
        with socket.create_connection(("127.0.0.1", served.port), timeout=60) as link:
            link.sendall(
                f"GET /{served.token}/health/stream HTTP/1.1\r\nHost: {served.host}\r\n\r\n".encode()
            )
            return link.recv(12)

    with ThreadPoolExecutor(50) as many:
        list(many.map(watch, range(50)))
        before, _ = served.held()
        assert list(many.map(watch, range(200))) == [b"HTTP/1.1 200"] * 200
    # Each later request gives the server a turn to notice who left.
    for _ in range(200):
        assert served.ask("static/icon.svg").status == 200
        files, threads = served.held()
        if files < before + 40:
            break
    # Of threads there are at most the forty that answer requests, however many streams there were.
    assert files < before + 40 and threads < 50, (files, threads, before)


# -- what is changed ------------------------------------------------------------------------------------


def _edit_of(served, proof, number, seen):
    """Try to give the memory a text of its own, and return whether that was kept."""
    text = f"Prices are whole cents, says {number:03}.\n\n" + f"It was said {number:03} times. " * 40
    form = {"name": "cents", "scope": "project", "title": "Cents", "description": f"Says {number:03}."}
    reply = served.send("memories/edit", proof, text=text, seen=seen, tags=f"n{number:03}", **form)
    assert reply.status == 303 or "Not kept" in reply.text, (reply.status, reply.text)
    return reply.status == 303


def _is_whole(text):
    """Whether the memory in `text` is as it was, or as one edit alone left it."""
    text = text.split('<div class="read"')[-1].split("</div>")[0]
    told = set(re.findall(r"(?:says|Says|said|- n|\[n) ?(\d{3})", text))
    return OLD in text if not told else len(told) == 1 and text.count(f"said {told.pop()} times") == 40


def _seen(served):
    return _part('name="seen" value="([0-9a-f]+)"', served.ask("memory/cents?scope=project").text)


def _kept(desk):
    return desk.here("show", "cents").out


def _is_sound(desk):
    assert "nothing wrong" in desk.here("audit").out
    assert "\n0 errors" in desk.here("doctor").out
    left = list(desk.store.parent.parent.parent.rglob(".*reverie-tmp*"))
    assert not left, left


def test_of_two_hundred_requests_at_once_each_is_done_whole_or_says_no(tmp_path):
    desk = shop(tmp_path)
    with serving(desk) as served:
        proof, seen = served.proof(), _seen(served)
        start = threading.Barrier(200)

        def one(number):
            start.wait(60)
            if number < 40:
                return _edit_of(served, proof, number, seen)
            if number < 80:
                pinned = "yes" if number % 2 else "no"
                reply = served.send("memories/pin", proof, name="search", scope="project", pinned=pinned)
                return reply.status
            reply = served.ask(("memory/cents", "static/page.js", "today", "static/icon.svg")[number % 4])
            return reply.status == 200 and (number % 4 or _is_whole(reply.text) or reply.text)

        with ThreadPoolExecutor(200) as many:
            came = list(many.map(one, range(200)))
        assert came[:40].count(True) == 1, came[:40]
        assert set(came[40:80]) == {303}, came[40:80]
        assert all(each in (True, 1, 2, 3) for each in came[80:]), came[80:]
        assert not re.search("Traceback|made anew|can't be used", served.log()), served.log()
        assert f"says {came.index(True):03}." in _kept(desk)
    made = [change["reason"] for change in desk.here("history", "--json").json]
    assert sum("cents" in reason for reason in made) == 2, made
    _is_sound(desk)


def test_killed_in_the_midst_of_changes_it_leaves_each_whole_or_none(tmp_path):
    desk = shop(tmp_path)
    tokens: list[str] = []
    for turn in range(2):
        with serving(desk) as served:
            for token in tokens:
                assert served.ask(f"/{token}/").is_refusal
            tokens.append(served.token)
            proof = served.proof()
            kept: list[int] = []

            def change(number, served=served, proof=proof, kept=kept, turn=turn):
                with suppress(OSError, AssertionError, TypeError):
                    if _edit_of(served, proof, number, _seen(served)):
                        kept.append(number)
                        if len(kept) == 2 + turn:
                            served.process.send_signal(signal.SIGKILL)

            with ThreadPoolExecutor(6) as many:
                list(many.map(change, range(100 * turn, 100 * turn + 18)))
            assert served.process.wait(60) == -signal.SIGKILL
        assert _is_whole(_kept(desk))
        _is_sound(desk)
        changed = [c["files"] for c in desk.here("history", "--json").json if "cents" in c["reason"]]
        assert len(changed) > len(kept)


# -- who else is on the machine -------------------------------------------------------------------------


def test_another_user_of_the_machine_finds_no_token(tmp_path_factory):
    if os.getuid():
        pytest.skip("only the administrator can act as another user")
    root = Path(tempfile.mkdtemp(prefix="everyone-may-enter-"))
    root.chmod(0o755)
    try:
        desk = shop(root)
        (root / "seen-by-all").write_text("a mark that the search must find")
        (root / "browser").write_text(f'#!/bin/sh\ntr "\\0" " " </proc/$$/cmdline >{root}/started\n')
        (root / "browser").chmod(0o755)
        with serving(desk, "--browser", BROWSER=f"{root}/browser %s", TMPDIR=str(root)) as served:
            proof = served.proof()
            assert served.send("memories/pin", proof, name="cents", pinned="yes").status == 303
            page = next(root.rglob("page.html"))
            assert page.stat().st_mode & 0o077 == 0 and served.token in page.read_text()

            def found(what):
                process = Path(f"/proc/{served.process.pid}")
                places = [root, *(process / name for name in ("cmdline", "environ", "maps", "fd", "task"))]
                command = ["grep", "-rlasF", "-D", "skip", "-e", what, *map(str, places)]
                done = subprocess.run(
                    command,
                    user=NOBODY,
                    group=NOBODY,
                    extra_groups=[],
                    cwd="/",
                    capture_output=True,
                    text=True,
                )
                return done.stdout.split()

            assert found("a mark that the search must find") == [str(root / "seen-by-all")]
            assert found("pipeline.cli.main"), "what it was started with is seen by all"
            for secret in (served.token, proof, OLD):
                assert found(secret) == [], secret
            started = (root / "started").read_text()
            assert page.as_uri() in started and served.token not in started
            for path in ("/", "/static/page.js", "/health/stream", "/page.html"):
                assert served.ask(path).is_refusal
    finally:
        shutil.rmtree(root)


def test_tokens_and_proofs_are_compared_in_constant_time(served, monkeypatch):
    from pipeline.web import gate, visit

    compared = []
    for module in (gate, visit):
        true = module.hmac.compare_digest
        monkeypatch.setattr(
            module.hmac, "compare_digest", lambda a, b, true=true: compared.append((a, b)) or true(a, b)
        )
    assert not gate.Gate(site(Setting(folder=Path(), secret=b"s")), "t0ken", 1)._is_ours("/t0ked/")
    assert compared[0] == (b"/t0ked", b"/t0ken")
