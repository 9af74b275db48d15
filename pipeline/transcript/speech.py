"""Which words in a record a person, or the assistant, really said.

About one "user" line in fifty is a person's; the rest carry tool results, hook output, notices and
summaries. Sources: claude-code-contract §3.4-3.5, real-material §3, and the client's own phrases.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

from pipeline.hooklib.host_commands import is_steering, split_command
from pipeline.safety.late import late
from pipeline.transcript import client_texts, dialogs
from pipeline.transcript.dialogs import Dialogs, Said

_COMMAND = late(r"<command-(?:name|message)>")
_COMMAND_NAME = late(r"<command-name>\s*/?([^<\s]+)\s*</command-name>")
_ARGUMENTS = late(r"<command-args>(.*)</command-args>", re.DOTALL)
_REMEMBER = late(r"<user-memory-input>(.*)</user-memory-input>", re.DOTALL)
_PLACEHOLDER = late(r"\[Image #\d+\]")
_IMAGE = "[image]"
_TAKES_UP = frozenset({None, "human", "auto-continuation"})
"""Whose prompt may carry out a plan: nobody else's message approves one by its wording."""
_NOT_TYPED = "internal"
"""What ``userType`` says of rows that a program made up; the client itself only writes ``external``."""
_MEDIA = {"image": _IMAGE, "document": "[document]"}


def _command(text: str) -> str:
    """Return a slash command as it was typed, "" for one that only steers the host."""
    found, given = _COMMAND_NAME.search(text), _ARGUMENTS.search(text)
    if not found:
        return given.group(1).strip() if given else ""
    name, arguments = found.group(1), given.group(1).strip() if given else ""
    # The host writes the name first for what it does itself, the message for what goes to the assistant.
    if is_steering(name, arguments, ran_in_host=text.startswith("<command-name>")):
        return ""
    return f"/{name} {arguments}".strip()


def clean(text: str, *, human: bool = False) -> Said:
    """Return the person's own words in a prompt, empty when the client wrote it, and their channel.

    `human` says that the record itself calls them a person's.
    """
    text = client_texts.persons_text(text, human=human)
    if _COMMAND.match(text):
        return Said("slash", _command(text))
    remembered = _REMEMBER.fullmatch(text)
    return Said("typed", remembered.group(1).strip() if remembered else text)


def _clean_queued(text: str, *, human: bool = False) -> Said:
    """Return the words of a queued prompt, which holds a slash command as it was typed."""
    words = clean(text, human=human).text
    command = split_command(words)
    # With arguments, a name that the host shares with other words may begin a sentence.
    steers = command is not None and is_steering(*command, ran_in_host=not command[1])
    return Said("queued", "" if steers else words)


def content_of(record: dict[str, Any], role: str) -> list[Any]:
    """Return the content blocks (dicts or bare strings) of a record's message, none if the role is another.

    A message may be a JSON text holding the object; content may be text, a list, or nothing useful.
    """
    message = record.get("message")
    if isinstance(message, str) and message.startswith("{"):
        try:
            message = orjson.loads(message)
        except ValueError:
            return []
    if not isinstance(message, dict) or message.get("role", role) != role:
        return []
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return content if isinstance(content, list) else []


def text_of(block: Any) -> str:
    """Return the text of a text block or a bare string, else an empty string."""
    if isinstance(block, str):
        return block
    if isinstance(block, dict) and block.get("type") == "text":
        text = block.get("text")
        return text if isinstance(text, str) else ""
    return ""


def _media_of(block: Any) -> str:
    """Return what stands for an image or a document, "" for any other block."""
    kind = block.get("type") if isinstance(block, dict) else None
    return _MEDIA.get(kind, "") if isinstance(kind, str) else ""


def origin_of(record: dict[str, Any]) -> str | None:
    """Return ``origin.kind``, or None when the record does not say."""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return kind if isinstance(kind, str) else None


def _is_of_session(record: dict[str, Any]) -> bool:
    """Say whether a record belongs to the dialogue at all, and not to a subagent or a summary."""
    flags = ("isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "agentId")
    return not any(record.get(flag) for flag in flags)


def is_from_person(record: dict[str, Any]) -> bool:
    """Say whether a record's words can be a person's at all: by its flags, not yet by its text.

    ``origin.kind`` outranks ``isMeta``, since a person's message that came in by another channel has both.
    """
    kind = origin_of(record)
    if not _is_of_session(record) or record.get("userType") == _NOT_TYPED:
        return False
    return kind == "human" if kind else not (record.get("isMeta") or record.get("hookText"))


def _is_prompt(record: dict[str, Any]) -> bool:
    """Say whether the turn was begun by somebody's prompt; ``sdk`` is one given to ``claude -p``."""
    return origin_of(record) == "human" or record.get("turnOrigin") in (None, "human", "sdk")


def _plan_taken_up(record: dict[str, Any], blocks: list[Any], shown: str) -> list[Said]:
    """Return the approval that lies in the client's prompt to carry out a plan; usually nothing."""
    texts = [text for block in blocks if (text := client_texts.strip_injected(text_of(block)))]
    if len(texts) != 1 or not texts[0].startswith(client_texts.PLAN_BEGINS) or not _is_of_session(record):
        return []
    sender = origin_of(record)
    if sender not in _TAKES_UP or (sender == "human" and not record.get("planContent")):
        return []
    return dialogs.plan_taken_up(record, texts[0], shown)


def _in_place(blocks: list[Any], read: Callable[[str], Said]) -> list[Said]:
    """Return what `read` finds in each text, and the images and documents at their place.

    Nothing, if all texts are the client's: then the images are, too.
    """
    pictures = sum(_media_of(block) == _IMAGE for block in blocks)
    pieces: list[Said] = []
    shown: list[int] = []
    spoke = of_client = False
    for block in blocks:
        text, media = text_of(block), _media_of(block)
        if text:
            channel, words = read(text)
            spoke, of_client = spoke or bool(words), of_client or not client_texts.is_aside(text)
            words, placed = _PLACEHOLDER.subn(_IMAGE, words, count=pictures) if pictures else (words, 0)
            pictures -= placed
            pieces.append(Said(channel, words))
        elif media:
            shown += [len(pieces)] if media == _IMAGE else []
            pieces.append(Said("typed", media))
    # An image whose place in the text is known is not shown a second time.
    twice = frozenset(shown[pictures:])
    found = [piece for number, piece in enumerate(pieces) if piece.text and number not in twice]
    return found if spoke or not of_client else []


def _prompt(record: dict[str, Any], blocks: list[Any], *, beside_tool: bool, answered: bool) -> list[Said]:
    """Return the words of a record's text blocks and its images as one piece of speech.

    An image alone `beside_tool` is the tool's, unless something was `answered` with it.
    """
    human = origin_of(record) == "human"
    spoken = _in_place(blocks, lambda text: clean(text, human=human))
    if not spoken or (beside_tool and not answered and not any(map(text_of, blocks))):
        return []
    words = "\n".join(piece.text for piece in spoken)
    if beside_tool:
        return [Said("beside_tool", words)]
    return [Said("slash" if any(piece.channel == "slash" for piece in spoken) else "typed", words)]


def from_user(record: dict[str, Any], open_dialogs: Dialogs | None = None) -> list[Said]:
    """Return what was said in a ``user`` record, piece by piece; usually nothing.

    It is a person's, but for a plan (channel ``prose``) that no earlier record showed. Dialogs that it
    answers are taken out of `open_dialogs`.
    """
    blocks = content_of(record, "user")
    results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
    asked = [open_dialogs.end(block.get("tool_use_id")) if open_dialogs else None for block in results]
    taken_up = _plan_taken_up(record, blocks, open_dialogs.last_plan if open_dialogs else "")
    if taken_up or not is_from_person(record):
        return taken_up
    pieces: list[Said] = []
    failed = any(block.get("is_error") for block in results)
    for block, dialog in zip(results, asked, strict=True):
        content = block.get("content")
        text = "\n".join(map(text_of, content if isinstance(content, list) else [content]))
        if failed and not block.get("is_error"):
            continue
        pieces += dialogs.outcome(record, block, text, dialog, alone=len(results) == 1)
    if _is_prompt(record):
        pieces += _prompt(record, blocks, beside_tool=bool(results), answered=bool(pieces))
    return pieces


def from_attachment(record: dict[str, Any]) -> list[Said]:
    """Return what a person typed while the assistant worked; every other attachment is the client's."""
    held = record.get("attachment")
    if not isinstance(held, dict) or held.get("type") != "queued_command":
        return []
    if held.get("commandMode") not in (None, "prompt"):
        return []
    if not is_from_person(record) or not is_from_person(held):
        return []
    words = queued_words(held.get("prompt"), human="human" in (origin_of(record), origin_of(held)))
    return [Said("queued", words)] if words else []


def queued_words(prompt: Any, *, human: bool = False) -> str:
    """Return the words, and the images at their place, of a prompt typed while the assistant worked."""
    blocks = prompt if isinstance(prompt, list) else [prompt]
    spoken = _in_place(blocks, lambda text: _clean_queued(text, human=human))
    return _PLACEHOLDER.sub(_IMAGE, "\n".join(piece.text for piece in spoken))


def from_assistant(record: dict[str, Any], blocks: list[Any], draft: str = "") -> str:
    """Return what the assistant said to the person: its text blocks, the questions and plans it showed them.

    Nothing the client made up, and nothing a subagent wrote. `draft` is the text of the plan file.
    """
    for flag in ("isSidechain", "isApiErrorMessage", "isMeta", "agentId"):
        if record.get(flag):
            return ""
    message = record.get("message")
    if isinstance(message, dict) and message.get("model") == "<synthetic>":
        return ""
    texts = [
        text_of(block) or dialogs.menu_text(block) or dialogs.plan_text(block, draft) for block in blocks
    ]
    text = "\n".join(filter(None, texts)).replace("\0", "").strip()
    return "" if text == "(no content)" else text
