"""The archive of a bug bundle: a zip of a few JSON texts under fixed names, read with care.

It comes from somebody else, so nothing of it is unpacked into files: each text is read into memory, bounded
by what is really there and not by what the archive says of itself.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core.errors import InputError, cause
from pipeline.core.ids import digest

FORMAT = "reverie-bundle"
BUNDLE_VERSION = 1
ABOUT = "about.json"
RUN = "run.json"
REPLY = "reply.json"
CALLS = "calls.json"
MEMORIES = "memories.json"
DONE = "done.json"
TEXTS = (RUN, REPLY, CALLS, MEMORIES, DONE)
"""What a bundle holds beside ABOUT, which names their digests."""
MOST_PACKED = 16_000_000
MOST_OF_ONE = 32_000_000
"""Bytes of a bundle's file, and of one text in it."""
_PIECE = 1 << 16
_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the same content gives the same bytes."""
_ANEW = "Ask for a bundle that `reverie bundle` wrote, whole and as it was."
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)


def texts_of(values: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of a bundle by name: `values`, and `about` with the digest of each."""
    texts = {name: _text(values[name]) for name in TEXTS}
    head = {
        "format": FORMAT,
        "version": BUNDLE_VERSION,
        **about,
        "texts": {name: digest(text) for name, text in texts.items()},
    }
    return {ABOUT: _text(head), **texts}


def pack(texts: Mapping[str, str]) -> bytes:
    """Return `texts` as the bytes of an archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, text)
    return file.getvalue()


def read(path: Path) -> dict[str, Any]:
    """Return the values of the bundle at `path` by the names of its texts.

    Raises InputError for what is no bundle, is damaged or was changed, is of another version, too large, or
    holds anything but its own texts.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_PACKED + 1)
    except OSError as error:
        raise InputError(f"can't be read: {cause(error)}", file=str(path), fix="Check the path.") from error
    if len(data) > MOST_PACKED:
        raise _refused(path, f"is larger than {MOST_PACKED:,} bytes, as no bundle is")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            texts = {name: _read(archive, name, path) for name in _names(archive, path)}
    except _BROKEN as error:
        raise _refused(path, "is no zip archive, or a damaged one") from error
    about = _value(texts[ABOUT], ABOUT, path)
    _require_ours(about, path)
    return {ABOUT: about, **{name: _checked(name, texts[name], about, path) for name in TEXTS}}


def _names(archive: zipfile.ZipFile, path: Path) -> list[str]:
    """Return the names in `archive`, which must be those of a bundle, each once."""
    names = [entry.filename for entry in archive.infolist()]
    foreign = sorted({*names} - {ABOUT, *TEXTS})
    if ABOUT not in names:
        raise _refused(path, "is no bundle of Reverie's")
    if foreign:
        raise _refused(path, f"holds what no bundle has: {foreign[0][:80]!r}")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise _refused(path, f"holds {twice[0]} twice")
    lacking = sorted({*TEXTS} - {*names})
    if lacking:
        raise _refused(path, f"lacks {lacking[0]}")
    return names


def _read(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """Return one text, read in pieces: what an archive says of its sizes is not believed."""
    pieces, size = [], 0
    with archive.open(name) as file:
        while piece := file.read(_PIECE):
            size += len(piece)
            if size > MOST_OF_ONE:
                raise _refused(path, f"unpacks to more than {MOST_OF_ONE:,} bytes, as no bundle does")
            pieces.append(piece)
    return b"".join(pieces)


def _require_ours(about: Mapping[str, Any], path: Path) -> None:
    if about.get("format") != FORMAT:
        raise _refused(path, "is no bundle of Reverie's")
    version = about.get("version")
    if version != BUNDLE_VERSION:
        newer = isinstance(version, int) and version > BUNDLE_VERSION
        made = f"is a bundle of version {version!r}, and this Reverie reads version {BUNDLE_VERSION}"
        fix = "Update Reverie." if newer else "Have it written anew with `reverie bundle`."
        raise InputError(made, file=str(path), fix=fix)


def _checked(name: str, data: bytes, about: Mapping[str, Any], path: Path) -> Any:
    known = about.get("texts")
    if not isinstance(known, dict) or known.get(name) != digest(data):
        raise _refused(path, f"was changed since it was written: {name}")
    return _value(data, name, path)


def _value(data: bytes, name: str, path: Path) -> Any:
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"holds no JSON in {name}") from error
    if not isinstance(value, list if name == CALLS else dict):
        raise _refused(path, f"holds something else in {name} than a bundle does")
    return value


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _refused(path: Path, why: str) -> InputError:
    return InputError(f"the file {why}", file=str(path), fix=_ANEW)
