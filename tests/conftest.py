"""What every test gets: a temporary home, a clean environment, and no live model calls."""

import gc
import itertools
import os
import time
from collections.abc import Generator
from functools import cached_property
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

from pipeline.hooklib import zone
from tests.support.hooks import note_home
from tests.support.warm import MEASURING

# No test depends on where the machine stands: all days are those of UTC, in processes of the tests too.
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()

_HOMES = itertools.count()
_LETTERS = str.maketrans("01234567", "qzxjvwkg")
_FOREIGN = ("ANTHROPIC_", "CLAUDE", "REVERIE_", "XDG_")

# No property fails because the machine is busy. CI draws the same examples each time, so that a failure
# there is the commit's; at home they are new ones, and what failed is told as a line to paste.
settings.register_profile(
    "reverie",
    deadline=None,
    derandomize="CI" in os.environ,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("reverie")

TOGETHER = (
    # The syntax trees of all that there is (architecture/source.py).
    (
        "tests/architecture/",
        "tests/docs/test_glossary.py",
        "tests/evaluation/test_manner.py::test_nothing_outside_the_evaluation_can_ask_so",
        "tests/intake/test_fresh_home.py::test_folders_are_made_by_the_helpers_alone",
    ),
    ("tests/docs/",),
    ("tests/evaluation/test_recall_quality.py",),
    ("tests/packaging/test_wheel.py",),
    ("tests/worker/test_worker_kill_matrix.py",),
    ("tests/worker/test_batches.py",),
    ("tests/consolidation/test_dream_kills.py",),
    ("tests/consolidation/test_dream_cost.py",),
    ("tests/store/test_store_kills.py",),
    ("tests/web/test_attack.py",),
    # The readings of the recorded sessions (support/readings.py).
    (
        "tests/app/test_estimate.py",
        "tests/evaluation/test_recorded_sessions.py",
        "tests/evaluation/test_recordings.py::test_every_recording_of_a_session",
    ),
)
"""What shares a costly set-up: run by one process, it is set up once (``pytest --dist loadgroup``)."""


class _Together(LoadScopeScheduling):  # type: ignore[misc]
    """Gives what stays together to one process.

    By the tests' names: ``pytest-xdist`` 3.8 writes its groups where pytest 9.2 does not look.
    """

    def _split_scope(self, nodeid: str) -> str:
        return next((starts[0] for starts in TOGETHER if nodeid.startswith(starts)), nodeid)

    # xdist looks through all that a process ever ran after each test, and through the names of all for the
    # next one: with thousands of tests, seconds of a core.

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
        units = self.assigned_work[node]
        scope = self._split_scope(self.registered_collections[node][item_index])
        if all(units[scope].values()):
            del units[scope]

    def _assign_work_unit(self, node: WorkerController) -> None:
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work[node][scope] = unit
        node.send_runtest_some([self._numbers[test] for test, done in unit.items() if not done])

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Each test's place in the collection, which is the same in every process."""
        return {test: number for number, test in enumerate(self.collection)}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Let ``--dist loadgroup`` go by what stays together."""
    return _Together(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among what is collected: thousands of tests that stay till the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(autouse=True)
def sealed_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point every home at an empty directory, which is returned, and forbid live model calls.

    The directory is outside the test's own ``tmp_path``. Subprocesses inherit all of it.
    """
    for name in list(os.environ):
        if name.startswith(_FOREIGN) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    # Not by `mktemp`, which looks at all folders before: with thousands of tests that takes longer than they.
    # By letters, not by a number, which a test may look for in what holds the path ("2099", "5432").
    home = tmp_path_factory.getbasetemp() / "homes" / f"{next(_HOMES):o}".translate(_LETTERS)
    home.mkdir(mode=0o700, parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
    monkeypatch.setenv("REVERIE_HOME", str(home / "reverie"))
    note_home(home / ".claude", home / "reverie")  # for hooks, which do not go by the variable
    monkeypatch.setenv("REVERIE_NO_LIVE_CALLS", "1")
    # Measured are the tests' own processes and those of `tests.support.warm`, which run the same commands and
    # workers: to measure each Python that is started costs more than what it does.
    monkeypatch.delenv(MEASURING, raising=False)
    # A question of its own, which most tests of dreams are not about; see tests/consolidation/test_cues.py.
    monkeypatch.setenv("REVERIE_DREAM__CUES", "false")
    zone.use("")
    return home
