"""Commands on terminals of a given width."""

import fcntl
import os
import pty
import struct
import termios
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.warm import shared_workers


def on_terminals(
    arguments: Sequence[str], env: Mapping[str, str], cwd: Path, columns: int
) -> tuple[str, str]:
    """Return what ``reverie ARGUMENTS`` prints to terminals of `columns`: data and talk, each by itself."""
    ends: list[tuple[int, int]] = []
    texts: list[list[bytes]] = []
    readers: list[threading.Thread] = []
    for _ in range(2):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        ends.append((ours, theirs))
        texts.append([])
        readers.append(threading.Thread(target=_read_all, args=(ours, texts[-1])))
        readers[-1].start()
    out, err = (os.ttyname(theirs) for _, theirs in ends)
    shared_workers().on_terminals(arguments, {"TERM": "xterm", "NO_COLOR": "1", **env}, cwd, out, err)
    for reader, (ours, theirs) in zip(readers, ends, strict=True):
        os.close(theirs)  # the last that holds it open: the reader comes to the end
        reader.join(60)
        os.close(ours)
    data, talk = (b"".join(parts).decode("utf-8").replace("\r\n", "\n") for parts in texts)
    return data, talk


def _read_all(fd: int, into: list[bytes]) -> None:
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:
            return
        if not data:
            return
        into.append(data)
