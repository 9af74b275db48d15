"""Who makes vectors, with which model and key: set at once, in ``config.toml`` and beside the memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.app.application import App
from pipeline.install import config_edit
from pipeline.install.config_edit import Edited
from pipeline.search.vectors import kept_key
from pipeline.search.vectors.chain import write_store_config
from pipeline.search.vectors.remote import OPENAI_URL
from pipeline.store.files.versions import STORE_CONFIG


@dataclass(frozen=True, slots=True)
class Chosen:
    """What became of it: the settings written, where the key is, the ``_config.json`` written, if any."""

    edited: Sequence[Edited]
    key: str
    config: str


def choose(
    app: App,
    *,
    provider: str | None = None,
    ollama_model: str | None = None,
    openai_model: str | None = None,
    key: str | None = None,
) -> Chosen:
    """Write what is given, None leaves as it is; an empty `key` deletes the one that is kept.

    Errors are those of `config_edit.set_key` and `kept_key.keep`.
    """
    given = {"provider": provider, "ollama_model": ollama_model, "openai_model": openai_model}
    edited = [
        config_edit.set_key(app.home, f"embeddings.{name}", value)
        for name, value in given.items()
        if value is not None
    ]
    if key is not None:
        url = (app.settings.embeddings.openai_base_url or OPENAI_URL).rstrip("/")
        if key:
            kept_key.keep(app.home, key, url)
        else:
            kept_key.forget(app.home)
    return Chosen(edited, kept_key.where(app.home), _beside(app, given) if edited else "")


def _beside(app: App, given: dict[str, str | None]) -> str:
    """Write it into the ``_config.json`` of the store here, if it has one; return its path then."""
    if app.is_team or not app.store_path.is_dir():
        return ""
    root = Path(app.store_path).resolve()
    values = {"embedding_provider" if name == "provider" else name: value for name, value in given.items()}
    wrote = write_store_config(root, {name: value for name, value in values.items() if value})
    return str(root / STORE_CONFIG) if wrote else ""
