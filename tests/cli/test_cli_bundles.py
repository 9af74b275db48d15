"""``reverie bundle``, ``replay`` and ``rerun`` as a person types them."""

import json
import zipfile

import pytest


@pytest.fixture(scope="module")
def run(filled):
    """The id of the one run of that home."""
    (found,) = filled.here("status", "--json").json["runs"]
    return found["id"]


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out.zip"


def test_without_a_yes_it_shows_what_would_be_in_it_and_writes_nothing(filled, run, out):
    done = filled.here("bundle", run, "--to", out, code=1)
    assert all(
        name in done.out for name in ("about.json", "run.json", "reply.json", "calls.json", "done.json")
    )
    assert "bytes" in done.out or "KB" in done.out
    assert "nobody can be asked" in done.err and "--yes" in done.err and not out.exists()
    assert "name branches after the ticket" not in done.out


def test_show_prints_every_text_before(filled, run, out):
    done = filled.here("bundle", run, "--to", out, "--show", code=1)
    assert "From now on name branches after the ticket" in done.out and not out.exists()
    assert str(filled.project.parent) not in done.out


def test_with_a_yes_it_is_written_and_comes_to_the_same_when_run_again(filled, run, out, tmp_path):
    done = filled.here("bundle", run[:10], "--to", out, "--yes")
    assert f"wrote {out}" in done.out and out.stat().st_mode & 0o077 == 0
    with zipfile.ZipFile(out) as archive:
        assert "about.json" in archive.namelist()
    # Another machine knows nothing of that home.
    other = {"HOME": str(tmp_path / "other")}
    again = filled.here("replay", out, **other)
    assert again.out == "the same: applied, 2 actions, 0 turned down\n"
    assert filled.here("replay", out, "--json", **other).json["differences"] == []
    assert not (tmp_path / "other").exists()


def test_as_json_it_says_what_was_written(filled, run, out):
    value = filled.here("bundle", run, "--to", out, "--yes", "--json", "--show").json
    assert value["run"] == run and value["bytes"] == out.stat().st_size
    assert json.loads(value["texts"]["done.json"])["outcome"] == "applied"


def test_what_comes_out_otherwise_ends_with_one_and_is_shown(filled, run, out):
    from pipeline.app import bundle_archive

    filled.here("bundle", run, "--to", out, "--yes")
    values = bundle_archive.read(out)
    about = values.pop("about.json")
    values["done.json"]["outcome"] = "known"
    out.write_bytes(bundle_archive.pack(bundle_archive.texts_of(values, {**about, "texts": {}})))
    done = filled.here("replay", out, code=1)
    assert "otherwise" in done.out and "- outcome  known" in done.out and "+ outcome  applied" in done.out


def test_a_run_or_a_file_that_is_not_there_is_said(filled, out):
    assert "there is no run" in filled.here("bundle", "nothing", code=1).err
    missing = filled.here("replay", out, code=1).err
    assert str(out) in missing and "Check the path." in missing
    out.write_text("hello")
    assert "no zip archive" in filled.here("replay", out, code=1).err


def test_a_file_that_is_there_is_left(filled, run, out):
    out.write_text("mine")
    assert "such a file" in filled.here("bundle", run, "--to", out, "--yes", code=1).err
    assert out.read_text() == "mine"


def test_asked_anew_both_stand_side_by_side_and_nothing_is_written(filled, run):
    before = {path: path.read_bytes() for path in filled.store.rglob("*") if path.is_file()}
    done = filled.here("rerun", run, "--llm", "offline")
    assert "then" in done.out and "now" in done.out and done.out.count("created") == 4
    assert "without what this run did" in done.err
    found = filled.here("rerun", run, "--llm", "offline", "--json").json
    assert found["then"]["done"]["outcome"] == found["now"]["done"]["outcome"] == "applied"
    assert {path: path.read_bytes() for path in filled.store.rglob("*") if path.is_file()} == before
    assert len(filled.here("status", "--json").json["runs"]) == 1


def test_an_unknown_provider_is_a_wrong_use(filled, run):
    assert "unknown provider" in filled.here("rerun", run, "--llm", "oracle", code=2).err
