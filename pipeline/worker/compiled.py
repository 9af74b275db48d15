"""What Python keeps compiled of a module, and what becomes of it when it broke: a full disk cuts such files.

Python itself goes by a compiled file that its source has not left behind, and ends where it can't be read.
Here such a file is removed, and its source is compiled again.
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import sys
from contextlib import suppress
from pathlib import Path

BROKEN = (EOFError, ImportError, TypeError, ValueError)
"""What comes of reading a compiled file that broke."""
_FIRST = ("pipeline", "pipeline.core", "pipeline.core.lazily", "pipeline.worker", __name__)
"""What is loaded before `survive` is called, beside ``__main__.py``."""


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from its source where what was compiled of it can't be read."""

    def get_code(self, fullname: str) -> object:  # type: ignore[override]
        """Return the code of the module `fullname`."""
        try:
            return super().get_code(fullname)
        except BROKEN:
            _forget(self.path)
            return self.source_to_code(self.get_data(self.path), self.path)


def survive() -> None:
    """Let no compiled file that broke stop this process, in any module that is loaded from now on.

    Who started it with ``PYTHONPYCACHEPREFIX`` set to nowhere saw one of its first modules fail
    (``hooks/start_worker.py``): these are compiled anew next time.
    """
    if sys.pycache_prefix == os.devnull:
        sys.pycache_prefix = None
        os.environ.pop("PYTHONPYCACHEPREFIX", None)
        _forget(str(Path(__file__).with_name("__main__.py")))
        for name in _FIRST:
            _forget(str(sys.modules[name].__file__))
    kinds = (
        (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
        (_Loader, importlib.machinery.SOURCE_SUFFIXES),
        (importlib.machinery.SourcelessFileLoader, importlib.machinery.BYTECODE_SUFFIXES),
    )
    sys.path_hooks.insert(0, importlib.machinery.FileFinder.path_hook(*kinds))
    sys.path_importer_cache.clear()


def _forget(source: str) -> None:
    with suppress(OSError):
        pathlib.Path(importlib.util.cache_from_source(source)).unlink()
