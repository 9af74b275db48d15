"""When sessions in one store began, and what they were told: ``<home>/recall/seen/<name>.json``.

The hook of each session's start reads and writes it. Two sessions that begin at the same time may both be
told the same; nothing else hangs on it.
"""

import os

from pipeline.hooklib import home_files, jsonish, places, zone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DAY = 86_400.0
FOR_GOOD = 36_500 * DAY
_MOST_STARTS = 20
_LINE = "line "
"""How the keys of what a person was told begin; the others are of what a model was told."""
_FORGOTTEN = 30 * DAY
_MOST_BYTES = 64 << 10


class Seen:
    """What the sessions in `store` were told; of an odd file, nothing. An empty `store` keeps nothing."""

    def __init__(self, home: str, store: str) -> None:
        from binascii import crc32

        self._folder = f"{home}/{home_files.ANNOUNCED}"
        self._file = f"{self._folder}/{crc32(os.fsencode(os.path.realpath(store))):08x}.json"
        value = _object(self._file) if store else {}
        starts, announcements = value.get("starts"), value.get("said")
        self._starts: list[list[Any]] = [
            start for start in (starts if isinstance(starts, list) else []) if _is_start(start)
        ]
        self._announcements: dict[str, Any] = announcements if isinstance(announcements, dict) else {}

    def before(self, session: str) -> float:
        """Return when the session before `session` began (epoch seconds), 0 when there was none."""
        position = self._position(session)
        earlier = self._starts if position is None else self._starts[:position]
        return float(earlier[-1][1]) if earlier else 0.0

    def began(self, session: str) -> float:
        """Return when `session` began, or else the oldest start that is known; 0 when there is none."""
        position = self._position(session)
        return float(self._starts[position or 0][1]) if self._starts else 0.0

    def start_of(self, session: str) -> float:
        """Return when `session` began, 0 where that is not known."""
        position = self._position(session)
        return 0.0 if position is None else float(self._starts[position][1])

    def once(self, subject: str, announcement: str, now: float, every: float) -> bool:
        """Whether `announcement` is to be said of `subject`, and note that it is.

        It is not when the same was said in the last `every` seconds, or on the same day the same but for
        its numbers: a quota that shrinks by a percent is no news.
        """
        last = self._announcements.get(subject)
        if isinstance(last, list) and len(last) == 2 and isinstance(last[0], str) and _is_number(last[1]):
            quiet = (
                every if last[0] == announcement else DAY if _words(last[0]) == _words(announcement) else 0.0
            )
            if 0 <= now - last[1] < quiet:
                return False
        self._announcements[subject] = [announcement, round(now, 3)]
        return True

    def today(self, line: str, now: float) -> bool:
        """Whether `line` is to be said to a person, and note that it is: not twice on one local day.

        One that differs in its numbers alone is the same.
        """
        from binascii import crc32

        key = f"{_LINE}{crc32(_words(line).encode('utf-8', 'surrogatepass')):08x}"
        if zone.day(self._moment(key)) == zone.day(now):
            return False
        self._announcements[key] = round(now, 3)
        return True

    def grew(self, subject: str, count: int, now: float) -> bool:
        """Whether `count` of `subject` is to be said, and note that it is: when more than today already."""
        key = f"{_LINE}{subject}"
        last = self._announcements.get(key)
        known = last if isinstance(last, list) and len(last) == 2 and all(map(_is_number, last)) else [0, 0.0]
        if count <= known[0] and zone.day(known[1]) == zone.day(now):
            return False
        self._announcements[key] = [count, round(now, 3)]
        return True

    def noted(self, subject: str) -> float:
        """Return the moment that was last noted for `subject`, 0 for none."""
        return self._moment(f"{_LINE}{subject}")

    def moved(self, subject: str, now: float) -> float:
        """Return the moment that was last noted for `subject`, 0 for none, and note `now`."""
        key = f"{_LINE}{subject}"
        last = self._moment(key)
        self._announcements[key] = round(now, 3)
        return last

    def move(self, session: str, now: float) -> None:
        """Note that `session` began now, if it had not, and keep all this. Raises OSError."""
        if self._position(session) is None:
            self._starts = [*self._starts, [session, round(now, 3)]][-_MOST_STARTS:]
        self.keep(now)

    def keep(self, now: float) -> None:
        """Keep what was noted; lines said long ago are forgotten. Raises OSError."""
        for key, value in list(self._announcements.items()):
            if key.startswith(_LINE) and _is_number(value) and now - value > _FORGOTTEN:
                del self._announcements[key]
        places.make_dirs(self._folder)
        temp = f"{self._file}.{os.getpid()}.reverie-tmp-"
        rest = jsonish.dumps({"starts": self._starts, "said": self._announcements}).encode("ascii")
        handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | places.OPEN, 0o600)
        try:
            try:
                while rest:  # A disk that fills up takes a part, and says so at the next.
                    rest = rest[os.write(handle, rest) :]
            finally:
                os.close(handle)
            os.replace(temp, self._file)
        except OSError:
            os.unlink(temp)
            raise

    def _moment(self, key: str) -> float:
        moment = self._announcements.get(key)
        return float(moment) if isinstance(moment, int | float) and _is_number(moment) else 0.0

    def _position(self, session: str) -> "int | None":
        names = [start[0] for start in self._starts]
        return names.index(session) if session and session in names else None


def _is_start(value: "Any") -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and _is_number(value[1])


def _is_number(value: "Any") -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _words(text: str) -> str:
    return "".join(letter for letter in text if not letter.isdigit())


def _object(file: str) -> "dict[str, Any]":
    try:
        value = jsonish.loads(jsonish.decode(places.read_file(file, _MOST_BYTES)))
    except (OSError, ValueError):
        return {}  # no session began here yet, or the file is odd and is made anew
    return value if isinstance(value, dict) else {}
