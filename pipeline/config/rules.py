"""What settings there are, what each may be, and what is said of one that can't be used.

Every limit the program has is a named field here. Unknown keys are an error that names the file, so that
a misspelt cap never silently means the default. Loading this takes longer than most commands: `kept` has
what it last let through.
"""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from pipeline.config.given import Given
from pipeline.config.values import (
    Count,
    Positive,
    Section,
    Variable,
    as_folders,
    as_list,
    known_mode,
    known_zone,
    named_variables,
)
from pipeline.core.config_lines import line_of
from pipeline.core.errors import ConfigError
from pipeline.hooklib.memory_format import INDEX_BYTES, INDEX_LINES
from pipeline.hooklib.settings import DEFAULTS, MODES, TIME_ZONE


class ModelSettings(Section):
    """Which model answers, and how calls are made."""

    provider: str = Field(
        "auto", description="auto, anthropic, claude-cli, offline, replay:DIR or record:DIR"
    )
    model: str = Field("claude-haiku-4-5", description="Model name sent to the provider.")
    api_key_env: Variable = Field(
        "",
        description="Name of the variable that holds the API key. Empty: no key is ever taken from the "
        "environment by background work.",
    )
    auth_token_env: Variable = Field(
        "",
        description="Name of the variable that holds a token, which is sent as `Authorization: Bearer`, as "
        "gateways want it. Empty: none is taken.",
    )
    pass_env: Annotated[tuple[str, ...], BeforeValidator(as_list), AfterValidator(named_variables)] = Field(
        (),
        description="Variables of the shell that `claude -p` also gets, such as CLAUDE_CODE_USE_BEDROCK and "
        "`AWS_*` (a trailing `*` stands for any ending). `NAME=OTHER` gives it as NAME what the shell has as "
        "OTHER. No key, token or cloud switch else goes along.",
    )
    base_url: str = Field("", description="Any compatible Messages API; empty means Anthropic's own.")
    claude_path: str = Field("", description="The claude executable; empty means search for it.")
    timeout_seconds: Positive = Field(180, description="Hard limit for one call.")
    max_output_tokens: Count = Field(8000, description="Reply limit; a reply that reaches it is refused.")
    attempts: Count = Field(3, description="Tries for one call when the provider is overloaded.")


class SpendSettings(Section):
    """Caps on model calls; over a cap the work waits."""

    calls_per_run: Count = Field(20, description="Model calls one extraction or dream may make.")
    calls_per_hour: Count = Field(60, description="Model calls in any hour.")
    tokens_per_hour: Count = Field(400_000, description="Input and output tokens in any hour.")
    dollars_per_day: Annotated[float, Field(ge=0)] = Field(1.0, description="US dollars in any 24 hours.")


class ExtractionSettings(Section):
    """When and how dialogue becomes memories."""

    turn_interval_seconds: Positive = Field(120, description="Least time between two runs for one session.")
    conversation_gap_minutes: Positive = Field(60, description="Silence that ends a conversation.")
    min_conversation_messages: Count = Field(5, description="Shorter ones are read by turns.")
    window_chars: Count = Field(60_000, description="New dialogue in one model call, in characters.")
    context_chars: Count = Field(6_000, description="Most characters of earlier dialogue in one model call.")
    known_chars: Count = Field(8_000, description="Most characters of memories in full in one model call.")
    first_sight_days: Count = Field(7, description="Days of a long history extracted unasked.")
    first_sight_turns: Count = Field(30, description="Turns of a long history extracted unasked.")
    max_candidates: Count = Field(
        40, description="Memories taken from one reply; more where a person spoke more often."
    )
    newest_messages: Count = Field(
        0, description="Of what is unread, the last messages alone are read; what is older never. 0: all."
    )
    newest_chars: Count = Field(
        0, description="Of what is unread, the last characters alone are read; what is older never. 0: all."
    )
    attempts: Count = Field(3, description="Tries before a job is parked.")
    time_zone: Annotated[str, AfterValidator(known_zone)] = Field(
        TIME_ZONE,
        description="Zone whose days count (“tomorrow”, the diary, days shown), such as Europe/Berlin; empty"
        " means the machine's.",
    )
    include_print_sessions: bool = Field(False, description="Also read `claude -p` and SDK sessions.")


class StoreSettings(Section):
    """Limits of a memory folder."""

    index_lines: Count = Field(INDEX_LINES, description="Lines of MEMORY.md that Claude Code loads.")
    index_bytes: Count = Field(INDEX_BYTES, description="Bytes of MEMORY.md that Claude Code loads.")
    mode: Annotated[str, AfterValidator(known_mode)] = Field(
        MODES[-1],
        description="Background work: off: none; observe: only into the ledger; propose: into the inbox;"
        " auto: write. Commands you type run in any mode, and propose in mode propose.",
    )


class DreamSettings(Section):
    """When memories are consolidated, and how much one dream may touch."""

    enabled: bool = Field(True, description="Whether dreams run unasked.")
    interval_hours: Annotated[float, Field(ge=0)] = Field(24, description="Least time between two dreams.")
    scan_minutes: Annotated[float, Field(ge=0)] = Field(
        10, description="Least time between two counts of sessions."
    )
    sessions: Count = Field(5, description="Sessions since the last dream that make another worth while.")
    memories: Count = Field(0, description="Memories with which a store begins to dream; 0: any number.")
    generations: Count = Field(
        10, description="Earlier states of each kind kept for `reverie undo`; dreams also for 90 days."
    )
    retire_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.05, description="Most of the store that one dream may retire; one memory is always allowed."
    )
    max_cluster: Count = Field(12, description="Memories shown together in one model call.")
    max_clusters: Count = Field(
        8, description="Groups of memories in one dream; each takes one model call, or two."
    )
    cluster_chars: Count = Field(24_000, description="Memories in one model call, in characters.")
    cues: bool = Field(True, description="Whether dreams ask for phrases by which older memories are found.")
    procedures: bool = Field(
        True,
        description="Whether dreams propose procedures from commands that came back in several sessions.",
    )
    learning_days: Count = Field(90, description="Days without use that retire a learning.")
    task_days: Count = Field(30, description="Days after which a finished task is retired.")
    projects: Annotated[tuple[str, ...], BeforeValidator(as_list)] = Field(
        (),
        description="Tags that name projects, for the patterns across projects in REFLECTION.md. Empty: the"
        " projects whose memory folders are known.",
    )
    edges: Count = Field(
        0, description="Relations that one dream may add by what memories of a group share; 0: none."
    )


class RecallSettings(Section):
    """Which memories are put before the next prompt, and how many."""

    enabled: bool = Field(
        DEFAULTS["enabled"], description="Whether memories are put before prompts and sessions."
    )
    memories: Count = Field(DEFAULTS["memories"], description="Most memories before one prompt.")
    prompt_chars: Count = Field(
        DEFAULTS["prompt_chars"],
        description="Characters before one prompt, frame included; Claude Code takes 10,000.",
    )
    session_chars: Count = Field(
        DEFAULTS["session_chars"],
        description="Characters before all prompts of a session, counted anew after a compaction.",
    )
    floor: Annotated[float, Field(ge=0)] = Field(
        DEFAULTS["floor"],
        description="How sure recall must be: with 0.5 it speaks about twice as often as with 1, with 2 only"
        " when very sure. `reverie recall QUERY --explain` tells the floor that it makes, and each score.",
    )
    before_tools: bool = Field(DEFAULTS["before_tools"], description="Show rules before tools are used.")
    user_scope: bool = Field(
        DEFAULTS["user_scope"], description="Also take from the memories meant for all projects."
    )
    session_start: bool = Field(
        DEFAULTS["session_start"], description="Tell a new session what changed and what waits."
    )
    session_start_tokens: Count = Field(
        DEFAULTS["session_start_tokens"], description="Tokens at the start of a session, estimated."
    )
    show_news: bool = Field(
        DEFAULTS["show_news"],
        description="Show you a line at a session's start when something was learned, waits or is broken.",
    )
    show_names: bool = Field(
        DEFAULTS["show_names"], description="Show you the names of what is put before a prompt."
    )
    model_selection: bool = Field(
        DEFAULTS["model_selection"],
        description="Let a model choose memories for the next prompt after each reply; costs a call.",
    )


class EmbeddingSettings(Section):
    """Vectors of memories, for `reverie recall`, `reverie search` and the dream's groups; never for hooks."""

    provider: Literal["off", "auto", "wordllama", "ollama", "openai"] = Field(
        "off",
        description="Who makes vectors. wordllama: in this process (extra `semantic`); ollama: a server, by"
        " default on this machine; openai: any server with that interface; auto: the first that is there.",
    )
    ollama_url: str = Field("http://localhost:11434", description="Where Ollama answers.")
    ollama_model: str = Field(
        "", description="Empty: what the store's `_config.json` says, else nomic-embed-text."
    )
    openai_base_url: str = Field(
        "", description="A server with OpenAI's interface, with its /v1; empty means OpenAI's own."
    )
    openai_model: str = Field(
        "", description="Empty: what the store's `_config.json` says, else text-embedding-3-small."
    )
    openai_key_env: Variable = Field(
        "",
        description="Name of the variable that holds the key. Else `reverie config embeddings --openai-key -`"
        " keeps one. A key in `_config.json` is never used.",
    )


class GraphSettings(Section):
    """Named graphs: NAME = "DIR", a memory folder that `--graph NAME` means. `reverie graphs` lists them."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, str]


class AgentMemorySettings(Section):
    """Agent-memory's JSONL files, which `reverie agent-memory` keeps."""

    folder: str = Field(
        "",
        description="Where the files are. Empty: agents/memories in Claude Code's folder. MEMORY_DIR of your"
        " shell stands above it.",
    )
    mirror: str = Field(
        "",
        description="The memories that are kept the same there after each run: user, the name of a graph, or"
        " a memory folder. Empty: none.",
    )


class DialogueSettings(Section):
    """What was said, as the ledger keeps it to read memories from."""

    keep_days: Literal["auto", "forever"] | Annotated[int, Field(ge=1)] = Field(
        "auto",
        description="Days after a session's last word that what was read of it stays in the ledger. auto: "
        "as long as Claude Code keeps transcripts (its cleanupPeriodDays, else 30) and 30 more. forever: "
        "always.",
    )


class ProjectSettings(Section):
    """Which projects are read and recalled into. A file `.reverie-ignore` in one leaves it out as well."""

    only: Annotated[tuple[str, ...], BeforeValidator(as_folders)] = Field(
        (), description="Folders or patterns (`~/clients/*`): no project but in these. Empty: all."
    )
    ignore: Annotated[tuple[str, ...], BeforeValidator(as_folders)] = Field(
        (), description="Folders or patterns whose projects are neither read nor recalled into."
    )


class NetworkSettings(Section):
    """The way out of this machine, for background work and for commands: no variable of a session counts."""

    proxy: str = Field("", description="Address of a proxy, such as http://proxy.example:3128. Empty: none.")
    no_proxy: str = Field("", description="Hosts that are asked without it, parted by commas.")
    ca_file: str = Field(
        "", description="A file with the certificates to trust, in PEM. Empty: the usual ones."
    )


class WorkerSettings(Section):
    """The background process."""

    own_environment: bool = Field(
        True,
        description="Whether the plugin may install its packages into an environment under Reverie's home"
        " where no Python has them.",
    )
    linger_seconds: Count = Field(150, description="Longest wait for a job that is nearly due.")
    lease_seconds: Positive = Field(300, description="How long a claimed job stays ours without a heartbeat.")
    flush_wait_seconds: Annotated[float, Field(ge=0)] = Field(
        3.0, description="Longest wait for the transcript to show the reply that Stop announced."
    )


class SyncSettings(Section):
    """One person's memories on several machines, which `reverie sync init` begins."""

    minutes: Annotated[float, Field(ge=0)] = Field(
        5.0,
        description="Least minutes between two syncs of the background worker, after a change and before a"
        " session; a fifth where a session begins, none where it ends and something waits. 0: only"
        " `reverie sync` syncs.",
    )


class TeamSettings(Section):
    """What a project that is in a team (`reverie team`) gives to it."""

    share: Literal["ask", "auto", "off"] = Field(
        "ask",
        description="What is shared beside what you share by name. ask: one inbox entry a day with all that"
        " the team has not. auto: all of it but feedback, guesses of Claude's and what reads like an"
        " instruction. off: nothing. What is about you yourself never is.",
    )
    share_quotes: bool = Field(
        False,
        description="Whether the words that you or Claude said, by which a memory is held, go along with each"
        " that is shared from then on, with the day and who said them. Whoever is in the team reads them.",
    )


class Settings(Section):
    """All settings."""

    model: ModelSettings = Field(default_factory=ModelSettings.model_construct)
    spend: SpendSettings = Field(default_factory=SpendSettings.model_construct)
    extraction: ExtractionSettings = Field(default_factory=ExtractionSettings.model_construct)
    store: StoreSettings = Field(default_factory=StoreSettings.model_construct)
    network: NetworkSettings = Field(default_factory=NetworkSettings.model_construct)
    worker: WorkerSettings = Field(default_factory=WorkerSettings.model_construct)
    dialogue: DialogueSettings = Field(default_factory=DialogueSettings.model_construct)
    projects: ProjectSettings = Field(default_factory=ProjectSettings.model_construct)
    dream: DreamSettings = Field(default_factory=DreamSettings.model_construct)
    recall: RecallSettings = Field(default_factory=RecallSettings.model_construct)
    embeddings: EmbeddingSettings = Field(default_factory=EmbeddingSettings.model_construct)
    graphs: GraphSettings = Field(default_factory=GraphSettings.model_construct)
    sync: SyncSettings = Field(default_factory=SyncSettings.model_construct)
    team: TeamSettings = Field(default_factory=TeamSettings.model_construct)
    agent_memory: AgentMemorySettings = Field(default_factory=AgentMemorySettings.model_construct)


_untouched = cache(Settings.model_construct)


def validated(given: Given) -> Settings:
    """Return what was given as settings. Raises ConfigError naming file and key."""
    try:
        return _validated(given.values)
    except ValidationError as error:
        raise _error_of(given.file, given.named, error) from error


def _validated(values: dict[str, Any]) -> Settings:
    """Return `values` as settings; a section that nobody set costs nothing. Raises ValidationError."""
    whole = dict(_untouched())
    with suppress(KeyError, ValidationError):
        given = {name: type(whole[name]).model_validate(value) for name, value in values.items()}
        return Settings.model_construct({*given}, **(whole | given))
    return Settings.model_validate(values)  # which names the section in its errors


def problem(values: dict[str, Any], file: Path) -> ConfigError | None:
    """Return why `values`, read from `file`, are no settings; None when they are."""
    try:
        Settings.model_validate(values)
    except ValidationError as error:
        return _error_of(file, {}, error)
    return None


def usable(values: dict[str, Any]) -> Settings:
    """Return `values` as far as they are settings; what is not counts as `load_or_defaults` says."""
    while True:
        try:
            return Settings.model_validate(values)
        except ValidationError as error:
            for found in error.errors():
                section, key = str(found["loc"][0]), str((*found["loc"], "")[1])
                if (section, key) == ("store", "mode"):
                    values[section][key] = MODES[0]
                elif key and isinstance(values.get(section), dict):
                    values[section].pop(key, None)
                else:
                    values.pop(section, None)


def _error_of(file: Path, named: dict[str, str], error: ValidationError) -> ConfigError:
    from pipeline.safety.redaction import redact

    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"][:2])
    # A value that may be of several kinds has an error for each.
    reasons = [found["msg"] for found in error.errors() if found["loc"][:2] == first["loc"][:2]]
    extra = first["type"] == "extra_forbidden"
    # What was refused may be a secret in the wrong place, and this goes into logs.
    return ConfigError(
        redact(f"{key}: {_unknown(key) if extra else ', or: '.join(reasons)}").text,
        file=f"${named[key]}" if key in named else str(file),
        line=None if key in named else line_of(file, *first["loc"][:2]),
        fix=first.get("ctx", {}).get("fix", "`reverie config` lists every key and its default."),
    )


def _unknown(key: str) -> str:
    section, _, name = key.partition(".")
    field = Settings.model_fields.get(section)
    kind = field.annotation if field else None
    known = kind.model_fields if isinstance(kind, type) and issubclass(kind, BaseModel) else {}
    near = get_close_matches(name or section, known if name else Settings.model_fields, n=1)
    return f"there is no such key{f' (did you mean {near[0]}?)' if near else ''}"
