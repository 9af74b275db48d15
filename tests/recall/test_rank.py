"""The rules of the score, apart from the constants that tune it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.recall.live import rank
from pipeline.recall.live.question import Question, parse_question

FIELDS = ("deploy stag", "deploy to the stag server with make ship", "ops", "ship vpn first friday", "")


def fit(prompt, fields=FIELDS, weights=None, haystack="", context=""):
    asked = parse_question(prompt, context)
    known = dict.fromkeys([*asked.own, *asked.context], 1.0)
    return rank.relevance(asked, {**known, **(weights or {})}, fields, haystack)


def test_more_shared_words_score_higher():
    assert fit("deploy staging").score > fit("deploy mailing").score > fit("office mailing").score == 0


def test_the_name_counts_more_than_the_body():
    assert fit("staging").score > fit("friday").score > 0


def test_the_rest_of_the_prompt_counts_against_a_match():
    assert fit("staging deploy").score > fit("staging deploy of the billing invoices for march").score


def test_earlier_words_help_and_decide_nothing():
    assert fit("staging", context="ship it over the vpn").score > fit("staging").score
    assert fit("office", context="deploy staging").score == 0


def test_a_specific_found_word_for_word_is_worth_extra_and_enough():
    found = fit("what does --fast do", haystack="use --fast on friday")
    assert found.exact == [] and found.failing  # none of the words in the tokenised columns
    found = fit("ship --fast", weights={"ship": 0.1}, haystack="ship --fast")
    assert found.exact == ["--fast"] and found.failing == ""
    assert found.score > fit("ship --fast", weights={"ship": 0.1}).score


@pytest.mark.parametrize(
    ("weights", "failing"),
    [({}, ""), ({"friday": 0.1}, "too few shared words"), ({"vpn": 0.4, "friday": 0.4}, "")],
)
def test_one_word_in_the_body_is_not_enough(weights, failing):
    assert fit("vpn friday", weights=weights).failing == failing


def test_one_rare_word_in_the_name_is_enough():
    assert fit("staging", weights={"stag": rank.RARE}).failing == ""
    assert fit("staging", weights={"stag": rank.RARE - 0.01}).failing != ""


@given(st.integers(1, 10**6), st.integers(1, 100))
def test_a_weight_goes_by_the_share_and_not_by_the_size(documents, factor):
    total = documents * 20
    many = rank.weight("zebra", documents * factor, total * factor)
    if total >= rank.LEAST_TOTAL:
        assert many == pytest.approx(rank.weight("zebra", documents, total))
    assert 0 < many <= 1


def test_common_words_and_pairs_weigh_less():
    assert rank.weight("zebra", 3, 300) > rank.weight("fil", 3, 300) > rank.weight("fil", 200, 300)
    assert rank.weight("zebra", 3, 300) > rank.weight("設定", 3, 300)
    assert rank.weight("zebra", 0, 300) == rank.UNKNOWN


@given(
    st.none() | st.floats(-1e6, 1e6),
    st.floats(0.8, 1.4),
    st.floats(0, 1),
    st.booleans(),
    st.booleans(),
)
def test_what_a_memory_is_moves_the_score_a_little_only(age, weight, importance, pinned, everywhere):
    assert 0.7 < rank.standing(age, weight, importance, pinned, everywhere) < 1.25


def test_older_less_important_and_wider_memories_stand_lower():
    new = rank.standing(0, 1.0, 0.5, False, False)
    assert new > rank.standing(300, 1.0, 0.5, False, False) > rank.standing(9_999, 1.0, 0.0, False, True)
    assert rank.standing(0, 1.0, 0.5, True, False) > new


@pytest.mark.parametrize(
    ("score", "floor", "picked", "chosen"),
    [
        (0.5, 0.3, False, True),
        (0.2, 0.3, False, False),
        (0.2, 0.3, True, True),
        (0.1, 0.3, True, False),
        (9, 0, False, True),
    ],
)
def test_the_floor_decides_and_is_lower_for_picks(score, floor, picked, chosen):
    found = rank.Fit(score, ["deploy"], [], "")
    assert (rank.verdict(found, {"deploy": 1.0}, floor, picked) == "") is chosen


def test_the_setting_moves_the_floor_over_its_whole_range():
    settings = [0.0, 0.1, 0.5, 0.9, 1.0, 1.1, 2.0, 3.0, 50.0]
    floors = [rank.floor_of(setting) for setting in settings]
    assert floors == sorted(set(floors)), "each asks for more than the one before"
    assert rank.floor_of(None) == rank.floor_of(1.0) == rank.FLOOR
    assert rank.floor_of(0.0) == rank.floor_of(-1.0) == 0.0
    # With 2 recall still speaks where the words are good, with 0.5 not to half of what there is.
    assert rank.FLOOR / 2 < rank.floor_of(0.5) < rank.FLOOR < rank.floor_of(2.0) < 2 * rank.FLOOR


def test_what_just_missed_is_told_apart():
    fits = [rank.Fit(score, ["deploy"], [], "") for score in (0.2, 0.39)]
    verdicts = [rank.verdict(fit, {"deploy": 1.0}, 0.4, False) for fit in fits]
    assert verdicts == ["below the floor of 0.40", "just below the floor of 0.40"]


def test_a_pick_still_needs_a_word_of_the_prompt():
    assert rank.verdict(rank.Fit(0.9, ["deploy"], [], ""), {"deploy": 0.1}, 0.3, True) != ""
    assert rank.verdict(rank.Fit(0.9, ["vpn"], [], "too few shared words"), {"vpn": 0.9}, 0.3, True) == ""


def test_a_question_of_nothing_fits_nothing():
    assert rank.relevance(Question([], [], [], ""), {}, FIELDS, "").words == []


CUED = (*FIELDS[:4], "push new version liv .. which server for tester .. zebra")


def cued(cues):
    return (*FIELDS[:4], " .. ".join(cues))


def test_a_cue_that_is_said_counts_and_its_words_are_enough():
    found = fit("push the new version live please", CUED)
    assert found.failing == "" and set(found.words) == {"push", "version", "liv"}
    assert fit("push the new version live please").words == []


def test_a_whole_cue_is_worth_more_than_its_words_apart():
    both = "deploy server to push version live"
    assert (
        fit(both, CUED).score
        > fit(both, (*FIELDS[:4], "push apple pear .. version plum fig .. live kiwi")).score
    )


def test_one_word_of_a_longer_cue_is_evidence_and_not_enough():
    found = fit("is the version right", CUED)
    assert found.words == ["version"] and found.score > 0
    assert found.failing == rank.TOO_FEW and found.cue == []
    assert fit("zebra", CUED).failing == ""
    assert fit("zebra", CUED, weights={"zebra": rank.RARE - 0.01}).failing == rank.TOO_FEW


def test_words_of_two_cues_add_up_and_make_no_cue():
    found = fit("version tester", CUED)
    assert found.failing == "" and found.cue == []
    assert found.score > fit("version kiwi", CUED).score


def test_a_word_of_several_cues_counts_more_and_ever_less_so():
    scores = [fit("zebra", cued(["zebra"] * times + ["plum"] * (6 - times))).score for times in range(7)]
    steps = [after - before for before, after in pairwise(scores[1:])]
    assert scores[0] == 0 and scores == sorted(set(scores))
    assert steps == sorted(steps, reverse=True)


def test_each_cue_more_asks_for_more():
    few, many = ["zebra pear"], ["zebra pear", "plum fig", "kiwi lime"]
    assert fit("zebra pear", cued(few)).score > fit("zebra pear", cued(many)).score > 0


def test_a_longer_prompt_asks_for_more_though_its_words_are_the_same():
    scores = [fit(f"staging{' ' * more}deploy").score for more in (1, 4, 40, 400)]
    assert scores[0] == scores[1] > scores[2] > scores[3] > 0


def test_common_words_of_cues_add_nothing_to_what_they_weigh():
    weights = {"zebra": rank.CUE_WORD_FROM}
    once, often = (
        fit("zebra", cued(["zebra"] * times + ["plum"] * (4 - times)), weights) for times in (1, 4)
    )
    assert once.score == often.score > 0


def test_words_that_everybody_says_make_no_cue():
    common = dict.fromkeys(["push", "version", "liv"], rank.INFORMATIVE - 0.01)
    assert fit("push version live", CUED, weights=common).failing != ""


def test_nearness_in_meaning_adds_above_its_least_and_decides_nothing_alone():
    asked = parse_question("deploy staging")
    weights = dict.fromkeys(asked.own, 1.0)
    scores = [
        rank.relevance(asked, weights, FIELDS, "", near).score for near in (-1.0, 0.0, rank.MEANING_FROM, 0.6)
    ]
    assert scores[0] == scores[1] == scores[2] < scores[3]
    other = parse_question("bread recipe")
    assert rank.relevance(other, dict.fromkeys(other.own, 1.0), FIELDS, "", 1.0).score == 0


def test_each_word_of_a_long_prompt_counts_against_a_match():
    long = "staging deploy " + " ".join(f"word{number}" for number in range(30))
    shorter = "staging deploy " + " ".join(f"word{number}" for number in range(12))
    assert fit(long).score < fit(shorter).score


def test_a_word_of_a_long_body_counts_less():
    scores = [
        fit("ship vpn", (*FIELDS[:3], "ship vpn" + " word" * more, "")).score for more in (0, 38, 200, 4000)
    ]
    assert scores[0] == scores[1] > scores[2] > scores[3] > 0


def test_the_words_of_one_path_count_like_little_more_than_one():
    apart = fit("lib util group", ("lib util group", "", "", "", ""))
    assert apart.score > fit("lib/util/group.ts", ("lib util group", "", "", "", "")).score
