"""A value that was recognised is masked where it stood before, where it stands later, in other sessions."""

import json
from pathlib import Path

import pytest

from tests.support.loopback import LoopbackApi, fact, person_lines, serving
from tests.support.workshop import Workshop

VALUE = "rocket-Cobalt50!"


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "place", {"REVERIE_NOW": "2026-03-02T09:05:00+00:00"})


def readable(shop: Workshop, api: LoopbackApi) -> list[str]:
    """Return what tells VALUE, in capitals or small letters: requests, and files beside the transcripts."""
    files = [file for folder in (shop.home, shop.store) for file in folder.rglob("*") if file.is_file()]
    texts = {str(file): file.read_bytes().decode("utf-8", "replace") for file in files}
    texts |= {f"request {number}": text for number, text in enumerate([*api.prompts, *api.second])}
    return [name for name, text in texts.items() if "rocket-cobalt50" in (name + text).lower()]


def keep_it(prompt: str) -> dict[str, object]:
    """Answer with memories whose every field tells the value, and with a field of its own for it."""
    told = [
        fact(f"note-rocket-cobalt50-{number}", f"{text} {VALUE}", number, quote=text, tags=[VALUE.lower()])
        for number, text in person_lines(prompt)
    ]
    return {"memories": told, VALUE: VALUE, "episode": {"title": VALUE, "summary": VALUE.lower()}}


def test_a_value_told_later_goes_from_what_was_stored_before(shop: Workshop) -> None:
    session = shop.session()
    with serving(keep_it) as api:
        shop.env.update(api.environment)
        session.user("please try it once more with the new one for the nas")
        session.assistant(f"I typed {VALUE} and it lets me in; shall I go on with the backup?")
        shop.fire(session, last_assistant_message=f"I typed {VALUE}")
        assert shop.work() == 0 and readable(shop, api)
        api.prompts.clear()
        api.second.clear()
        session.user(f"the password is {VALUE}")
        session.assistant(f"비밀번호는 {VALUE} 그리고 {VALUE.upper()}")
        shop.fire(session)
        assert shop.work() == 0
    with shop.ledger() as ledger:
        rows = ledger.rows(
            "SELECT content FROM memory_transcript_entries UNION SELECT payload_json FROM events"
        )
    stored = " ".join(row[0] for row in rows)
    assert "rocket" not in stored.lower() and stored.count("[redacted:known]") >= 3
    assert [name for name in readable(shop, api) if name.startswith("request")] == []


def test_a_value_is_known_in_the_next_session(shop: Workshop) -> None:
    with serving(keep_it) as api:
        shop.env.update(api.environment)
        for number, text in enumerate(
            [f"the password is {VALUE}", f"again with {VALUE.lower()} please, for the nas"]
        ):
            session = shop.session(number)
            session.user(text)
            session.assistant(f"It is {VALUE} then, as you said before, and the backup runs with it.")
            shop.fire(session, last_assistant_message=f"It is {VALUE} then")
            assert shop.work() == 0
        assert api.prompts and readable(shop, api) == []


def test_a_value_is_masked_in_a_reply_that_escapes_its_letters(shop: Workshop) -> None:
    value = "Üb3rfl13g3r!06"

    def tell(prompt: str) -> str:
        told = [fact(f"n-{at}", text, at, quote=text, why=value) for at, text in person_lines(prompt)]
        reply = json.dumps({"memories": told, "episode": {"title": value, "summary": value}})
        assert value not in reply
        return reply

    session = shop.session()
    with serving(tell) as api:
        shop.env.update(api.environment)
        session.user(f"the password of the nas is {value}")
        session.assistant("Noted, I keep that in mind for the backup.")
        shop.fire(session)
        assert shop.work() == 0 and api.prompts
    for file in shop.home.rglob("*"):
        assert not file.is_file() or value.lower() not in file.read_bytes().decode("utf-8", "replace").lower()


def test_doctor_names_a_memory_that_holds_what_was_recognised_later(shop: Workshop) -> None:
    session = shop.session()
    with serving(lambda prompt: {"memories": []}) as api:
        shop.env.update(api.environment)
        shop.store.mkdir(parents=True)
        (shop.store / "nas.md").write_text(f"The nas was opened with {VALUE.lower()} once.", "utf-8")
        (shop.store / "tabs.md").write_text("Go files have tabs.", "utf-8")
        assert "recognised" not in shop.reverie("doctor").stdout
        session.user(f"the password is {VALUE}")
        session.assistant("Then the backup goes on with it, as you said; it takes an hour or so.")
        shop.fire(session)
        assert shop.work() == 0
        assert "opened with [redacted:known]" in "".join(api.prompts)
        assert "cobalt" not in "".join(api.prompts).lower()
    told = shop.reverie("doctor").stdout
    assert (
        "nas.md holds a value" in " ".join(told.split())
        and "tabs.md" not in told
        and "cobalt" not in told.lower()
    )
