"""Which branches a rewind abandons."""

import random

import pytest

from pipeline.transcript import abandoned, branch

Link = tuple[str, str | None, bool, bool]


def links(text: str) -> list[Link]:
    """Read ``child<parent`` words: a capital is a person's prompt, ``~`` before it a subagent's record."""
    found: list[Link] = []
    for word in text.split():
        uuid, _, parent = word.strip("~").partition("<")
        found.append((uuid, parent or None, uuid[0].isupper(), word.startswith("~")))
    return found


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("", ""),
        ("A b<A C<b d<C", ""),
        ("A b<A C<b d<C E<b f<E", "C d"),
        ("A b<A C<b d<C e<d F<d G<b h<G", "C d e F"),
        ("A b<A C<b D<b E<b f<E", "C D"),
        ("A b<A c<b r<b s<c t<s U<t", ""),
        ("A b<A r<b x<r c<b D<c", ""),
        ("A b<A C<b d<C E<b f<E z<d", "C d z"),
        ("A b<A C<b d<C late<b", ""),
        ("A b<A k C<k d<C", ""),
        ("A b<A c<ghost D<ghost2 e<D", ""),
        ("a<a B<a c<b", ""),
        ("B<c c<B D<B", ""),
        ("A x<y y<x B<A", ""),
        ("A b<A ~C<b ~d<C E<b", ""),
        ("A b<A C<b ~s<C E<b ~T<E", "C s"),
        ("a b<a c<a", ""),
        ("A B", ""),
        ("A C<E d<C E<A", ""),
        ("A b<A C<b d<C E<b b<d", "C d"),
        ("A b<A C<b d<C b<A C<b d<C", ""),
    ],
)
def test_only_a_prompt_elsewhere_abandons(text: str, gone: str) -> None:
    assert abandoned(links(text)) == set(gone.split())


def test_bug_021_phantom_and_self_parents_lose_nothing() -> None:
    rows: list[Link] = [
        ("1", None, True, False),
        ("2", "1", False, False),
        ("3", "nowhere", True, False),
        ("4", "lost", False, False),
        ("5", "5", True, False),
    ]
    assert abandoned(rows) == set()


def test_a_long_chain_with_many_forks_is_walked_once() -> None:
    rows: list[Link] = [("0", None, True, False)]
    rows += [(str(n), str(n - 1), False, False) for n in range(1, 20_000)]
    rows += [("X", "1", True, False)]
    assert len(abandoned(rows)) == 0
    rows += [(f"x{n}", "X" if n == 0 else f"x{n - 1}", n == 0, False) for n in range(20_000)]
    rows += [("Y", "1", True, False), *((f"t{n}", f"x{n}", False, False) for n in range(20_000))]
    assert len(abandoned(rows)) == 40_001


def test_a_quick_look_never_says_otherwise_than_the_tree(monkeypatch) -> None:
    chance, told = random.Random(5), []
    for _ in range(400):
        names = [str(chance.randrange(12)) for _ in range(chance.randrange(1, 14))]
        rows = [
            (name, chance.choice([None, "phantom", *names]), chance.random() < 0.4, chance.random() < 0.2)
            for name in names
        ]
        quick = abandoned(rows)
        with monkeypatch.context() as patch:
            patch.setattr(branch, "_in_one_line", lambda links: False)
            assert quick == abandoned(rows)
        told.append(branch._in_one_line(rows))
    assert 50 < sum(told) < 350
