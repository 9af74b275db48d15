"""Two things done in turn, many times, and how their medians compare: noise then meets both alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """How much more the subject took than its floor: medians of the rounds, of wall and of processor time.

    Where it is no time that is compared (tokens, memory), `wall` is the ratio and `cpu` is None.
    """

    wall: float
    cpu: float | None
    subject_ms: float
    floor_ms: float
    rounds: int
    subject_cpu_ms: float | None = None
    floor_cpu_ms: float | None = None


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def compare(
    subject: Callable[[], object],
    floor: Callable[[], object],
    rounds: int,
    *,
    before: Callable[[], object] = lambda: None,
) -> Ratio:
    """Time both in turn; `before` runs ahead of each subject, untimed. One untimed round warms up."""
    before()
    subject()
    floor()
    mine: list[tuple[float, float]] = []
    bare: list[tuple[float, float]] = []
    for _ in range(rounds):
        before()
        mine.append(_timed(subject))
        bare.append(_timed(floor))
    wall, cpu = (statistics.median(times) for times in zip(*mine, strict=True))
    wall0, cpu0 = (statistics.median(times) for times in zip(*bare, strict=True))
    return Ratio(wall / wall0, cpu / cpu0, wall * 1e3, wall0 * 1e3, rounds, cpu * 1e3, cpu0 * 1e3)
