"""``reverie config``: every setting with its value, and one of them set or taken back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.app import embedding_settings
from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.groups import HELP_OPTIONS, Fallback
from pipeline.cli.options import JsonOption
from pipeline.cli.tables import table
from pipeline.config import Settings, variable_above
from pipeline.core import paths
from pipeline.core.errors import InputError, UsageError
from pipeline.core.home import Home
from pipeline.install import claude_settings, config_edit
from pipeline.install.config_edit import Edited

_LONGEST_KEY = 20_000


class _Sections(Fallback):
    """The group, in which the name of a section or of a setting shows that: ``reverie config recall``."""

    instead = "get"

    def takes(self, word: str) -> bool:
        """Whether `word` names a section, or a setting with or without its section."""
        return word.partition(".")[0] in Settings.model_fields or any(
            key.partition(".")[2] == word for key in _keys("")
        )


config = typer.Typer(cls=_Sections, context_settings=HELP_OPTIONS)


def _keys(incomplete: str) -> list[str]:
    """Return the settings that a shell offers behind what was typed."""
    sections = Settings.model_fields
    every = [f"{name}.{key}" for name in sections for key in type(getattr(Settings(), name)).model_fields]
    return [key for key in every if key.startswith(incomplete)]


KeyArgument = Annotated[
    str, typer.Argument(metavar="KEY", help="Such as spend.dollars_per_day.", autocompletion=_keys)
]


@config.callback(invoke_without_command=True)
def config_alone(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Every setting, on a terminal too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show every setting, its value and what it means; set one.

    On a terminal it shows the sections and what you set. `reverie config recall` shows a section,
    `reverie config recall.floor` one setting. Exit code 1 when the file can't be used as it is.
    """
    if context.invoked_subcommand is not None:
        if as_json or everything:
            raise typer.BadParameter(f"options stand behind `reverie config {context.invoked_subcommand}`")
        return
    app = App()
    brief = output.width() is not None and not everything
    _show(app, _rows(app), as_json=as_json, tell=_tell_brief if brief else _tell_rows)


def _tell_rows(rows: list[dict[str, Any]]) -> None:
    table(["key", "value", "meaning"], [[r["key"], output.shown(r["value"]), r["meaning"]] for r in rows])


def _tell_brief(rows: list[dict[str, Any]]) -> None:
    """Print what each section is about, and the settings that are not at their default."""
    sections = ((name, type(getattr(Settings(), name)).__doc__ or "") for name in Settings.model_fields)
    table(["section", "settings", "about"], [[name, _number(rows, name), about] for name, about in sections])
    output.line()
    changed = [row for row in rows if row["value"] != row["default"]]
    if changed:
        _tell_rows(changed)
    else:
        output.line("All are at their default.")
    output.talk("\n`reverie config SECTION` shows the settings of one, `reverie config --all` all of them;")


def _number(rows: list[dict[str, Any]], section: str) -> int:
    return sum(row["key"].startswith(f"{section}.") for row in rows)


def _show(
    app: App,
    rows: list[dict[str, Any]],
    *,
    as_json: bool,
    tell: Callable[[list[dict[str, Any]]], None] = _tell_rows,
) -> None:
    wrong = app.config_error
    output.data(
        {"file": str(Home(app.home).config), "settings": rows, "error": str(wrong) if wrong else ""},
        lambda: tell(rows),
        as_json=as_json,
    )
    output.talk(
        f"set them by `reverie config set KEY VALUE`, in {Home(app.home).config}, or as REVERIE_SECTION__KEY"
        " in the environment"
    )
    if wrong is not None:
        output.failure(wrong)
        output.talk("Until then nothing is written and no model is asked.")
        raise typer.Exit(1)


@config.command("get")
def config_get(
    key: Annotated[
        str,
        typer.Argument(metavar="KEY|SECTION", help="Such as recall.floor, or recall.", autocompletion=_keys),
    ],
    as_json: JsonOption = False,
) -> None:
    """Show one setting, or those of a section."""
    app = App()
    if key in Settings.model_fields:
        rows = [row for row in _rows(app) if row["key"].startswith(f"{key}.")]
        _show(app, rows, as_json=as_json)
        return
    section, name = config_edit.split(key)
    row = next(row for row in _rows(app) if row["key"] == f"{section}.{name}")
    output.data(row, lambda: output.line(output.shown(row["value"])), as_json=as_json)
    if not as_json:
        default = "" if row["value"] == row["default"] else f" Default: {output.shown(row['default'])}."
        output.talk(f"{row['meaning']}{default}")


# Of a value such as -1 nobody means an option.
@config.command("set", context_settings={**HELP_OPTIONS, "ignore_unknown_options": True})
def config_set(
    key: KeyArgument,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="As in the file, without quotes.")],
    as_json: JsonOption = False,
) -> None:
    """Write one setting into config.toml.

    Comments and all else stay.
    """
    _tell(config_edit.set_key(paths.home_dir(), key, value), as_json)


@config.command("embeddings")
def config_embeddings(
    provider: Annotated[
        str | None, typer.Option("--provider", metavar="P", help="off, auto, wordllama, ollama or openai.")
    ] = None,
    ollama_model: Annotated[
        str | None, typer.Option("--ollama-model", metavar="M", help="Model that Ollama is asked for.")
    ] = None,
    openai_model: Annotated[
        str | None, typer.Option("--openai-model", metavar="M", help="Model that OpenAI is asked for.")
    ] = None,
    openai_key: Annotated[
        str | None,
        typer.Option("--openai-key", metavar="-", help="- alone: read the key from stdin, or ask for it."),
    ] = None,
    forget_key: Annotated[bool, typer.Option("--forget-key", help="Delete the key that is kept.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Choose who makes vectors, with which model and key.

    Without options it shows the section. The key goes to the system's keyring if Python's keyring package is
    there, else into a file for you alone; it is never shown. A store's _config.json follows, without the key.
    """
    given = {"provider": provider, "ollama_model": ollama_model, "openai_model": openai_model}
    if openai_key is not None and (openai_key != "-" or forget_key):
        raise UsageError(
            "a key is no argument: others could read it there",
            fix="`--openai-key -` reads it from stdin, or asks without showing it.",
        )
    if not any(value is not None for value in (*given.values(), openai_key)) and not forget_key:
        config_get("embeddings", as_json)
        return
    key = _typed_key() if openai_key is not None else "" if forget_key else None
    done = embedding_settings.choose(App(), **given, key=key)
    value = {
        "settings": {edited.key: edited.value for edited in done.edited},
        "key": done.key,
        "config": done.config,
    }
    output.data(value, lambda: _tell_chosen(done), as_json=as_json)


def _typed_key() -> str:
    """Return the key from stdin, asked for without an echo where a person sits there."""
    if sys.stdin.isatty():
        from getpass import getpass

        key = getpass("OpenAI key (not shown): ")
    else:
        key = sys.stdin.readline(_LONGEST_KEY)
    if not key.strip():
        raise InputError("there was no key", fix="Type or pipe the key; --forget-key deletes the one kept.")
    return key


def _tell_chosen(done: embedding_settings.Chosen) -> None:
    for edited in done.edited:
        output.line(f"{edited.key} = {output.shown(edited.value)}")
    output.line(f"the key is kept {done.key}" if done.key else "no key is kept")
    if done.config:
        output.line(f"{done.config} says so too, without a key")
    if done.edited:
        output.talk("`reverie embed` makes the vectors now; else the worker does.")


@config.command("preset")
def config_preset(
    name: Annotated[str, typer.Argument(metavar="NAME", help="s09: the limits of the teaching pipeline.")],
    off: Annotated[bool, typer.Option("--off", help="Take its settings out again.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Set several settings at once.

    s09: the last 10 messages and 4,000 characters are read, and dreams begin with 10 memories.
    """
    from pipeline.formats.s09 import S09, TEACHING

    if name != S09.name:
        raise UsageError(f"there is no preset {name!r}", fix=f"Presets: {S09.name}.")
    home = paths.home_dir()
    done = [
        config_edit.unset_key(home, key) if off else config_edit.set_key(home, key, value)
        for key, value in TEACHING.settings().items()
    ]
    values = {edited.key: edited.value for edited in done}
    lines = [f"{key} = {output.shown(value)}" if value is not None else key for key, value in values.items()]
    output.data(values, lambda: output.line("\n".join(lines)), as_json=as_json)
    output.talk(f"{'taken out of' if off else 'set in'} {done[0].file}")


@config.command("unset")
def config_unset(key: KeyArgument, as_json: JsonOption = False) -> None:
    """Take one setting out of config.toml.

    Its default holds then.
    """
    _tell(config_edit.unset_key(paths.home_dir(), key), as_json)


def _tell(done: Edited, as_json: bool) -> None:
    where = f"{done.file}:{done.line}" if done.line else str(done.file)
    value = {
        "key": done.key,
        "value": done.value,
        "file": str(done.file),
        "line": done.line,
        "changed": done.changed,
    }
    word = ("set in" if done.line else "taken out of") if done.changed else "it was so already in"
    now = f"{done.key} = {output.shown(done.value)}" if done.value is not None else done.key
    output.data(value, lambda: output.line(f"{now}: {word} {where}"), as_json=as_json)
    if done.left is not None:
        # Said behind every command.
        return
    section, _, name = done.key.partition(".")
    app = App()
    if (section, name) == ("recall", "before_tools"):
        has = bool(claude_settings.wiring(paths.project_root(Path.cwd())).before_tools)
        if has != app.settings.recall.before_tools:
            output.talk(
                f"`reverie install` {'takes the hook for it out' if has else 'adds the hook for it'}."
            )
    holds = getattr(getattr(app.settings, section, None), name, None)
    variable = variable_above(section, name)
    if variable and app.config_error is None and output.shown(holds) != output.shown(done.value):
        output.talk(
            f"{variable} is set in the environment, above the file: {output.shown(holds)} holds here."
        )


def _rows(app: App) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for section_name in Settings.model_fields:
        section = getattr(app.settings, section_name)
        for key, field in type(getattr(Settings(), section_name)).model_fields.items():
            rows.append(
                {
                    "key": f"{section_name}.{key}",
                    "value": getattr(section, key),
                    "default": field.default,
                    "meaning": field.description,
                }
            )
    for name, folder in app.settings.graphs.model_dump().items():
        meaning = f"Folder of the graph called {name}."
        rows.append({"key": f"graphs.{name}", "value": folder, "default": "", "meaning": meaning})
    return rows
