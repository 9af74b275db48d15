"""The shape of ``--help``: commands under headings, in the order in which a person meets them."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup

HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
"""Context settings of the program and of its groups: ``-h`` is ``--help``."""
SETTING_UP = "Setting up"
MEMORIES = "Memories"
RECALL = "Recall"
DECIDING = "Changes and decisions"
DIARY = "What happened when"
READING = "Reading sessions"
DREAMS = "Dreams"
HEALTH = "State and health"
TRYING = "Trying it out"


class Fallback(TyperGroup):
    """A group in which a word that is no command, but that it `takes`, goes to the command `instead`."""

    instead: ClassVar[str]

    def takes(self, word: str) -> bool:
        """Whether `word` goes to the command `instead`."""
        raise NotImplementedError

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first of `args` names, and what is left for it."""
        if self.get_command(ctx, args[0]) is None and self.takes(args[0]):
            args = [self.instead, *args]
        return super().resolve_command(ctx, args)


class Program(TyperGroup):
    """The program, whose help lists its commands by their headings, in the order of `order`."""

    order: ClassVar[tuple[str, ...]] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``help COMMAND`` for ``COMMAND --help``, and parse as ever."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands in the order of `order`."""
        rank = {name: number for number, name in enumerate(self.order)}
        return sorted(super().list_commands(ctx), key=lambda name: rank.get(name, len(rank)))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section for each heading, in the order in which the first of its commands was added."""
        sections: dict[str, list[tuple[str, Any]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                sections.setdefault(getattr(command, "rich_help_panel", "") or "Commands", []).append(
                    (name, command)
                )
        width = max((len(name) for rows in sections.values() for name, _ in rows), default=0)
        for title, rows in sections.items():
            with formatter.section(title):
                # All names in one column, so that the sections stand below one another.
                formatter.write_dl(
                    [
                        (f"{name:<{width}}", command.get_short_help_str(formatter.width - 6 - width))
                        for name, command in rows
                    ]
                )
