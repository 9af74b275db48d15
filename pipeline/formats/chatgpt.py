"""The export of ChatGPT: what it remembers, out of ``conversations.json``.

Its saved memories stand there as the messages that the assistant sent to ``bio``, and what a person wrote
about themselves as custom instructions. The rest is dialogue, of which no line is a memory.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.core.errors import InputError
from pipeline.core.ids import derived_id
from pipeline.domain.memory import Memory
from pipeline.formats.carried import Carried, Plain, Reading, Written
from pipeline.formats.json_items import as_bytes, held_json, items, parsed
from pipeline.hooklib.front_matter import text_of
from pipeline.hooklib.plain import is_well_formed
from pipeline.store.files.frontmatter_schema import first_line, plain

_BIO = "bio"
_CONTEXT = "user_editable_context"
_INSTRUCTIONS = {"user_profile": "user", "user_instructions": "feedback"}
_OURS = "reverie-export"
_TITLE = "Memories"
_FILES = "conversations*.json"


class ChatGpt(Plain):
    """A folder of ChatGPT's export, or its ``conversations.json``."""

    name = "chatgpt-export"
    about = "conversations.json, or the unpacked folder that holds it"

    def read(self, path: Path) -> Reading:
        """Return what was remembered in the conversations at `path`."""
        seen = Reading(rest={})
        files = sorted(path.glob(_FILES)) if path.is_dir() else [path]
        if not files:
            raise InputError(
                "there is no conversations.json in it", file=str(path), fix="Unpack the archive, and name it."
            )
        spoken = 0
        for file in files:
            text = held_json(file, seen)
            held = parsed(text, file)
            if not isinstance(held, list):
                raise InputError(
                    "it is no list of conversations", file=str(file), line=1, fix="Nothing was written."
                )
            seen.rest[file] = held
            for line, conversation in items(text, ()):
                if not isinstance(conversation, dict) or not isinstance(conversation.get("mapping"), dict):
                    seen.fault(file.name, line, "it has no mapping of messages")
                    continue
                spoken += self._conversation(conversation, file.name, line, seen)
        if spoken:
            seen.fault(
                files[0].name,
                None,
                f"{spoken} messages are dialogue, no memories: only what it remembered is taken",
                unread=False,
            )
        return seen

    def _conversation(self, conversation: dict[str, Any], file: str, line: int, seen: Reading) -> int:
        """Add what one conversation remembers to `seen`; return how many of its messages are dialogue."""
        keys, spoken = seen.keys(), 0
        for node, message in messages(conversation):
            found = list(_remembered(message))
            if found and not is_well_formed(node):
                seen.fault(file, line, "a message in it has no usable id")
                continue
            spoken += not found and _is_spoken(message)
            for part, memory in found:
                key = f"{node}:{part}" if part else node
                known = next((item for item in seen.records if item.memory.body == memory.body), None)
                # Custom instructions stand in each conversation anew.
                if key not in keys and known is None:
                    seen.records.append(Carried(memory, key, file, line, message))
                    keys.add(key)
        return spoken

    def there_and_back(self, memory: Memory) -> Memory:
        """Return what of `memory` is read again once it was written."""
        node = _node(memory, "n", "root")
        blank = Memory(name="", description="", type="user", body="")
        return next((memory for _, memory in _remembered(node["message"])), blank)

    def write(self, path: Path, records: Sequence[Carried], gone: Collection[str], seen: Reading) -> Written:
        """Plan the files with one conversation more, which holds what was remembered here.

        What stands in several conversations is changed, and taken out, in each: it would come back.
        """
        file = path / "conversations.json" if path.is_dir() else path
        before: dict[Path, list[Any]] = seen.rest or {}
        held = {name: json.loads(json.dumps(value)) for name, value in before.items()}
        own = held.setdefault(file, [])
        places = _places(held.values())
        texts = {record.key: record.memory.body for record in seen.records}
        keys = []
        for record in records:
            if not record.key:
                keys.append(_add(own, record.memory))
                continue
            for mapping, key, part in places.get(texts.get(record.key, ""), []):
                _rewrite(mapping[key]["message"], part, record.memory)
            keys.append(record.key)
        for body in {texts[key] for key in gone if key in texts}:
            for mapping, key, part in places.get(body, []):
                if part:
                    mapping[key]["message"]["content"].pop(part)
                elif key in mapping:
                    _unlink(mapping, key)
        changed = {name: value for name, value in held.items() if value != before.get(name)}
        return Written({name: as_bytes(value, indent=1) for name, value in changed.items()}, keys)


def _places(held: Iterable[list[Any]]) -> dict[str, list[tuple[dict[str, Any], str, str]]]:
    """Return where each text that is remembered stands: the tree, the key of the node, and the part of it."""
    found: dict[str, list[tuple[dict[str, Any], str, str]]] = {}
    for conversation in (item for conversations in held for item in _tables(conversations)):
        for key, message in messages(conversation):
            for part, memory in _remembered(message):
                found.setdefault(memory.body, []).append((conversation["mapping"], key, part))
    return found


def messages(conversation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield key and message of each node of the tree, from its roots on, each once."""
    mapping = conversation["mapping"]
    roots = [key for key, node in mapping.items() if isinstance(node, dict) and not node.get("parent")]
    waiting, seen = list(reversed(roots or list(mapping)[:1])), set()
    while waiting:
        key = waiting.pop()
        node = mapping.get(key)
        if key in seen or not isinstance(node, dict):
            continue
        seen.add(key)
        if isinstance(node.get("message"), dict):
            yield key, node["message"]
        waiting += reversed(_children(node))


def _remembered(message: dict[str, Any]) -> Iterator[tuple[str, Memory]]:
    """Yield what `message` puts into the memory, each with the part of it, "" for all."""
    try:
        message = plain(message)
    except ValueError:
        # Nested deeper than anything that tells a memory.
        return
    content = message.get("content")
    if not isinstance(content, dict):
        return
    if content.get("content_type") == _CONTEXT:
        for key, kind in _INSTRUCTIONS.items():
            if text_of(content.get(key)):
                yield key, _memory(text_of(content[key]), kind, message)
        return
    if message.get("recipient") == _BIO and _text(content):
        yield "", _memory(_text(content), "user", message)


def _memory(text: str, kind: str, message: dict[str, Any]) -> Memory:
    at = message.get("create_time")
    usable = isinstance(at, int | float) and not isinstance(at, bool) and 0 < at < 4e9
    created = datetime.fromtimestamp(at, UTC) if usable and at is not None else None
    return Memory(name="", description=first_line(text), type=kind, body=text + "\n", created=created)


def _text(content: dict[str, Any]) -> str:
    parts = content.get("parts")
    texts = [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []
    return "\n".join(texts).strip()


def _is_spoken(message: dict[str, Any]) -> bool:
    author = message.get("author")
    role = author.get("role") if isinstance(author, dict) else ""
    content = message.get("content")
    return role in ("user", "assistant") and isinstance(content, dict) and bool(_text(content))


def _node(memory: Memory, key: str, parent: str | None) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [memory.whole_text.strip("\n")]}
    message: dict[str, Any] = {
        "id": key,
        "author": {"role": "assistant", "name": None, "metadata": {}},
        "create_time": memory.created.timestamp() if memory.created else None,
        "content": content,
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": {},
        "recipient": _BIO,
    }
    return {"id": key, "message": message, "parent": parent, "children": []}


def _tables(held: list[Any]) -> list[dict[str, Any]]:
    return [item for item in held if isinstance(item, dict) and isinstance(item.get("mapping"), dict)]


def _add(held: list[Any], memory: Memory) -> str:
    """Add `memory` to the conversation that is ours, made at need; return its key."""
    ours = next((item for item in _tables(held) if item.get("conversation_id") == _OURS), None)
    if ours is None:
        root: dict[str, Any] = {"id": "root", "message": None, "parent": None, "children": []}
        ours = {"title": _TITLE, "conversation_id": _OURS, "id": _OURS, "mapping": {"root": root}}
        held.append(ours)
    mapping = ours["mapping"]
    parent = next((key for key in reversed(mapping) if isinstance(mapping[key], dict)), None)
    key = derived_id(_OURS, memory.id or memory.name, memory.body)
    if parent is not None:
        mapping[parent]["children"] = [*_children(mapping[parent]), key]
    mapping[key] = _node(memory, key, parent)
    ours["current_node"] = key
    return key


def _children(node: dict[str, Any]) -> list[str]:
    found = node.get("children")
    return [child for child in found if isinstance(child, str)] if isinstance(found, list) else []


def _rewrite(message: dict[str, Any], part: str, memory: Memory) -> None:
    text = memory.whole_text.strip("\n")
    if part:
        message["content"][part] = text
    else:
        message["content"] = {**message["content"], "parts": [text]}


def _unlink(mapping: dict[str, Any], key: str) -> None:
    """Take a node out of the tree; what hung on it hangs on its parent."""
    node = mapping.pop(key)
    parent, children = node.get("parent"), _children(node)
    above = mapping.get(parent) if isinstance(parent, str) else None
    if isinstance(above, dict):
        links = _children(above)
        at = links.index(key) if key in links else len(links)
        above["children"] = [*links[:at], *children, *links[at + 1 :]]
    for child in children:
        below = mapping.get(child)
        if isinstance(below, dict) and below.get("parent") == key:
            below["parent"] = parent
