"""The index of what was said: in step with the ledger, found by words and trigrams, disposable."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from pipeline.core.errors import SearchError
from pipeline.core.home import Home
from pipeline.ledger import open_ledger, retention, secrets
from pipeline.search import derived_file, dialogue_index
from pipeline.search.dialogue_index import DialogueIndex, Wanted
from tests.ledger.build import KEY, SESSION, at, ingest, reply, said
from tests.support.ledgers import new_ledger

ALL = Wanted()
OTHER = "-w-other/0e4e.jsonl"


@pytest.fixture
def led(tmp_path):
    with new_ledger(Home(tmp_path).ledger) as ledger:
        yield ledger


def found(home, led, query, wanted=ALL, limit=20):
    with DialogueIndex(home) as index:
        index.refresh(led)
        return [item.row for item in index.find(query, wanted, limit)[0]]


def excerpts(home, led, query):
    with DialogueIndex(home) as index:
        index.refresh(led)
        return [item.excerpt for item in index.find(query, ALL, 20)[0]]


def held(home):
    """Return all bytes that the index has on disk."""
    path = Home(home).dialogue_index
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


def rows_held(home):
    with DialogueIndex(home) as index:
        return dict(index._connection.execute("SELECT id, body FROM texts"))


def rows_said(led):
    return dict(
        led.plain_rows(
            "SELECT id, content FROM memory_transcript_entries WHERE speaker IS NOT NULL AND superseded = 0"
            " AND abandoned = 0 AND content <> ''"
        )
    )


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("gateway deploys", [0]),
        ('"needs the VPN"', [0]),
        ('"needs VPN"', []),
        ("gate*", [0]),
        ("移行", [1]),
        ("データベース", [1]),
        ("移行 PostgreSQL", [1]),
        ("postgresql", [1]),
        ("배포", [2]),
        ("เซิร์ฟเวอร์", [3]),
        ("naive", [4]),
        ("100%_", [4]),
        ("100%_移", []),
    ],
)
def test_words_of_any_script_find_what_was_said(tmp_path, led, query, texts):
    lines = [
        "Deploying the gateway needs the VPN.",
        "データベースの移行はPostgreSQLで行います",
        "스테이징 서버에 배포하기 전에 물어보세요",
        "รีสตาร์ตเซิร์ฟเวอร์ทุกคืน",
        "we use naïve 100%_ things",
    ]
    ingest(led, [said(number, text) for number, text in enumerate(lines)])
    assert found(tmp_path, led, query) == [number + 1 for number in texts]


def test_the_words_asked_for_are_marked(tmp_path, led):
    ingest(led, [said(0, "Deploying the gateway\nneeds the VPN."), said(1, "本番の移行は夜に行います")])
    assert excerpts(tmp_path, led, "gateway deploy") == ["«Deploying» the «gateway» needs the VPN."]
    assert excerpts(tmp_path, led, "移行") == ["本番の«移行»は夜に行います"]
    assert excerpts(tmp_path, led, "本番の移行") == ["«本番の移行»は夜に行います"]


def test_what_holds_all_words_comes_before_what_holds_some(tmp_path, led):
    ingest(led, [said(0, "the gateway is up"), said(1, "the tunnel is up"), said(2, "gateway and tunnel")])
    with DialogueIndex(tmp_path) as index:
        index.refresh(led)
        assert [item.row for item in index.find("gateway tunnel", ALL, 9)[0]] == [3]
        some, partly = index.find("gateway zebra", ALL, 9)
        assert partly and {item.row for item in some} == {1, 3}
        assert index.find("zebra", ALL, 9) == ([], False)


def test_filters_leave_out_the_rest(tmp_path, led):
    ingest(led, [said(0, "gateway one", when=at(0)), reply(1, "gateway two", when=at(10))])
    ingest(led, [said(9, "gateway three", when=at(20), session_id="0e4e")], key=OTHER)
    assert found(tmp_path, led, "gateway", Wanted(speaker="assistant")) == [2]
    assert found(tmp_path, led, "gateway", Wanted(session=SESSION)) == [1, 2]
    assert found(tmp_path, led, "gateway", Wanted(files=(2,))) == [3]
    assert found(tmp_path, led, "gateway", Wanted(files=())) == []
    assert found(tmp_path, led, "gateway", Wanted(since=at(10))) == [2, 3]
    assert found(tmp_path, led, "gateway", Wanted(since=at(5), until=at(20))) == [2]


def test_rows_that_no_longer_stand_are_not_found(tmp_path, led):
    ingest(led, [said(0, "gateway old"), said(1, "gateway left behind"), said(2, "gateway here")])
    assert len(found(tmp_path, led, "gateway")) == 3
    ingest(led, [said(3, "gateway more")], abandoned=lambda _: {"u1"})
    assert 2 not in found(tmp_path, led, "gateway")
    ingest(led, [said(2, "gateway here"), said(5, "gateway anew")], restarted="rewound")
    assert found(tmp_path, led, "gateway old") != [1]
    assert rows_held(tmp_path) == rows_said(led)


def test_text_that_changed_in_place_is_taken_anew(tmp_path, led):
    ingest(led, [said(0, "the old gateway")])
    assert found(tmp_path, led, "old")
    ingest(led, [said(0, "the new gateway")], restarted="replaced")
    assert found(tmp_path, led, "old") == []
    assert found(tmp_path, led, "new") == [1]


def test_a_secret_recognised_later_leaves_no_trace(tmp_path, led):
    secret = "correcthorsebattery9staple"
    ingest(led, [said(0, f"the gateway opens with {secret} today"), said(1, "移行 gateway")])
    assert found(tmp_path, led, secret) == [1]
    known = secrets.recognised(led)
    with led.transaction():
        secrets.keep(led, known, known.learn(secret), [SESSION], now=0)
    assert secret not in rows_said(led)[1]
    assert found(tmp_path, led, secret) == []
    assert secret.encode() not in held(tmp_path)
    assert set(found(tmp_path, led, "gateway")) == {1, 2}


def test_deleted_dialogue_leaves_no_trace(tmp_path, led):
    ingest(led, [said(0, "the zebrafish gateway")])
    ingest(led, [said(9, "the okapi gateway", session_id="0e4e")], key=OTHER)
    assert len(found(tmp_path, led, "gateway")) == 2
    retention.delete(led, [KEY], first=len, unread=True)
    assert dialogue_index.keep_in_step(tmp_path, led) == 1
    assert b"zebrafish" not in held(tmp_path) and b"okapi" in held(tmp_path)
    assert found(tmp_path, led, "gateway") == [2]


def test_nothing_is_made_before_somebody_searches(tmp_path, led):
    ingest(led, [said(0, "the gateway")])
    assert dialogue_index.keep_in_step(tmp_path, led) == 0
    assert not Home(tmp_path).dialogue_index.exists()


def test_it_may_be_deleted_damaged_or_of_another_ledger(tmp_path, led):
    path = Home(tmp_path).dialogue_index
    ingest(led, [said(0, "the gateway")])
    assert found(tmp_path, led, "gateway") == [1]
    derived_file.discard(path)
    assert found(tmp_path, led, "gateway") == [1]
    path.write_bytes(b"no database at all" * 500)
    assert found(tmp_path, led, "gateway") == [1]
    with new_ledger(tmp_path / "other" / "ledger.sqlite") as other:
        other.execute("UPDATE identity SET id = 'other'")
        ingest(other, [said(0, "the tunnel!")])
        assert (found(tmp_path, other, "gateway"), found(tmp_path, other, "tunnel")) == ([], [1])
    assert found(tmp_path, led, "gateway") == [1]


def test_a_place_that_can_not_be_written_is_named(tmp_path, led):
    Home(tmp_path).search.write_text("in the way")
    with pytest.raises(SearchError, match="index of the dialogue") as error:
        DialogueIndex(tmp_path)
    assert error.value.file == str(Home(tmp_path).dialogue_index)


def _left(uuids, _links):
    return uuids


def test_several_make_it_at_once_and_each_finds_all(tmp_path, led):
    ingest(led, [said(number, f"gateway {number}") for number in range(300)])

    def search(_):
        with open_ledger(Home(tmp_path).ledger) as own:
            return len(found(tmp_path, own, "gateway", limit=999))

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(search, range(4))] == [300] * 4


@pytest.mark.parametrize(
    "query",
    ['"', '""', "NEAR(gateway tunnel, 2)", "body:gateway", "gateway OR", "^gateway", "(gateway", "-gateway",
     "gate\0way", "gate\udcffway", "*", "'; DROP TABLE texts; --", "%", "移%", "{gateway}", 'a"b"c'],
)  # fmt: skip
def test_no_query_is_taken_for_syntax(tmp_path, led, query):
    ingest(led, [said(0, "the gateway")])
    found(tmp_path, led, query)
    assert found(tmp_path, led, "gateway") == [1]


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_in_the_ledger_it_holds_exactly_what_stands(tmp_path, led, seed):
    chance = random.Random(seed)
    place = 0
    for _ in range(12):
        key = chance.choice([KEY, OTHER])
        deed = chance.choice(["grow", "grow", "rewrite", "leave", "delete", "mask"])
        if deed == "delete":
            retention.delete(led, [key], first=len, unread=chance.random() < 0.5)
        elif deed == "mask":
            known = secrets.recognised(led)
            word = f"secretword{chance.randrange(place + 1)}"
            with led.transaction():
                secrets.keep(led, known, known.learn(word), [SESSION], now=0)
        else:
            begin = place if deed != "rewrite" else max(0, place - chance.randrange(4))
            new = [
                said(number, f"gateway secretword{number} 移行{chance.randrange(3)}", uuid=f"{key}{number}")
                for number in range(begin, begin + chance.randrange(1, 4))
            ]
            place = max(place, begin + len(new))
            left = {f"{key}{chance.randrange(place)}"} if deed == "leave" else set()
            restarted = "rewound" if deed == "rewrite" else ""
            ingest(led, new, key=key, restarted=restarted, abandoned=partial(_left, left))
        if chance.random() < 0.7:
            found(tmp_path, led, "gateway")
    found(tmp_path, led, "gateway")
    assert rows_held(tmp_path) == rows_said(led)
    assert set(found(tmp_path, led, "gateway", limit=99)) == rows_said(led).keys()
