"""A key for vectors: taken from stdin, kept where nobody else reads, and never shown."""

import io
import json
import stat
import sys

import pytest

from pipeline.core.errors import EmbeddingError
from pipeline.search.vectors import kept_key
from pipeline.search.vectors.remote import OPENAI_URL, OpenAIEmbedder
from tests.support.vectors import openai, serving

KEY = "sk-" + "q7Rw" * 8
RING = """
import json, pathlib, keyring.errors as errors
FILE = pathlib.Path(__file__).with_name("held.json")
def _held(): return json.loads(FILE.read_text()) if FILE.exists() else {}
def set_password(service, user, key): FILE.write_text(json.dumps({**_held(), f"{service} {user}": key}))
def get_password(service, user): return _held().get(f"{service} {user}")
def delete_password(service, user):
    held = _held()
    if f"{service} {user}" not in held: raise errors.KeyringError("none")
    held.pop(f"{service} {user}"); FILE.write_text(json.dumps(held))
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def ring(folder, monkeypatch, text=RING):
    """Put a keyring package on the path, as one that is installed would be."""
    (folder / "lib/keyring").mkdir(parents=True)
    (folder / "lib/keyring/__init__.py").write_text(text)
    (folder / "lib/keyring/errors.py").write_text("class KeyringError(Exception): pass\n")
    monkeypatch.syspath_prepend(str(folder / "lib"))
    for name in ("keyring", "keyring.errors"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def files_with(root, text):
    return [file for file in root.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


def test_without_a_keyring_a_private_file_has_it(home):
    said = kept_key.keep(home, f" {KEY}\n", OPENAI_URL)
    (file,) = files_with(home, KEY)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and KEY not in said and str(file) in said
    assert kept_key.kept(home, OPENAI_URL) == KEY
    assert kept_key.forget(home) and not files_with(home, KEY) and kept_key.kept(home, OPENAI_URL) == ""


def test_a_file_that_others_may_read_does_not_stay_so(home):
    home.mkdir()
    (home / "openai-key").write_text("{}")
    (home / "openai-key").chmod(0o644)
    kept_key.keep(home, KEY, OPENAI_URL)
    assert stat.S_IMODE((home / "openai-key").stat().st_mode) == 0o600


def test_a_keyring_has_it_where_there_is_one(home, tmp_path, monkeypatch):
    ring(tmp_path, monkeypatch)
    said = kept_key.keep(home, KEY, OPENAI_URL)
    assert "keyring" in said and not files_with(home, KEY)
    assert kept_key.kept(home, OPENAI_URL) == KEY
    kept_key.forget(home)
    assert kept_key.kept(home, OPENAI_URL) == kept_key.where(home) == "" and not files_with(tmp_path, KEY)


def test_a_keyring_that_takes_nothing_leaves_it_to_the_file(home, tmp_path, monkeypatch):
    refuses = "import keyring.errors as errors\ndef set_password(*_): raise errors.KeyringError('locked')\n"
    ring(tmp_path, monkeypatch, refuses)
    assert "the system's keyring" not in kept_key.keep(home, KEY, OPENAI_URL)
    assert kept_key.kept(home, OPENAI_URL) == KEY


@pytest.mark.parametrize("text", ["", "  ", "two words", "k\u00e9y", "x" * 20_000, "a\nb"])
def test_what_is_no_key_is_refused(home, text):
    with pytest.raises(EmbeddingError, match="no key"):
        kept_key.keep(home, text, OPENAI_URL)


def test_it_is_sent_to_the_address_it_was_given_for_alone(home):
    with serving(openai) as server, serving(openai) as other:
        kept_key.keep(home, KEY, server.url)
        for asked in (server, other):
            OpenAIEmbedder(asked.url, "m", "").embed(["one"])
        assert server.asked[0][1]["Authorization"] == f"Bearer {KEY}"
        assert "Authorization" not in other.asked[0][1]


def test_a_variable_stands_above_it(home, monkeypatch):
    monkeypatch.setenv("REVERIE_TEST_KEY", "above")
    with serving(openai) as server:
        kept_key.keep(home, KEY, server.url)
        OpenAIEmbedder(server.url, "m", "REVERIE_TEST_KEY").embed(["one"])
        assert server.asked[0][1]["Authorization"] == "Bearer above"


def test_the_command_sets_it_all_and_shows_no_key(desk, monkeypatch):
    store = desk.store
    store.mkdir(parents=True)
    (store / "_config.json").write_text('{"embedding_provider": "ollama", "mine": 1}')
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{KEY}\n"))
    arguments = (
        "config",
        "embeddings",
        "--provider",
        "openai",
        "--openai-model",
        "small",
        "--openai-key",
        "-",
    )
    said = [desk.here(*arguments)]
    assert "kept in" in said[0].out
    said += [desk.here("config", "embeddings", "--json"), desk.here("config", "--all")]
    said += [desk.here("doctor"), desk.here("status")]
    assert KEY not in "".join(item.out + item.err for item in said)
    assert "embeddings key" in said[3].out and "for you alone" in said[3].out
    held = json.loads((store / "_config.json").read_text())
    assert held == {"embedding_provider": "openai", "mine": 1, "openai_model": "small"}
    assert len(files_with(desk.project.parent, KEY)) == 1
    desk.here("config", "embeddings", "--forget-key")
    assert not files_with(desk.project.parent, KEY)


def test_a_key_as_an_argument_is_refused_and_not_repeated(desk):
    said = desk.here("config", "embeddings", "--openai-key", KEY, code=2)
    assert KEY not in said.out + said.err and "stdin" in said.err
    assert not files_with(desk.project.parent, KEY)
