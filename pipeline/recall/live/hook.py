"""The two hooks that a person waits for: what to print for an event, given its bytes.

Nothing here opens the ledger, drains the spool, calls a model or waits for anybody.
"""

import os

from pipeline.hooklib import events, home_files, jsonish, projects, settings, times, zone
from pipeline.hooklib.ownership import project_of
from pipeline.hooklib.settings import MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pipeline.recall.live.session_file import Given
    from pipeline.recall.live.values import Recollections

SILENT_MODES = MODES[:2]
PLUGIN = "CLAUDE_PLUGIN_ROOT"
"""Set by Claude Code for the hooks of a plugin."""


def run(event: str, data: bytes, home: str, problems: "list[str] | None" = None) -> str:
    """Return what the hook for `event` prints when it is given `data`: one line of JSON, or "" for nothing.

    `problems` gets a line for each thing that could not be used, for the hook's log.
    """
    log_lines = [] if problems is None else problems
    if event not in events.ANSWERED or os.environ.get(events.SENTINEL):
        return ""
    fields = payload(data)
    if not fields or fields.get("agent_id"):
        return ""
    values = settings.hook_settings(home, log_lines)
    if values["mode"] == MODES[0]:
        return ""
    values["enabled"] = values["enabled"] and values["mode"] not in SILENT_MODES
    cwd = _text(fields, "cwd")
    if cwd and projects.why_ignored(cwd, values["only"], values["ignore"]):
        return ""
    name = values["time_zone"]
    if not zone.use(name, home):
        log_lines.append(f"extraction.time_zone: there is no zone {name!r}; days are the machine's")
    if event == events.TOOL:
        return _printed(event, *_at_tool(fields, home, values, log_lines))
    begins = event == events.SESSION_START
    return _printed(event, *(_at_start if begins else _at_prompt)(fields, home, values, log_lines))


def _printed(event: str, text: str, line: str) -> str:
    """Return what gives the model `text` and shows the person `line`, either of which may be empty."""
    answer: dict[str, Any] = {"systemMessage": line} if line else {}
    if text:
        answer["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": text}
    return jsonish.dumps(answer) + "\n" if answer else ""


def payload(data: bytes) -> "dict[str, Any]":
    """Return the object in `data`, {} when there is none: an event we can't read is no reason to speak."""
    try:
        value = jsonish.loads(jsonish.decode(data))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _at_start(
    fields: "dict[str, Any]", home: str, values: "dict[str, Any]", problems: "list[str]"
) -> "tuple[str, str]":
    try:
        return _started(fields, home, values, problems)
    except OSError as error:
        if not values["show_news"]:
            raise
        from pipeline.recall.live import person

        return "", person.unusable(home, error)


def _started(
    fields: "dict[str, Any]", home: str, values: "dict[str, Any]", problems: "list[str]"
) -> "tuple[str, str]":
    from pipeline.recall.live import session_file

    now = times.now()
    source, session = _text(fields, "source"), _text(fields, "session_id")
    if not session_file.is_first_start(home, session, source, now):
        return "", ""  # settings and plugin are both there, and the other one answers
    if (values["enabled"] and values["session_start"]) or values["show_news"]:
        from pipeline.recall.live.session_start import session_start

        return session_start(fields, home, now, values, problems, plugin=bool(os.environ.get(PLUGIN)))
    if values["enabled"] and source != "resume":
        # The context is new all the same, so what it was given before may be given again.
        session_file.reset(home, session, source or "unknown", now)
    return "", ""


def _at_prompt(
    fields: "dict[str, Any]", home: str, values: "dict[str, Any]", problems: "list[str]"
) -> "tuple[str, str]":
    items: list[dict[str, Any]] = []
    session = _Session(home, _text(fields, "session_id"))
    text, line = _recalled(fields, session, values, problems, items)
    if not (values["enabled"] and os.path.isdir(f"{home}/{home_files.SHARING}")):
        return text, line  # In step with nobody, as most homes are.
    more, names = _meanwhile(fields, session, values, items)
    return "\n".join(filter(None, [text, more])), "\n".join(filter(None, [line, names]))


class _Session:
    """The session of a prompt: its file is read at the first question, once."""

    __slots__ = ("_given", "home", "name")

    def __init__(self, home: str, name: str) -> None:
        self.home = home
        self.name = name
        self._given: Given | None = None

    def given(self) -> "Given":
        """Return what it was given, with what was put in since by `session_file.append`."""
        if self._given is None:
            from pipeline.recall.live import session_file

            self._given = session_file.read(self.home, self.name)
        return self._given


def _meanwhile(
    fields: "dict[str, Any]", session: _Session, values: "dict[str, Any]", items: "list[dict[str, Any]]"
) -> "tuple[str, str]":
    """Return what came from others since the session began, without the memories in `items`."""
    from pipeline.recall.live import meanwhile, person, session_file
    from pipeline.recall.live.values import Recollections

    home, cwd = session.home, _text(fields, "cwd")
    root, store = project_of(cwd) if cwd else ("", "")
    user_store = f"{home}/{home_files.USER_STORE}" if values["user_scope"] else ""
    given = session.given()
    now = times.now()
    room = values["session_chars"] - given.chars
    recalled = {(item["store"], item["name"]) for item in items}
    found = meanwhile.heard(home, session.name, (root, store, user_store), given, room, recalled)
    if not found.until:
        return "", ""
    news = Recollections([], found.text, 0, [], found.chars, [])
    line = {**_sent(news, events.PROMPT, store, cwd, "", now), "heard": found.until}
    if not session_file.append(home, session.name, line, given):
        return "", ""
    shown = person.meanwhile(home, store, found.names, found.until, now) if values["show_names"] else ""
    return found.text, shown


def _recalled(
    fields: "dict[str, Any]",
    session: _Session,
    values: "dict[str, Any]",
    problems: "list[str]",
    items: "list[dict[str, Any]]",
) -> "tuple[str, str]":
    """Return what is recalled for the prompt and the line that names it; `items` gets what was chosen."""
    from pipeline.recall.live.question import FEW_TERMS, parse_question

    prompt, cwd = _text(fields, "prompt"), _text(fields, "cwd")
    own = parse_question(prompt, cwd=cwd).own if values["enabled"] and cwd else []
    if not own:
        return "", ""  # Said before anything is opened: most prompts that ask for nothing end here.
    from pipeline.recall.live import retrieval, session_file
    from pipeline.recall.live.values import Budget

    home, (root, store) = session.home, project_of(cwd)
    user_store = f"{home}/{home_files.USER_STORE}" if values["user_scope"] else ""
    if not (store or user_store):
        return "", ""
    transcript, given = _text(fields, "transcript_path"), session.given()
    now = times.now()
    recollections = retrieval.retrieve(
        prompt,
        store or user_store,
        Budget(
            memories=values["memories"],
            chars=values["prompt_chars"],
            session_chars_left=values["session_chars"] - given.chars,
            floor=values["floor"],
        ),
        home=home,
        user_store=user_store,
        session=session.name,
        context=_before(transcript) if len(own) < FEW_TERMS else "",
        earlier=lambda: _unread(home, session.name, transcript),
        sent=given.sent,
        picks=session_file.picks(home, session.name, store),
        now=now,
        root=root,
    )
    problems.extend(recollections.problems)
    if not recollections.items:
        return "", ""
    line = _sent(recollections, events.PROMPT, store, cwd, _checksum(prompt), now)
    if not session_file.append(home, session.name, line, given):
        return "", ""
    items += line["items"]
    return recollections.text, _names(home, values, [item.name for item in recollections.items], now)


def _at_tool(
    fields: "dict[str, Any]", home: str, values: "dict[str, Any]", problems: "list[str]"
) -> "tuple[str, str]":
    cwd = _text(fields, "cwd")
    if not (values["enabled"] and values["before_tools"] and cwd):
        return "", ""
    from pipeline.recall.live import before_tool

    root, store = project_of(cwd)
    doing = before_tool.doing_of(_text(fields, "tool_name"), fields.get("tool_input"), cwd, root)
    keys = doing.lookup_keys() if doing else []
    user_store = f"{home}/{home_files.USER_STORE}" if values["user_scope"] else ""
    if not doing or not keys or not values["memories"]:
        return "", ""
    stores = [(user_store, True)] if user_store else []
    met = before_tool.rules_met(doing, keys, home, [*stores, *([(store, False)] if store else [])], problems)
    met = [rule for rule in met if rule[1] >= before_tool.FLOOR * values["floor"]]
    if not met:
        return "", ""  # Said before the session's file is read: most uses of tools end here.
    from pipeline.recall.live import retrieval, session_file
    from pipeline.recall.live.values import Budget

    session = _text(fields, "session_id")
    given = session_file.read(home, session)
    now = times.now()
    limits = Budget(
        memories=min(before_tool.MOST, values["memories"]),
        chars=values["prompt_chars"],
        session_chars_left=values["session_chars"] - given.chars,
    )
    transcript = _text(fields, "transcript_path")
    recollections = retrieval.of_rules(
        met,
        limits,
        session,
        given.sent,
        now,
        root,
        home=home,
        earlier=lambda: _unread(home, session, transcript),
    )
    problems.extend(recollections.problems)
    if not recollections.items:
        return "", ""
    line = _sent(recollections, events.TOOL, store, cwd, "", now)
    if not session_file.append(home, session, line, given):
        return "", ""
    return recollections.text, _names(home, values, [item.name for item in recollections.items], now)


def _before(transcript: str) -> str:
    from pipeline.recall.live import spoken

    return spoken.before(transcript)


def _unread(home: str, session: str, transcript: str) -> "list[tuple[float, str]]":
    from pipeline.recall.live import spoken  # Only a prompt with a memory to tell comes here.

    return spoken.unread(home, session, transcript)


def _sent(
    recollections: "Recollections", hook: str, store: str, cwd: str, checksum: str, now: float
) -> "dict[str, Any]":
    """Return the line of the session's file that tells what `hook` put into the context."""
    return {
        "k": "sent",
        "at": round(now, 3),
        "hook": hook,
        "cwd": cwd,
        "store": store,
        "chars": recollections.chars,
        "tokens": recollections.tokens,
        "left_out": recollections.left_out,
        "prompt": checksum,
        "items": [item.as_item() for item in recollections.items],
    }


def _names(home: str, values: "dict[str, Any]", names: "list[str]", now: float) -> str:
    if not values["show_names"]:
        return ""
    from pipeline.recall.live import person

    return person.with_prompt(home, names, now)


def _text(fields: "dict[str, Any]", name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _checksum(prompt: str) -> str:
    """Return eight digits that tell whether two lines are about the same prompt, and nothing of its text."""
    from binascii import crc32

    return f"{crc32(prompt.encode('utf-8', 'surrogatepass')):08x}"
