"""The shape of the command tree: commands that are imported when they are called, under headings."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from pipeline.cli.front import shortened
from pipeline.cli.table import ALIASES, COMMANDS, Entry
from pipeline.core.errors import UsageError
from pipeline.server.shapes import LARGEST

HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
"""Context settings of the program and of its groups: ``-h`` is ``--help``."""


_WRONG_USE: Any = typer.BadParameter.__mro__[1]
"""What is raised for an option that there is not; the class has no public name."""


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


class Commands(dict[str, Any]):
    """Commands by name; one that is still an `Entry` is imported when somebody asks for it."""

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if isinstance(found, Entry):
            found = self[name] = _made(name, found)
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """Return the command called `name`, `default` where there is none."""
        if name not in self:
            return default
        return self[name]

    def values(self) -> Any:
        """Yield every command."""
        return (self[name] for name in self)

    def items(self) -> Any:
        """Yield every command behind its name."""
        return ((name, self[name]) for name in self)


def _made(name: str, entry: Entry) -> Any:
    """Return the command that `entry` names, as the program has it."""
    found: Callable[..., None] | typer.Typer = getattr(
        import_module(f"pipeline.cli.{entry.module}"), entry.name
    )
    alone = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(name)(found)
    command = typer.main.get_group(alone).commands[name]
    _bound(command)
    return command


def _bound(command: Any) -> None:
    """Have `command`, and those below it, refuse a number that no database and no calendar holds."""
    run = command.invoke

    def checked(context: Any) -> Any:
        for parameter in command.params:
            value = context.params.get(parameter.name)
            # Written so that what is no number at all (nan) is refused, too.
            if isinstance(value, int | float) and not abs(value) <= LARGEST:
                called = parameter.opts[0] if parameter.opts else parameter.name
                raise UsageError(f"{called}: too large a number", fix=f"Give one up to {LARGEST:,}.")
        return run(context)

    command.invoke = checked
    parse = command.parse_args

    def parsed(context: Any, args: list[str]) -> Any:
        try:
            return parse(context, args)
        except _WRONG_USE as error:
            several = _several(command, str(getattr(error, "option_name", "")))
            if several:
                wrong = f"No such option: {getattr(error, 'option_name', '')}"
                raise UsageError(wrong, fix=f"Give {several} once for each.") from error
            raise

    command.parse_args = parsed
    for inner in getattr(command, "commands", {}).values():
        _bound(inner)


def _several(command: Any, option: str) -> str:
    """Return the option of `command`, to be given once for each, of which `option` is the plural; else ""."""
    singular = option.removesuffix("s")
    known = {name: parameter for parameter in command.params for name in parameter.opts}
    return singular if singular != option and getattr(known.get(singular), "multiple", False) else ""


class Program(TyperGroup):
    """The program: the commands of the table, and any that was added to it."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        known = {name: entry for commands in COMMANDS.values() for name, entry in commands.items()}
        self.commands = Commands({**known, **self.commands})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``help COMMAND`` for ``COMMAND --help``, other names of commands, and parse as ever."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        if args[:1] and args[0] in ALIASES:
            args = [ALIASES[args[0]], *args[1:]]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in their order."""
        return [*self.commands]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section for each heading, as the table has them: no command is imported for that."""
        width = max(len(name) for commands in COMMANDS.values() for name in commands)
        for title, commands in COMMANDS.items():
            with formatter.section(title):
                # All names in one column, so that the sections stand below one another.
                formatter.write_dl(
                    [
                        (f"{name:<{width}}", shortened(entry.help, formatter.width - 6 - width))
                        for name, entry in commands.items()
                    ]
                )
