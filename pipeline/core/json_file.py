"""Whether a file that holds one JSON object is whole: what a reader that goes on without it does not say."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from pipeline.core.errors import cause
from pipeline.hooklib import places

_MOST = 64 << 20


def fault(file: Path, keys: Collection[str] = ()) -> str:
    """Return what is wrong with `file`, an object that has `keys`; "" for nothing, or for no file."""
    try:
        value = json.loads(places.read_file(str(file), _MOST))
    except FileNotFoundError:
        return ""
    except OSError as error:
        return cause(error)
    except (ValueError, RecursionError):
        return "it is no JSON"
    if not isinstance(value, dict):
        return "it is no JSON object"
    missing = [key for key in keys if key not in value]
    return f"it lacks {' and '.join(missing)}" if missing else ""
