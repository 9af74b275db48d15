"""Classes of named values, as frozen dataclasses with slots, that cost next to nothing to define.

``dataclasses`` writes and compiles six methods for each class it makes, and loads ``inspect`` before: for a
command that looks at a few rows that was half of its time. Here a method is made when it is first called.
To ``dataclasses.replace``, ``asdict`` and ``fields`` these are dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, dataclass_transform

C = TypeVar("C")


class _Field:
    """Stands for a value with more to it than a default."""

    def __init__(self, default: object, factory: Callable[[], object] | None, is_shown: bool) -> None:
        self.default = default
        self.factory = factory
        self.is_shown = is_shown


def field(*, default: Any = None, default_factory: Callable[[], Any] | None = None, repr: bool = True) -> Any:
    """Return what stands for a value's `default`, or one that is made anew for each record.

    The names are those of ``dataclasses.field``, which type checkers know.
    """
    return _Field(default, default_factory, repr)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[C]) -> type[C]:
    """Return `cls`, which has no bases, as ``dataclass(frozen=True, slots=True)`` does."""
    return _made_of(cls, frozen=True)


@dataclass_transform(field_specifiers=(field,))
def changing(cls: type[C]) -> type[C]:
    """Return `cls`, which has no bases, as ``dataclass(slots=True)`` does."""
    return _made_of(cls, frozen=False)


def values_of(item: object) -> dict[str, Any]:
    """Return the values of a record by name, as ``dataclasses.asdict`` does where none holds a record."""
    return {name: getattr(item, name) for name in names_of(type(item))}


def names_of(kind: type) -> tuple[str, ...]:
    """Return the names of the values of a record class in their order."""
    names: tuple[str, ...] = kind.__dict__["__slots__"]
    return names


def _made_of(cls: type[C], *, frozen: bool) -> type[C]:
    names = tuple(getattr(cls, "__annotations__", ()))
    if not {object, Generic}.issuperset(cls.__bases__) or "__post_init__" in cls.__dict__:
        raise TypeError(f"{cls.__name__} can't be a record: it has bases or a __post_init__")
    given = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    hidden = {name for name, value in given.items() if isinstance(value, _Field) and not value.is_shown}
    defaults = {name: _plain(value) for name, value in given.items()}
    left_out = {*names, "__dict__", "__weakref__"}
    body = {name: value for name, value in cls.__dict__.items() if name not in left_out}
    body |= {"__slots__": names, "__match_args__": names, "__dataclass_fields__": _Fields(defaults, frozen)}
    body |= {"__repr__": _showing(hidden), "__reduce__": _reduced}
    sources = dict(_sources(names, defaults, frozen=frozen))
    kind: Any = type(cls)
    made: type[C] = kind(cls.__name__, cls.__bases__, body)
    for name, source in sources.items():
        if name not in cls.__dict__:
            setattr(made, name, _late(made, name, source, defaults))
    if not frozen:
        made.__hash__ = None  # type: ignore[assignment]
    return made


def _plain(value: object) -> object:
    """Return the default itself where nothing has to be made for it."""
    return value.default if isinstance(value, _Field) and value.factory is None else value


def _sources(
    names: tuple[str, ...], defaults: dict[str, object], *, frozen: bool
) -> Iterator[tuple[str, str]]:
    """Yield name and source of each method that depends on the names."""
    given = ", ".join(f"{name}=_{name}" if name in defaults else name for name in names)
    lines = []
    for name in names:
        value = name
        if isinstance(defaults.get(name), _Field):
            value = f"_{name}.factory() if {name} is _{name} else {name}"
        lines.append(f"  _set(self, {name!r}, {value})" if frozen else f"  self.{name} = {value}")
    yield "__init__", f"def __init__(self{', ' if given else ''}{given}):\n" + "\n".join(lines or ["  pass"])
    mine, others = (f"({''.join(f'{who}.{name}, ' for name in names)})" for who in ("self", "other"))
    same = f"return {mine} == {others} if other.__class__ is self.__class__ else NotImplemented"
    yield "__eq__", f"def __eq__(self, other):\n  {same}"
    if frozen:
        yield "__hash__", f"def __hash__(self):\n  return hash({mine})"
        for name, more in (("__setattr__", ", value"), ("__delattr__", "")):
            yield (
                name,
                f"def {name}(self, name{more}):\n  raise _frozen()(f'cannot assign to field {{name!r}}')",
            )


def _late(made: type, name: str, source: str, defaults: dict[str, object]) -> Callable[..., Any]:
    """Return a method that makes itself of `source` when it is first called."""

    def first(self: object, /, *args: object, **kwargs: object) -> object:
        known: dict[str, Any] = {f"_{each}": value for each, value in defaults.items()}
        known |= {"_set": object.__setattr__, "_frozen": _frozen}
        exec(source, known)
        method = known[name]
        method.__qualname__ = f"{made.__qualname__}.{name}"
        setattr(made, name, method)
        return method(self, *args, **kwargs)

    return first


class _Fields:
    """Gives ``__dataclass_fields__``, by which `dataclasses` knows a class, made when somebody asks."""

    def __init__(self, defaults: dict[str, object], frozen: bool) -> None:
        self._defaults = defaults
        self._frozen = frozen
        self._found: object = None

    def __get__(self, _: object, kind: type) -> object:
        if self._found is None:
            import dataclasses

            fields = []
            for name, annotation in kind.__annotations__.items():
                default = self._defaults.get(name, dataclasses.MISSING)
                if isinstance(default, _Field):
                    fields.append(
                        (name, annotation, dataclasses.field(default_factory=default.factory or tuple))
                    )
                else:
                    fields.append((name, annotation, dataclasses.field(default=default)))
            like = dataclasses.make_dataclass(kind.__name__, fields, frozen=self._frozen)
            self._found = like.__dict__["__dataclass_fields__"]
        return self._found


def _frozen() -> type[AttributeError]:
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError


def _showing(hidden: set[str]) -> Callable[[object], str]:
    def shown(self: object) -> str:
        values = (f"{name}={value!r}" for name, value in values_of(self).items() if name not in hidden)
        return f"{type(self).__qualname__}({', '.join(values)})"

    return shown


def _reduced(self: object) -> tuple[type, tuple[object, ...]]:
    return type(self), tuple(values_of(self).values())
