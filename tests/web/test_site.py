"""The frame around all pages."""

import re

from jinja2 import DictLoader, Environment

from pipeline.web.rendering import TEMPLATES, Compiled


def test_the_navigation_leads_to_pages_that_there_are(browse):
    browser = browse()
    links = re.findall(r'<li><a href="/t0ken/([^"]*)"', browser.get().text)
    assert links and links[0] == ""
    assert {path: browser.get(path).status for path in links} == dict.fromkeys(links, 200)


def test_compiled_templates_are_kept_and_taken_only_whole_and_private(tmp_path, monkeypatch):
    def made(folder):
        """The code of a template as a new server has it, and whether that server compiled it."""
        found = Environment(loader=DictLoader({"a.html": "{{ 6 * 7 }}"}), bytecode_cache=Compiled(folder))
        compiled = []
        whole = found.compile
        monkeypatch.setattr(
            found, "compile", lambda *given, **named: compiled.append(1) or whole(*given, **named)
        )
        return found.get_template("a.html").render(), bool(compiled)

    file = tmp_path / "a.html"
    assert made(tmp_path) == ("42", True)
    assert file.stat().st_mode & 0o777 == 0o600
    assert made(tmp_path) == ("42", False)
    kept = file.read_bytes()
    for damaged in (kept[:-1], kept[:70] + b"0" + kept[71:], b"", b"\n\n\n"):
        file.write_bytes(damaged)
        assert made(tmp_path) == ("42", True)
        assert file.read_bytes() == kept
    file.chmod(0o644)
    assert made(tmp_path) == ("42", True), "another may have written it"
    assert made(tmp_path) == ("42", False)
    (tmp_path / "no").write_text("a file where the folder should be")
    assert made(tmp_path / "no") == ("42", True)


def test_every_file_that_a_template_names_is_served(browse):
    named = {
        name
        for file in TEMPLATES.glob("*.html")
        for name in re.findall(r"static/([\w.-]+)", file.read_text("utf-8"))
    }
    browser = browse()
    assert len(named) > 5
    assert {name: browser.get(f"static/{name}").status for name in named} == dict.fromkeys(named, 200)
