"""Cues that a file has: the limits of cues hold for them as for a model's."""

from dataclasses import replace

from pipeline.domain.cues import MOST_CUES, fitting
from pipeline.store.derived.cues import cues_of, text_digest
from tests.support.stores import memory

COMMON = "deploy test build fix run error page button commit file import setting"


def test_a_cue_of_all_words_counts_for_nothing():
    assert fitting([COMMON]) == ()
    assert fitting(["release  branch", "Release branch", "x" * 61, ""]) == ("Release branch",)
    assert len(fitting(f"cue number {number}" for number in range(30))) == MOST_CUES


def test_they_hold_for_a_file_and_for_what_is_kept_beside_it():
    own = memory("planted")
    assert cues_of(replace(own, cues=(COMMON, "release branch")), {}) == ("release branch",)
    beside = {own.path: (text_digest(own), (COMMON, "release branch"))}
    assert cues_of(own, beside) == ("release branch",)
