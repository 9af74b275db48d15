"""Many members change the same memories at once while the server restarts and connections are cut."""

import random
import re
import threading
from collections import Counter
from datetime import timedelta

import pytest

from pipeline.app import memories, team
from pipeline.app.offered import shared_of
from pipeline.app.writing import Change, update_memory
from pipeline.domain.sentences import sentences
from pipeline.team import members as membership
from tests.support.teammates import Person

pytestmark = pytest.mark.postgres
FENCE = "\n---\n"
WORD = re.compile(r"m\d+c\d+")
CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'reverie'"


class Member(Person):
    """One of them, with changes to make: what a sentence says is its own word, which nobody else says."""

    def __init__(self, number, folder, monkeypatch, url):
        super().__init__(folder, monkeypatch, url)
        self.number = number
        self.random = random.Random(number)
        self.said = set()
        self.gone = set()
        self.told = set()
        self.failures = []

    @property
    def shared(self):
        return shared_of(self.app)

    def change(self, count, every, by_hand):
        """Make `count` changes, and sync after `every` of them; what can't be reached then waits.

        `by_hand` is the share of changes that an editor makes, which takes a hundredth of the time.
        """
        try:
            for number in range(count):
                self.clock.at += timedelta(minutes=self.random.randrange(1, 9))
                self._change(f"m{self.number}c{number}", is_new=number % 40 == 0, by_hand=by_hand)
                if number % every == every - 1:
                    team.now(self.app)
                    self.told |= self.said - self.gone
        except BaseException as error:
            self.failures.append(error)
            raise

    def _change(self, word, *, is_new, by_hand):
        text = f"Fact {word} holds."
        self.said.add(word)
        if is_new:
            memories.add(self.shared, text, kind="project", name=f"about-{word}", force=True)
            return
        if self.random.random() < by_hand:
            files = (file for file in (self.store / "team").glob("*.md") if file.name.startswith("about-"))
            file = self.random.choice(sorted(files))
            front, body = file.read_text("utf-8").split(FENCE, 1)
            file.write_text(f"{front}{FENCE}{self._with(text, body)}\n", "utf-8")
        else:
            store = self.shared.open_store()
            document = self.random.choice(store.scan().documents)
            content = self._with(text, document.memory.body)
            update_memory(self.shared, store, document.name, Change(content=content))

    def _with(self, text, before):
        """Return the text `before` with one more sentence, or with it in place of one of this member's."""
        body = [item.text for item in sentences(before)]
        mine = [at for at, line in enumerate(body) if line.startswith(f"Fact m{self.number}c")]
        if mine and self.random.random() < 0.2:
            at = self.random.choice(mine)
            self.gone |= set(WORD.findall(body[at]))
            body[at] = text
        else:
            body.insert(self.random.randrange(len(body) + 1), text)
        return "\n".join(body)


class Trouble(threading.Thread):
    """Cuts all connections now and then, and restarts the server as if it had crashed."""

    def __init__(self, server, *, seconds):
        super().__init__()
        self.server = server
        self.seconds = seconds
        self.is_over = threading.Event()
        self.cuts = self.restarts = 0

    def run(self):
        turn = 0
        while not self.is_over.wait(self.seconds):
            turn += 1
            if turn % 6 == 3:
                self.server.stop()
                self.server.start()
                self.restarts += 1
            else:
                self.cuts += self.server.sql(CUT).count("t")


def joined(work, tmp_path, monkeypatch, count):
    found = []
    for number in range(count):
        login = f"{work.name}-{number}".replace("-", "_")
        work.server.sql(f"CREATE ROLE {login} LOGIN")
        work.as_("ann", membership.invite, work.team, login, f"Member {number}")
        member = Member(number, tmp_path / login, monkeypatch, work.server.url(login))
        team.join(member.app, work.name, member.url)
        found.append(member)
    return found


@pytest.mark.parametrize(
    ("count", "changes", "every", "seconds", "by_hand"),
    [(4, 24, 6, 0.4, 0.5), pytest.param(20, 200, 20, 2.0, 0.95, marks=pytest.mark.whole)],
    ids=["a-share", "the-whole"],
)
def test_all_end_with_the_same_nothing_lost_and_nothing_twice(
    work, tmp_path, monkeypatch, count, changes, every, seconds, by_hand
):
    people = joined(work, tmp_path, monkeypatch, count)
    people[-1].wait(days=1)
    trouble = Trouble(work.server, seconds=seconds)
    hands = [threading.Thread(target=one.change, args=(changes, every, by_hand)) for one in people]
    trouble.start()
    try:
        for hand in hands:
            hand.start()
        for hand in hands:
            hand.join()
    finally:
        trouble.is_over.set()
        trouble.join()
    assert [one.failures for one in people] == [[] for _ in people]
    assert trouble.cuts + trouble.restarts
    for _ in range(8):
        done = [team.now(one.app) for one in people]
        assert [item.error for item in done] == [""] * count
        if not any(item.told or item.taken or item.came or item.left for item in done):
            break
    else:
        pytest.fail(f"no end of it: {done}")
    files = [{item.path: item.raw for item in one.shared.open_store().scan().documents} for one in people]
    assert all(found == files[0] for found in files)
    # Who replaced a sentence had seen it, so none of those is left; all others stand, each once.
    said = set().union(*(one.said for one in people))
    gone = set().union(*(one.gone for one in people))
    live = Counter(word for raw in files[0].values() for word in WORD.findall(body_of(raw)))
    assert live == Counter(said - gone)
    # What is gone can still be read in the revisions, and no revision is there twice.
    rows, at = [], 0
    while batch := work.read("ann", at):
        rows += batch
        at = batch[-1].number
    told = set().union(*(one.told for one in people))
    assert told & gone
    assert told <= set(WORD.findall("\n".join(row.body for row in rows)))
    assert max(Counter((row.memory, row.digest) for row in rows).values()) == 1
    assert {one.state().odd == [] for one in people} == {True}


def body_of(raw):
    return raw.decode().split(FENCE, 1)[1]
