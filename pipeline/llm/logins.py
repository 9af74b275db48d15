"""Keys, tokens and cloud switches of a person's own shell: which are seen, which may be used, what to say.

Background work runs where a hook or a scheduler started it, so what is exported there may be there by chance.
None of it is used until a setting names it: ``model.pass_env`` (for ``claude -p``), ``model.api_key_env`` or
``model.auth_token_env``. What was seen and not used is said, with the one line that allows it.

What the ``env`` block of the client's settings sets is the client's own: it hands that to its hooks, a shell
does not have it, and every ``claude -p`` takes it by itself. So it is neither seen nor passed on, and hooks
and a shell come to the same line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core.errors import UnauthorisedError
from pipeline.hooklib import claude_settings, places
from pipeline.hooklib.digests import sha256
from pipeline.hooklib.jsonish import decode, loads
from pipeline.llm import error_phrases
from pipeline.record import record
from pipeline.safety.late import late

if TYPE_CHECKING:
    from pipeline.config import ModelSettings

OWN_URL = "https://api.anthropic.com"
KEY = "ANTHROPIC_API_KEY"
TOKEN = "ANTHROPIC_AUTH_TOKEN"
URL = "ANTHROPIC_BASE_URL"
NOT_USED = "Reverie uses no key, token or cloud account of the shell unasked"
LOG_IN = "Run `claude` and log in with /login."
OAUTH = "CLAUDE_CODE_OAUTH_TOKEN"
_COPY = "REVERIE_OAUTH_TOKEN"
SEEN = "REVERIE_SEEN"
"""Set for a worker: the names of the logins that its hook had and did not hand on."""
HIDDEN = f"Claude Code keeps {OAUTH} from hooks, and so from background work"
_GATEWAY = (URL, "ANTHROPIC_CUSTOM_HEADERS")
_MODELS = ("ANTHROPIC_DEFAULT_*_MODEL",)
_AWS = ("AWS_*", "ANTHROPIC_BEDROCK_*", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", *_MODELS)
_GOOGLE = ("CLOUD_ML_REGION", "ANTHROPIC_VERTEX_*", "VERTEX_REGION_*", "GOOGLE_*", "GCLOUD_PROJECT")
_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("CLAUDE_CODE_USE_BEDROCK", _AWS),
    ("CLAUDE_CODE_USE_VERTEX", (*_GOOGLE, "CLAUDE_CODE_SKIP_VERTEX_AUTH", *_MODELS)),
    (
        "CLAUDE_CODE_USE_FOUNDRY",
        ("ANTHROPIC_FOUNDRY_*", "AZURE_*", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH", *_MODELS),
    ),
    (TOKEN, _GATEWAY),
    (KEY, _GATEWAY),
    (OAUTH, ()),
)
"""What switches a login on, and the variables that go with it, in the order in which the client looks."""
_SWITCH = "CLAUDE_CODE_USE_"
_CLOUD = tuple(f"{_SWITCH}{name}" for name in ("BEDROCK", "VERTEX", "FOUNDRY", "MANTLE", "ANTHROPIC_"))
_SECRET = late(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|HEADERS|BASE_URL")
_MOST_BYTES = 16 << 20
COPY_LINE = f'pass_env = ["{OAUTH}={_COPY}"]'
COPYING = f'export {_COPY}="${OAUTH}" beside it (Claude Code keeps {OAUTH} itself from hooks)'


@record
class Login:
    """A way to a model that the environment offers: its switch, all names seen, the line that allows it."""

    switch: str
    seen: tuple[str, ...]
    line: str


def passed(settings: ModelSettings) -> dict[str, str]:
    """Return the variables of this process that ``model.pass_env`` gives to ``claude -p``, by its names."""
    found: dict[str, str] = {}
    for entry in settings.pass_env:
        name, renamed, ours = entry.partition("=")
        if renamed:
            found |= {name: os.environ[ours]} if os.environ.get(ours) else {}
        else:
            found |= {known: os.environ[known] for known in _set(os.environ, name)}
    return found


def key(settings: ModelSettings) -> str:
    """Return the API key that the settings name, "" when they name none or it is not set."""
    named = settings.api_key_env
    return os.environ.get(named, "") if named and named != TOKEN else ""


def token(settings: ModelSettings) -> str:
    """Return the token that the settings name, "" when they name none or it is not set.

    ``ANTHROPIC_AUTH_TOKEN`` holds a token whatever setting names it: as a key no gateway would take it.
    """
    named = settings.auth_token_env or (TOKEN if settings.api_key_env == TOKEN else "")
    return os.environ.get(named, "") if named else ""


def secrets(settings: ModelSettings) -> list[str]:
    """Return what the settings let a call have that may be shown and written nowhere."""
    given = [value for name, value in passed(settings).items() if _SECRET.search(name)]
    return [value for value in (key(settings), token(settings), *given) if value]


def unused(settings: ModelSettings, *, client: bool = True) -> list[Login]:
    """Return the logins in this process's environment that no setting allows.

    Without a `client`, only those that the Messages API takes.
    """
    own, given = _clients_own(), passed(settings)
    there = dict.fromkeys(os.environ.get(SEEN, "").split(), "set") | dict(os.environ)
    variables = {name: value for name, value in there.items() if name not in own}
    found = []
    for switch, companions in _KINDS:
        taken = switch in given or switch in (settings.api_key_env, settings.auth_token_env)
        if taken or not _is_on(switch, variables) or not (client or switch in (KEY, TOKEN)):
            continue
        names = [pattern for pattern in companions if _set(variables, pattern)]
        seen = sorted({switch, *(name for pattern in names for name in _set(variables, pattern))})
        found.append(Login(switch, tuple(seen), _line(switch, names, settings, client=client)))
    return found


def lacking(settings: ModelSettings) -> list[str]:
    """Return the variables that a setting names and that this process does not have."""
    own = _clients_own()
    entries = [entry for entry in settings.pass_env if entry.partition("=")[0] not in own]
    named = [entry.rpartition("=")[2] for entry in entries if "*" not in entry]
    named += [name for name in (settings.api_key_env, settings.auth_token_env) if name]
    return [name for name in dict.fromkeys(named) if not os.environ.get(name)]


def hidden(settings: ModelSettings) -> bool:
    """Whether ``model.pass_env`` names the token that Claude Code keeps from hooks, and so from workers."""
    return OAUTH in settings.pass_env


def used(settings: ModelSettings) -> list[str]:
    """Return the variables of a login that this process has and a setting allows."""
    given = passed(settings)
    named = [
        name for name in (settings.api_key_env, settings.auth_token_env) if name and os.environ.get(name)
    ]
    return list(dict.fromkeys([*named, *(switch for switch, _ in _KINDS if _is_on(switch, given))]))


def has_own_login() -> bool:
    """Whether the client seems to have a login of its own: it left one, or its settings name one.

    Only files are looked at, and only for whether something is there. A login that the system's keychain
    holds shows in the account that ``.claude.json`` names.
    """
    config = Path(places.config_dir())
    if (config / ".credentials.json").is_file():
        return True
    own = _clients_own()
    in_settings = any(_is_on(switch, own) for switch, _ in _KINDS)
    if in_settings or claude_settings.setting(claude_settings.user_file(), "apiKeyHelper"):
        return True
    beside = config if os.environ.get("CLAUDE_CONFIG_DIR") else config.parent
    try:
        state = loads(decode(places.read_file(str(beside / ".claude.json"), _MOST_BYTES)))
    except (OSError, ValueError):
        return False
    return isinstance(state, dict) and bool(state.get("oauthAccount") or state.get("primaryApiKey"))


def stamp(settings: ModelSettings) -> str:
    """Return what tells the settings and logins there are now from others, as hex: no secret is in it.

    Of the client's own files it goes by when they were written and how long they are.
    """
    parts: list[object] = [json.dumps(settings.model_dump()), lacking(settings), has_own_login()]
    for file in (Path(claude_settings.user_file()), Path(places.config_dir()) / ".credentials.json"):
        try:
            found = file.stat()
        except OSError:
            parts.append(None)
        else:
            parts.append((found.st_mtime_ns, found.st_size))
    return sha256(repr(parts).encode("utf-8", "replace"))[:16]


def names_models_itself(environ: Mapping[str, str]) -> bool:
    """Whether a client run with `environ` asks a cloud, or a gateway whose models it was told the names of.

    There Anthropic's own names mean nothing, and the client's aliases do. Elsewhere an alias would be another
    model than the one that was named.
    """
    for variables in (environ, _clients_own()):
        if any(_is_on(name, variables) for name in variables if name.startswith(_CLOUD)):
            return True
        if any(variables[name] for name in variables if fnmatchcase(name, _MODELS[0])):
            return True
    return False


def passed_by(settings: ModelSettings) -> str:
    """Return the address that the client is told to ask, and a call with a key or token of ours does not.

    "" when there is none, or when ``model.base_url`` says which address is asked.
    """
    if settings.base_url or not (key(settings) or token(settings)):
        return ""
    address = _gateway()
    return "" if address.rstrip("/") == OWN_URL else address


def how_to_stay_with(address: str, settings: ModelSettings, config: Path) -> str:
    """Return the sentence with the line that makes calls go by the client's gateway, at `address`."""
    sentence = f"Write base_url = {json.dumps(address)} under [model] in {config}"
    if settings.provider == "anthropic":
        return f"{sentence}."
    name = settings.api_key_env if key(settings) else settings.auth_token_env or TOKEN
    switch = KEY if key(settings) else TOKEN
    given = [switch if name == switch else f"{switch}={name}", *([] if URL in _clients_own() else [URL])]
    return f"{sentence}, or pass_env = {json.dumps(given)} in place of {name}: then `claude -p` asks."


def in_words(logins: Iterable[Login]) -> str:
    """Return the names that were seen, as the beginning of a sentence; "" when there are none."""
    names = list(dict.fromkeys(name for login in logins for name in login.seen))
    if not names:
        return ""
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} set here"


def how_to_allow(login: Login, config: Path) -> str:
    """Return the sentence with the one line that lets `login` through."""
    sentence = f"To use it, write under [model] in {config}: {login.line}"
    return f"{sentence}, and {COPYING}" if login.switch == OAUTH else sentence


def explained(error: UnauthorisedError, settings: ModelSettings, config: Path) -> UnauthorisedError:
    """Return `error` of ``claude -p`` with what the environment has to do with it.

    A login that no setting allows is named with the line that allows it, in `config`; one that was used is
    named as what was refused; one that a setting names and that is missing is named as missing.
    """
    text = str(error).rstrip(".")
    offered, given, missing = unused(settings), used(settings), lacking(settings)
    if given:
        address = f" at {settings.base_url}" if settings.base_url else ""
        return UnauthorisedError(
            f"{text}. It was asked with {', '.join(given)}{address}, which was not accepted.",
            fix=f"Check what {', '.join(given)} holds; nothing is learned until then.",
        )
    if offered:
        start = "claude has no login of its own here" if error_phrases.is_logged_out(text) else text
        return UnauthorisedError(
            f"{start}. {in_words(offered)}, but {NOT_USED}.",
            fix=f"{how_to_allow(offered[0], config)}. Or run `claude` and log in with /login.",
        )
    if missing:
        start = "claude has no login of its own here" if error_phrases.is_logged_out(text) else text
        way = "Export it where Claude Code starts (no scheduler has it), or log in with /login."
        return UnauthorisedError(
            f"{start}, and {', '.join(missing)}, which config.toml names, is not set where this ran.",
            fix=f"{HIDDEN}. Write {COPY_LINE} instead, and {COPYING}." if missing == [OAUTH] else way,
        )
    way = (
        f"{LOG_IN} If {OAUTH} of your shell is your login, write {COPY_LINE} under [model] in {config}, and"
        f" {COPYING}."
    )
    return UnauthorisedError(
        f"{text}.", fix=way if error_phrases.is_logged_out(text) else error.fix or LOG_IN
    )


def _clients_own() -> dict[str, object]:
    """Return the variables that the client's settings set for it, wherever it is started."""
    env = claude_settings.setting(claude_settings.user_file(), "env")
    return env if isinstance(env, dict) else {}


def _gateway() -> str:
    """Return the address that the client asks in place of Anthropic's own, "" for none."""
    return str(_clients_own().get(URL) or os.environ.get(URL) or "")


def _is_on(switch: str, variables: Mapping[str, object]) -> bool:
    value = str(variables.get(switch) or "")
    return bool(value) and not (switch.startswith(_SWITCH) and value.lower() in ("0", "false", "no", "off"))


def _set(variables: Mapping[str, str], pattern: str) -> list[str]:
    return [name for name, value in variables.items() if value and fnmatchcase(name, pattern)]


def _line(switch: str, companions: list[str], settings: ModelSettings, *, client: bool) -> str:
    """Return the line of config.toml that allows a login, and with it what it needs."""
    if not client:
        from pipeline.safety.redaction import redact

        name = "api_key_env" if switch == KEY else "auth_token_env"
        address = f" and base_url = {json.dumps(redact(_gateway()).text)}" if _gateway() else ""
        return f'{name} = "{switch}"{address}'
    # A key alone makes Reverie ask Anthropic's own address, and so pass by a gateway the client is told of.
    if switch == KEY and not companions and not any(_clients_own().get(name) for name in _GATEWAY):
        return f'api_key_env = "{KEY}"'
    first = f"{OAUTH}={_COPY}" if switch == OAUTH else switch
    return f"pass_env = {json.dumps(list(dict.fromkeys([*settings.pass_env, first, *companions])))}"
