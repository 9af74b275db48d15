"""How many secrets are found, how much ordinary text is taken for one, and whether any gets through.

    python -m bench.secrets [CORPUS] [--misses] [--path]

CORPUS is a file of cases, a JSON object a line: kind, text, secret (a list, empty for what must stay as it
is); without it, those made of ``fixtures/secrets``. A case is found if none of its secrets, nor eight
characters in a row of one, is left. ``--misses`` prints the texts that went wrong. ``--path`` puts every case
with a secret into sessions that a worker reads, with a model that hands back what it is asked to keep
secret wherever it can, in small letters too, and counts what can be read afterwards in any file of
Reverie's, in what the model was sent, and in what commands print.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.secret_cases import Case, made, read
from pipeline.safety.recognised import Recognised
from pipeline.safety.redaction import redact
from tests.support.loopback import LoopbackApi, person_lines, serving
from tests.support.workshop import Workshop

_PIECE = 8
_TOGETHER = 40
"""Cases in one session."""


def left(case: Case, text: str) -> list[str]:
    """Return the secrets of `case` of which `text` holds all or eight characters in a row."""
    return [secret for secret in case.secrets if any(piece in text for piece in _pieces(secret))]


def _pieces(secret: str) -> Iterator[str]:
    for at in range(max(1, len(secret) - _PIECE + 1)):
        yield secret[at : at + _PIECE]


def right(case: Case) -> bool:
    """Say whether redaction does with `case` what it should."""
    text = redact(case.text).text
    return not left(case, text) if case.secrets else text == case.text


def table(cases: Iterable[Case]) -> Iterator[str]:
    """Yield the table's lines: how many of each kind there are and how many went right."""
    total, good = Counter[str](), Counter[str]()
    for case in cases:
        kind = ("found" if case.secrets else "left alone", case.kind.split("/")[0 if case.secrets else -1])
        for name in (kind[0], " ".join(kind)):
            total[name] += 1
            good[name] += right(case)
    for name in sorted(total):
        yield f"{name:40}{good[name]:5} of {total[name]:4}  {good[name] / total[name]:7.1%}"


def leaks(cases: Sequence[Case], place: Path) -> dict[str, list[str]]:
    """Return where secrets of `cases` can be read after a worker has been through them, by secret."""
    shop = Workshop(place, {"REVERIE_NOW": "2026-03-02T09:30:00+00:00"})
    told: list[str] = []
    with serving(lambda prompt: _hostile(prompt, told)) as api:
        shop.env.update(api.environment)
        for number in range(0, len(cases), _TOGETHER):
            session = shop.session(number)
            for case in cases[number : number + _TOGETHER]:
                told += case.secrets
                session.user(case.text)
                session.assistant("Noted. " + " and ".join(case.secrets) + " then.")
            shop.fire(session)
            shop.work()
        printed = [
            shop.reverie(*words).stdout
            for words in (("list", "--json"), ("status", "--json"), ("audit", "--json"))
        ]
    return _found(told, shop, api, printed)


def _found(
    told: Sequence[str], shop: Workshop, api: LoopbackApi, printed: Sequence[str]
) -> dict[str, list[str]]:
    texts = {f"request {number}": text for number, text in enumerate([*api.prompts, *api.second])}
    texts |= {f"command {number}": text for number, text in enumerate(printed)}
    for folder in (shop.home, shop.store):
        for file in folder.rglob("*"):
            if file.is_file():
                texts[file.name] = str(file) + file.read_bytes().decode("utf-8", "replace")
    lowered = {name: text.lower() for name, text in texts.items()}
    places = {secret: [name for name, text in lowered.items() if secret.lower() in text] for secret in told}
    return {secret: names for secret, names in places.items() if names}


def _hostile(prompt: str, told: Sequence[str]) -> dict[str, Any]:
    """Answer with memories that say the secrets in every field, as they are and in small letters."""
    lines = person_lines(prompt)
    memories = []
    for at, (number, text) in enumerate(lines[:20]):
        secret = told[(at * 7 + number) % len(told)]
        memories.append(
            {
                "name": re.sub(r"[^a-z0-9]+", "-", f"note {at} {secret}".lower()).strip("-"),
                "type": "project",
                "description": f"the way in is {secret.lower()}",
                "statement": f"{text} ({secret})",
                "tags": [secret, secret.lower()],
                "aliases": [secret],
                "why": secret,
                "how_to_apply": secret.lower(),
                "evidence": [{"line": number, "quote": text}],
            }
        )
    episode = {"title": told[0], "summary": " ".join(told[:50]), "text": " ".join(told[:50]).lower()}
    return {"memories": memories, "episode": episode, told[1]: told[2]}


def learnable(secrets: Iterable[str]) -> list[str]:
    """Return those of `secrets` that are known again after they were recognised once."""
    return [secret for secret in secrets if Recognised(b"bench").learn(secret)]


def main() -> None:
    """Print the table, and what was asked for beside it."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.secrets", description="Count secrets found, and leaks."
    )
    parser.add_argument("corpus", nargs="?", type=Path, help="cases to take instead of our own")
    parser.add_argument("--misses", action="store_true", help="print the texts that went wrong")
    parser.add_argument("--path", action="store_true", help="put them through the whole of Reverie as well")
    options = parser.parse_args()
    cases = read(options.corpus) if options.corpus else made()
    print("\n".join(table(cases)))
    for case in cases if options.misses else ():
        if not right(case):
            print(f"{case.kind}: {case.text!r}\n    {redact(case.text).text!r}")
    if options.path:
        secret = [case for case in cases if case.secrets]
        with tempfile.TemporaryDirectory(prefix="reverie-secrets-") as folder:
            found = leaks(secret, Path(folder))
        values = [value for case in secret for value in case.secrets]
        short = [value for value in found if not learnable([value])]
        print(f"readable after the whole path: {len(found)} of {len(values)} values")
        print(f"    of these too short or plain to be known again: {len(short)}")
        for value, names in sorted(found.items()) if options.misses else ():
            print(f"    {value!r}: {', '.join(names[:6])}")


if __name__ == "__main__":
    main()
