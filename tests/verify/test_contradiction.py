"""When two memories say different things of the same matter."""

import pytest

from pipeline.verify.contradiction import blended, moved

APART = "The staging database listens on port 5432, the production one on port 5433."
STAGING, PRODUCTION = (
    "The staging database listens on port 5432.",
    "The production database listens on port 5433.",
)


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        ("The timeout is 30 s.", "The timeout is 60 s.", "The timeout is 60 s."),
        ("The cache is enabled in CI.", "The cache is disabled in CI.", "The cache is enabled in CI."),
        ("Never deploy on Friday.", "Deploy on Friday.", "Never deploy on Friday."),
        ("The timeout is 30 s.", "The timeout is 60 s.", "The timeout is 30 s or 60 s."),
        (STAGING, PRODUCTION, "The staging and production database listens on port 5432."),
        (STAGING, PRODUCTION, "The databases listen on port 5432 and 5433."),
        (STAGING, PRODUCTION, "For staging or production the database listens on port 5432 or 5433."),
        (STAGING, PRODUCTION, APART.replace("5432", "0").replace("5433", "5432").replace("0,", "5433,")),
        ("The timeout is 30 s.", "The timeout is 60 s.", "The timeout is 30 s; the timeout is 60 s."),
        ("Config lives in etc/a.toml.", "Config lives in etc/b.toml.", "Config lives in etc/b.toml."),
        ("Freeze starts 2026-03-04.", "Freeze starts 2026-03-06.", "Freeze starts 2026-03-06."),
        ("Use npm.", "Use pnpm, not npm.", "Use pnpm, not npm."),
        ("Indent with tabs.", "Indent with spaces.", "Indent with tabs."),
        ("Deploy on Friday evenings.", "Deploy on Monday evenings.", "Deploy on Monday evenings."),
        ("ポートは5432を使う", "ポートは5433を使う", "ポートは5433を使う"),
    ],
)
def test_blended(one, other, result):
    assert blended([one, other], result)
    assert blended([other, one], result)


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        ("Tests take 30 s.", "Tests run on port 8080.", "Tests take 30 s on port 8080."),
        ("Indent with tabs.", "Use tabs, not spaces.", "Indent with tabs, not spaces."),
        (
            "The cache is enabled in CI.",
            "The cache is filled in CI.",
            "The cache is enabled and filled in CI.",
        ),
        (STAGING, PRODUCTION, APART),
        ("The timeout is 30 s.", "The timeout is 60 s in CI.", "The timeout is 30 s; in CI it is 60 s."),
        (
            "The timeout is 30 s.",
            "The timeout was 60 s; the timeout is 30 s.",
            "The timeout was 60 s, is 30 s.",
        ),
        ("Retries: 5.", "Retries: 5, timeout 30 s.", "Retries: 5, timeout 30 s."),
        (
            "It ships weekly.\n\n**Why:** it is fast",
            "It ships weekly.\n\n**Why:** it is cheap",
            "It ships weekly.",
        ),
        (
            "Answer in short sentences.",
            "Answer in short paragraphs and short sentences.",
            "Short paragraphs, short sentences.",
        ),
    ],
)
def test_not_blended(one, other, result):
    assert not blended([one, other], result)


@pytest.mark.parametrize(
    ("source", "result", "value"),
    [
        ("5 replicas, 3 nodes", "3 replicas, 5 nodes", "3"),
        ("5 replicas, 3 nodes", "3 nodes, 5 replicas", ""),
        (
            "The upload client waits 30 s. The upload client tries 5 times.",
            "Upload client: 30 s, 5 tries",
            "",
        ),
    ],
)
def test_moved(source, result, value):
    assert moved([source], result) == value
