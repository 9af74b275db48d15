"""Records: what a dataclass with slots is, with methods that are made when they are first called."""

import copy
import dataclasses
import pickle
import subprocess
import sys

import pytest

from pipeline.record import changing, field, names_of, record, values_of


@record
class Port:
    """A port."""

    number: int
    host: str = "here"
    tags: list[str] = field(default_factory=list)
    secret: str = field(default="", repr=False)

    @property
    def address(self) -> str:
        return f"{self.host}:{self.number}"

    @classmethod
    def local(cls) -> "Port":
        return cls(80)


@changing
class Count:
    """A count."""

    number: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Same:
    """The port as a dataclass."""

    number: int
    host: str = "here"
    tags: list[str] = dataclasses.field(default_factory=list)
    secret: str = dataclasses.field(default="", repr=False)


def test_it_is_made_shown_and_compared_as_a_dataclass_is() -> None:
    assert repr(Port(80, secret="x")) == repr(Same(80, secret="x")).replace("Same", "Port")
    assert Port.local() == Port(80) != Port(81) and Port(80) != Same(80)
    assert Port(80).tags is not Port(80).tags
    assert Port(80, "there").address == "there:80" and names_of(Port) == Same.__match_args__
    assert not hasattr(Port(80), "__dict__")
    with pytest.raises(
        TypeError, match=r"Port.__init__\(\) missing 1 required positional argument: 'number'"
    ):
        Port()  # type: ignore[call-arg]


def test_what_is_frozen_can_be_hashed_and_not_be_changed() -> None:
    assert hash(Port(80, tags=())) == hash(Port(80, tags=()))  # type: ignore[arg-type]
    for change in (lambda: setattr(Port(80), "number", 1), lambda: delattr(Port(80), "number")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    count = Count()
    count.number = 4
    assert count == Count(4)
    with pytest.raises(TypeError):
        hash(count)


def test_to_the_functions_for_dataclasses_it_is_one() -> None:
    port = Port(80, tags=["a"])
    assert dataclasses.asdict(port) == values_of(port) == dataclasses.asdict(Same(80, tags=["a"]))
    assert dataclasses.replace(port, number=81) == Port(81, tags=["a"])
    assert [item.name for item in dataclasses.fields(Port)] == list(names_of(Port))
    assert dataclasses.is_dataclass(Port) and not dataclasses.is_dataclass(int)
    for other in (copy.copy(port), copy.deepcopy(port), pickle.loads(pickle.dumps(port))):
        assert other == port


def test_what_has_bases_is_refused() -> None:
    with pytest.raises(TypeError, match="can't be a record"):
        record(type("Longer", (Port,), {}))


def test_it_loads_nothing() -> None:
    code = (
        "import sys; from pipeline.record import record\n"
        "@record\nclass One:\n    '''One.'''\n    a: int = 1\n"
        "assert One() == One(1) and {'dataclasses', 'inspect'}.isdisjoint(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
