"""The year of dreams that `bench.dream_year` plays, cut to a few weeks: nothing that was said is lost."""

from bench.dream_year import simulate


def test_weeks_of_dreams_lose_no_fact(tmp_path):
    lines = list(simulate(tmp_path, nights=24, seed=3))
    assert [line.dreams for line in lines] == [6] * 4
    assert [line.lost for line in lines] == [0] * 4
    assert [line.wrong for line in lines] == [0] * 4
    last = lines[-1]
    assert last.retired > 3 and last.waiting > 0, "the model does merge, and does err"
    assert last.live <= last.said + last.waiting, "what is said twice is merged, or somebody is asked"
