"""A prompt that orders something, told from one that asks about it or only mentions it."""

import pytest

from pipeline.recall.live.orders import order_in

ORDERS = {
    "write a commit message for the staged changes": "do commit",
    "commit and push": "do push",
    "can you push this to main?": "do push",
    "Please open a PR": "do pull request",
    "fix the flaky test, then commit": "do commit",
    "run npm install": "run npm install",
    "could you run `npm install`?": "do install",
    "npm install left-pad": "run npm",
    "go test ./...": "do test",
    "add a dependency on lodash": "do install",
    "make a new branch for this": "do branch",
    "delete legacy/foo.go": "do delete at legacy/",
    "lösche bitte legacy/foo.go": "do delete at legacy/",
    "edit src/api/users.py to return 404": "at src/api/",
    "Looks good. Deploy to staging.": "do deploy",
}
NO_ORDERS = [
    "why did npm install fail?",
    "how do I delete legacy/foo.go?",
    "explain the deploy",
    "the push failed again",
    "show me the commit hashes",
    "I think npm install is slow",
    "what does git push --force do",
    "fix the commit message parser",
    "Update the deploy script.",
    "add a test for push notifications",
    "go on",
    "",
]


@pytest.mark.parametrize("prompt", ORDERS)
def test_an_order_meets_the_moment(prompt: str) -> None:
    order = order_in(prompt)
    assert order and order.met([ORDERS[prompt]])[0] > 0.5


@pytest.mark.parametrize("prompt", NO_ORDERS)
def test_what_orders_nothing_meets_none(prompt: str) -> None:
    order = order_in(prompt)
    wanted = ["do commit", "do push", "do deploy", "do install", "run npm", "run git push", "at legacy/"]
    assert not order or order.met(wanted) == (0.0, wanted[0])
