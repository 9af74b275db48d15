"""`reverie graph --html` and `reverie report --html`: one file that needs nothing else, and tells no more."""

import json
import re
from base64 import b64encode
from hashlib import sha256

import pytest

from pipeline.safety.sent import sendable
from tests.support.cognitive import lay_out
from tests.support.dream_cases import FIXTURES, load
from tests.support.dream_cases import lay_out as lay_out_dream

KEY = "sk-ant-api03-" + "a1B2c3D4e5" * 9 + "-abcdefAA"
HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture
def store(tmp_path):
    root = lay_out(tmp_path / "cognitive")
    (root / "graph/problems/sent-bbbbbb.md").write_text(
        "---\nid: bbbbbbbb-0000-4000-8000-000000000009\ntype: problem\n"
        f'title: "{HOSTILE}"\ndescription: "The key {KEY} is in /home/jane/.netrc, used by src/app.py"\n'
        "created: 2025-12-06T16:20:00+00:00\n---\n\nMore.\n"
    )
    return root


def needs_nothing(text):
    """Whether the page loads nothing, and its policy names what stands inline in it."""
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    policy = policy.replace("&#39;", "'")
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.S)
    assert "default-src 'none'" in policy and "unsafe" not in policy and digest(style) in policy
    script = re.search(r"<script>(.*?)</script>", text, re.S)
    assert (digest(script[1]) if script else "script-src 'none'") in policy
    return not re.search(r"<(?:link|img|iframe|object|embed)\b|\ssrc=|@import|url\(|\sstyle=|\son\w+=", text)


def digest(text):
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_the_graph_in_numbers_and_as_values(desk, store):
    said = desk.here("graph", "--store", store)
    assert said.out.startswith("4 memories, 1 relation\n")
    found = desk.here("graph", "--store", store, "--json").json
    assert len(found["memories"]) == 4 and [each["type"] for each in found["relations"]] == ["SOLVES"]


def test_the_graph_is_one_file_that_needs_nothing_else(desk, store, tmp_path):
    file = tmp_path / "graph.html"
    assert str(file) in desk.here("graph", "--store", store, "--html", file).out
    text = file.read_text()
    assert needs_nothing(text) and HOSTILE not in text
    inside = text.partition('id="graph-data">')[2].partition("</script>")[0]
    assert HOSTILE in [each["title"] for each in json.loads(inside)["spots"]]
    assert KEY in text and "/home/jane/.netrc" in text  # as they are, unless asked
    assert file.stat().st_mode & 0o077 == 0


def test_on_request_it_has_no_secret_and_no_path(desk, store, tmp_path):
    file = tmp_path / "graph.html"
    desk.here("graph", "--store", store, "--html", file, "--redact")
    text = file.read_text()
    assert KEY not in text and "/home/jane" not in text and str(tmp_path) not in text
    assert "[redacted:" in text and "[path]" in text and "src/app.py" in text
    desk.here("graph", "--store", store, "--html", file, "--redact")  # its own file is made anew


@pytest.mark.parametrize("command", ["graph", "report"])
def test_a_file_of_somebody_else_stays(desk, store, tmp_path, command):
    file = tmp_path / "notes.html"
    file.write_text("<p>mine</p>")
    said = desk.here(command, "--store", store, "--html", file, code=1)
    assert "another file already" in said.err and file.read_text() == "<p>mine</p>"
    assert "--html" in desk.here(command, "--store", store, "--redact", code=1).err
    assert "exclude" in desk.here(command, "--store", store, "--json", "--html", file, code=1).err


def test_a_folder_that_is_not_there_is_named(desk, store, tmp_path):
    said = desk.here("graph", "--store", store, "--html", tmp_path / "no" / "graph.html", code=1)
    assert "there is no such folder" in said.err and not (tmp_path / "no").exists()


def test_a_dreams_report_is_a_file_of_text_alone(desk, store, tmp_path):
    desk.here("consolidate", "--store", store, "--force", "--llm", "offline")
    file = tmp_path / "report.html"
    desk.here("report", "--store", store, "--html", file)
    text = file.read_text()
    assert needs_nothing(text) and "<script" not in text and "Dream of " in text and "Looked at" in text


def test_a_report_has_what_the_dream_changed_old_beside_new(desk, tmp_path):
    root, file = tmp_path / "doubles", tmp_path / "report.html"
    lay_out_dream("doubles", root)
    env = {
        "REVERIE_NOW": load("doubles")["now"],
        "REVERIE_DREAM__RETIRE_SHARE": "1",
        "REVERIE_DREAM__CUES": "0",
    }
    replay = f"replay:{FIXTURES}/cassettes/doubles"
    desk.here("consolidate", "--force", "--llm", replay, "--store", root, **env)
    desk.here("report", "--store", root, "--html", file, "--redact", **env)
    text = file.read_text()
    assert needs_nothing(text) and "What changed in the files" in text and str(tmp_path) not in text
    assert "<del>-" in text and "<ins>+" in text


def test_what_a_report_holds_stays_text():
    from pipeline.web.alone import changed, report_file

    text = report_file(
        HOSTILE,
        f"# Dream\n\n## {HOSTILE}\n\n- **{HOSTILE}**\n",
        [changed(HOSTILE, f"+{HOSTILE}\n-old\n")],
        "",
    )
    assert needs_nothing(text) and "<script" not in text and "<ins>+&lt;/script&gt;" in text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("see /home/jane/a.txt, please", "see [path], please"),
        ("in `~/notes/my plan.md` it says", "in `[path]` it says"),
        (r"C:\Users\Jane\x.txt stays", "[path] stays"),
        (r"on \\server\share\x", "on [path]"),
        ("file:///tmp/x is it", "[path] is it"),
        ('"/Users/Jane Doe/x y.txt"', '"[path]"'),
        ("/opt/my work/deep/x is mine", "[path] is mine"),
        ("-opt-my-work-shop as a name", "[path] as a name"),
        ("src/app.py and/or https://example.org/a/b", "src/app.py and/or https://example.org/a/b"),
        ("use /help, and 1/2 of it", "use /help, and 1/2 of it"),
    ],
)
def test_paths_of_a_machine_go_and_others_stay(text, clean):
    assert sendable(text, ("/opt/my work",)) == clean
