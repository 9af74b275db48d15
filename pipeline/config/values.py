"""What single values of settings may be, and the kind of class that a section is."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from pipeline.core import zone
from pipeline.hooklib.settings import MODES, listed

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=0)]
_VARIABLE = re.compile(r"[A-Za-z_]\w*(\*|=[A-Za-z_]\w*)?", re.ASCII)


def known_mode(mode: str) -> str:
    """Return `mode` where it is one of those that there are."""
    if mode not in MODES:
        raise PydanticCustomError("mode", "Input should be one of {modes}", {"modes": ", ".join(MODES)})
    return mode


def known_zone(name: str) -> str:
    """Return the `name` of a time zone, "" for the machine's own."""
    if name and not zone.exists(name):
        raise PydanticCustomError(
            "time_zone",
            "there is no time zone {name}",
            {
                "name": repr(name),
                "fix": "Write a name such as Europe/Berlin, or nothing for the machine's own zone. If the"
                " name is right, install your system's package tzdata.",
            },
        )
    return name


def as_list(value: Any) -> Any:
    """Return the items of a list that a variable gives as text, parted by commas or spaces."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


def as_folders(value: Any) -> Any:
    """Return a list of folders as hooks read it; what is none of these is pydantic's to name."""
    found = listed(value)
    return value if found is None else found


def named_variables(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return `names` where each can be that of a variable, maybe with a ``*`` or a ``=OTHER`` behind it."""
    odd = next((name for name in names if not _VARIABLE.fullmatch(name)), None)
    if odd is not None:
        raise PydanticCustomError("pass_env", "{name} is no name of a variable", {"name": repr(odd)})
    return names


def _variable(name: str) -> str:
    # Deferred, as in `rules`: its rules take longer to load than all settings.
    from pipeline.safety.redaction import has_secret

    if name and (not name.isascii() or not name.isidentifier() or has_secret(name)):
        raise PydanticCustomError(
            "variable",
            "this is no name of a variable",
            {"fix": "Name the variable that holds the secret; the secret itself belongs in no file."},
        )
    return name


Variable = Annotated[str, AfterValidator(_variable)]


class Section(BaseModel):
    """A section of the settings; a key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False)
