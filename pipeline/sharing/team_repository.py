"""The repository of a team's folder: ours as any other, but others' revisions come from the team's database.

What was read of the database is a commit of its own, so a sync with a team is the same work as one with a git
remote. The number up to which it was read is written after that commit: who dies between reads it again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pipeline.core.atomic import write_atomic
from pipeline.core.errors import DocumentError, InputError, TeamError, UnreachableTeamError
from pipeline.safety.invisible import visible_name
from pipeline.sharing.authors import AUTHOR
from pipeline.sharing.git import OfflineError, RefusedError
from pipeline.sharing.joint import is_joint
from pipeline.sharing.quoting import said_in, strange_quotes
from pipeline.sharing.recorded import records_of
from pipeline.sharing.repository import BRANCH, INCOMING, Repository
from pipeline.sharing.revisions import FORGOTTEN, REVISIONS, Note, Record, Revision, read_record, records_in
from pipeline.sharing.state import Tell, untold
from pipeline.store.files import document
from pipeline.team import heard, members, revisions, schema
from pipeline.team.connecting import Address, parse, within

_WAITS = "Nothing is lost: what waits goes out the next time."
_NOTES = "forgotten"
"""As what the database knows a record of words that were forgotten; it is no memory's id."""
_FOR_WHAT_IT_IS = ("22", "23")
"""Starts of the SQLSTATEs of what breaks a rule for the data: alone it would be refused as well."""


@dataclass(frozen=True, slots=True)
class TeamRepository(Repository):
    """`remote` is the database's address, `team` its id there, `machine` what this machine is called.

    A record that is none, or speaks in somebody else's name, is not taken; `odd` says so.
    """

    team: str
    machine: str
    tell: Tell = untold
    most: ClassVar[int] = revisions.MOST_BYTES

    def fetch(self) -> str:
        """Return the commit of all that the database has, "" where that is nothing.

        Raises OfflineError where it can't be reached, RefusedError where it is not what it was.
        """
        with self._as_of_a_remote():
            people = self._ask(self._who)
            number, digest = self._read_to()
            if number and self._ask(revisions.digest_at, self.team, number) != digest:
                raise RefusedError(
                    "the team's database lacks what was read there: it is another one, or came from a backup",
                    file=self.remote,
                    fix="Ask who keeps it. `reverie team join` begins anew, and sends what is known here.",
                )
            for batch in self._batches():
                self._keep(batch, people)
        return self.tip(INCOMING)

    def begin_anew(self) -> None:
        """Read all that the database has once more, and send all of this machine's that it lacks."""
        (self.path / "read").unlink(missing_ok=True)
        if self.tip(INCOMING):
            self._change("update-ref", "-d", INCOMING)

    def push(self) -> bool:
        """Send what the database lacks; True, since nobody's revision is in the way of another's.

        What other machines told is theirs to send: in this login's name nobody would take it.
        """
        known = self.files(self.tip(INCOMING), REVISIONS, FORGOTTEN)
        ours = self.files(self.tip(), REVISIONS, FORGOTTEN)
        fresh = [path for path in ours if path not in known]
        refused: dict[str, TeamError] = {}
        with self._as_of_a_remote():
            for start in range(0, len(fresh), revisions.BATCH):
                paths = fresh[start : start + revisions.BATCH]
                data = self.read(ours[path] for path in paths)
                records, _ = records_in((path, data[ours[path]]) for path in paths)
                items = [_outgoing(item) for item in records if item.machine == self.machine]
                for part in revisions.parts_of(items):
                    refused |= self._send(part)
        self._tell(refused)
        self.move(self.tip(BRANCH), ref=INCOMING)
        return True

    def _send(self, items: Sequence[revisions.Outgoing]) -> dict[str, TeamError]:
        """Push `items`; return path → why of those that the database refuses for what they are."""
        try:
            self._ask(revisions.push, self.team, self.machine, items)
        except UnreachableTeamError:
            raise
        except TeamError as error:
            state = getattr(error.__cause__, "sqlstate", None) or ""
            if not state.startswith(_FOR_WHAT_IT_IS):
                raise
            if len(items) == 1:
                return {f"{REVISIONS}/{items[0].memory}/{items[0].digest}.json": error}
            half = len(items) // 2
            return self._send(items[:half]) | self._send(items[half:])
        return {}

    def _tell(self, refused: Mapping[str, TeamError]) -> None:
        """Raise RefusedError for what was `refused` and is still what its memory says."""
        for path, error in refused.items():
            memory, name = path.removesuffix(".json").split("/")[1:]
            every = records_of(self, memory)
            if not any(name in item.parents for item in every):
                shown = next((item.path for item in every if item.name == name), path)
                raise RefusedError(f"{error}: {shown}", file=self.remote, fix=error.fix) from error

    def note(self, *, waiting: int) -> None:
        """Tell the team how far this machine has read, its own revisions among it, and what waits here.

        What it has to say of its dream and of a backlog is heard.
        """
        self.fetch()

        def work(connection: Any) -> None:
            read_to = self._read_to()[0]
            revisions.note_pull(connection, self.team, self.machine, read_to=read_to, waiting=waiting)
            heard.hear(connection, self.team, self.path.parent, members.names(connection, self.team))

        with self._as_of_a_remote():
            self._ask(work)

    def _who(self, connection: Any) -> dict[str, list[str]]:
        """Return the names of each login, the present one first. Raises TeamError for who is in no more."""
        schema.check(connection)
        login = members.require_membership(connection, self.team)
        found = members.names(connection, self.team)
        self.names[:] = found[login]
        return found

    def _batches(self) -> Iterator[Sequence[revisions.Incoming]]:
        latest = 0
        while batch := self._ask(revisions.after, self.team, self._read_to()[0]):
            if self.tell is not untold:
                latest = latest or self._ask(members.latest_in, self.team)
                self.tell(f"reading what the team has: {batch[-1].number:,} of {latest:,}")
            yield batch
            write_atomic(self.path / "read", f"{batch[-1].number} {batch[-1].digest}\n".encode())

    def _read_to(self) -> tuple[int, str]:
        """Return number and digest of the revision that was read last, (0, "") before the first."""
        try:
            number, digest = (self.path / "read").read_text("ascii").split()
        except FileNotFoundError:
            return 0, ""
        return int(number), digest

    def _keep(self, batch: Sequence[revisions.Incoming], people: Mapping[str, Sequence[str]]) -> None:
        files: dict[str, bytes | str | None] = {}
        for item in batch:
            folder = f"{REVISIONS}/{item.memory}" if item.memory != _NOTES else FORGOTTEN
            file_name = f"{folder}/{item.digest}.json"
            # What is said of a memory after what could not be taken mends that.
            key = file_name if folder == FORGOTTEN else folder
            try:
                record = read_record(file_name, item.body.encode())
                names = people.get(item.author, (item.author,))
                self._require_own_name(record, names, files)
                self.people[record.machine] = visible_name(names[0])
            except (InputError, DocumentError) as error:
                self.odd.pop(key, None)
                self.odd[key] = f"{item.author}: {error}"
                continue
            self.odd[key] = ""
            files[file_name] = item.body.encode()
        before = self.tip(INCOMING)
        known = self.files(before, *files) if files else {}
        missing = {path: data for path, data in files.items() if path not in known}
        if missing:
            now = int(batch[-1].kept_at.timestamp())
            message = f"{len(missing)} from the team"
            self.commit([before] if before else [], missing, message, now=now, ref=INCOMING)

    def _require_own_name(
        self, record: Record, names: Sequence[str], fresh: Mapping[str, bytes | str | None]
    ) -> None:
        """Raise InputError where a text names another author than who sent it, who has or had these `names`.

        Unless it is word for word what is known already, perhaps of `fresh` ones, or what several said
        together: so an undo puts it back.
        """
        if isinstance(record, Revision) and "/" in record.path:
            raise InputError("a team's memories lie side by side, in no folder", file=record.path)
        if isinstance(record, Note) or record.file is None:
            return
        memory = document.parse(record.file.encode(), record.path)
        author = memory.extra.get(AUTHOR, "")
        is_own = author in names and members.is_a_name(str(author))
        if is_own and not strange_quotes(memory, names, ()):
            return
        known = self._known_of(record, fresh)
        if any(item.file == record.file for item in known) or is_joint(record.file, known):
            return
        if not is_own:
            claim = f"it says that {author or 'nobody'} is its author, and {names[0]} sent it"
            raise InputError(claim, file=record.path)
        strange = strange_quotes(memory, names, said_in(known))
        if strange:
            claim = f"it quotes {strange[0].by}, who said no such thing in it, and {names[0]} sent it"
            raise InputError(claim, file=record.path)

    def _known_of(self, record: Revision, fresh: Mapping[str, bytes | str | None]) -> list[Revision]:
        """Return the revisions that were taken of the memory of `record`, `fresh` ones among them."""
        folder = f"{REVISIONS}/{record.memory}/"
        there = self.files(self.tip(INCOMING), folder)
        data = self.read(there.values())
        files = {path: data[blob] for path, blob in there.items() if blob in data}
        new = {path: item for path, item in fresh.items() if path.startswith(folder)}
        files |= {path: item for path, item in new.items() if isinstance(item, bytes)}
        known, _ = records_in(files.items())
        return [item for item in known if isinstance(item, Revision)]

    def _ask(self, work: Any, *values: Any, **named: Any) -> Any:
        return within(self._address, lambda connection: work(connection, *values, **named))

    @property
    def _address(self) -> Address:
        return parse(self.remote)

    @contextlib.contextmanager
    def _as_of_a_remote(self) -> Iterator[None]:
        """Raise what the team's database answers as any remote's trouble."""
        try:
            yield
        except UnreachableTeamError as error:
            # It names the address itself.
            raise OfflineError(str(error), fix=f"{_WAITS} {error.fix}") from error
        except TeamError as error:
            raise RefusedError(str(error), file=self.remote, fix=error.fix) from error


def _outgoing(record: Record) -> revisions.Outgoing:
    parents = record.parents if isinstance(record, Revision) else ()
    memory = record.memory if isinstance(record, Revision) else _NOTES
    return revisions.Outgoing(record.name, memory, parents, record.data.decode())
