"""What a provider says of a failed call may hold a key: it is written into no ledger, log or line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.loopback import KEY_VARIABLE, Refusal, serving
from tests.support.workshop import Workshop
from tests.worker.test_worker_claude import install, talk

SECRET = "plain words that no rule knows"
PASSWORD = "hunter2pw"
SAID = '{"type":"result","subtype":"success","is_error":true,"result":"API Error: %s token %s refused"}'


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "place", {"REVERIE_NOW": "2026-03-02T09:05:00+00:00"})


def found(shop: Workshop, secret: str) -> list[str]:
    """Return the files under Reverie's home, and the commands, that tell `secret`."""
    files = [file for file in shop.home.rglob("*") if file.is_file() and not file.is_symlink()]
    told = [str(file.relative_to(shop.home)) for file in files if secret.encode() in file.read_bytes()]
    for command in ("status", "doctor"):
        done = shop.reverie(command, "--json")
        told += [command] if secret in done.stdout + done.stderr else []
    return told


@pytest.mark.parametrize("status", [400, 401, 402, 404, 429, 500])
def test_a_key_that_a_server_repeats(shop: Workshop, status: int) -> None:
    talk(shop)
    with serving(lambda _: Refusal(status, f"{SECRET} is no key here")) as api:
        shop.env.update({**api.environment, KEY_VARIABLE: SECRET, "REVERIE_MODEL__ATTEMPTS": "1"})
        assert shop.work() == 0 and api.prompts
    assert "is no key here" in "\n".join(shop.log()) and found(shop, SECRET) == []


def test_a_password_in_an_address(shop: Workshop) -> None:
    talk(shop)
    with serving(lambda _: Refusal(500)) as api:
        shop.env.update(api.environment)
    shop.env["REVERIE_MODEL__BASE_URL"] = f"http://ada:{PASSWORD}@127.0.0.1:9"
    assert shop.work() == 0
    assert "127.0.0.1:9 can't be reached" in "\n".join(shop.log()) and found(shop, PASSWORD) == []


@pytest.mark.parametrize("status", ["401", "500"])
def test_a_token_that_the_client_repeats(shop: Workshop, status: str) -> None:
    shop.env["REVERIE_MODEL__PROVIDER"] = "claude-cli"
    shop.env |= {"GATEWAY": SECRET, "REVERIE_MODEL__PASS_ENV": "ANTHROPIC_AUTH_TOKEN=GATEWAY"}
    shop.env["ANTHROPIC_BASE_URL"] = f"http://ada:{PASSWORD}@127.0.0.1:9"
    install(shop, f"import sys\nsys.stdout.write({SAID % (status, SECRET)!r})\nsys.exit(1)")
    talk(shop)
    assert shop.work() == 0
    assert "refused" in "\n".join(shop.log())
    assert found(shop, SECRET) == found(shop, PASSWORD) == []
