"""The slash commands of the host: which text is one, and which of them only steer the host.

Only a name that the host has is a command: “/tmp must stay clean” is a sentence, and the host passes it on as
one. The lists are the client's own (2.1.332, and what earlier versions had).
"""

import os

from pipeline.hooklib.places import config_dir


def _words(text: str) -> "frozenset[str]":
    return frozenset(text.split())


STEERING = _words(
    """add-dir advisor agents allowed-tools approved-tools auto-mode-setup autocompact bashes bg
    break-reminder chrome clear cloud-plugins color compact config context continue copy cost daemon
    debug-tool-call design-consent design-login design-revoke desktop doctor effort exit extra-usage
    fast heapdump help hooks ide install install-github-app install-slack-app keybindings list-agents
    login logout marketplace mcp memory-pause migrate-installer model output-style passes pause-memory
    permissions plugin plugins powerup privacy-settings pro-trial-expired quit rate-limit-options rc
    release-notes reload-plugins reload-skills remote-control remote-env rename resume rewind sandbox
    scroll-speed settings setup-bedrock setup-cowork setup-vertex skill-doctor skills statusline
    stickers teleport terminal-setup theme think-back thinkback toggle-memory tui upgrade usage
    usage-credits use-case version vim web-setup wellbeing workflows"""
)
"""Names of commands that do something to the host and say nothing to the assistant."""
_SHARED = _words(
    """access android app artifacts background branch breaks brief bug cd checkpoint checkup control diff
    export feedback files focus fork import ios memory mobile new peers project radio recap remote reset
    restart session share stats status stop subtask tag tasks todos undo update voice"""
)
"""More of them, which are also likely names for a person's own commands."""
_WITH_WORDS = frozenset({"btw", "goal", "plan", "ultraplan"})
"""Commands that steer the host when they stand alone; what is typed behind them is for the assistant."""
_PROMPTS = _words(
    """autofix-pr batch claude-api commit commit-push-pr debug init insights loop pr-comments pr_comments
    proactive review routines schedule security-review ship simplify team-onboarding ultrareview verify"""
)
"""Commands of the host's own that give the assistant something to do."""
_KNOWN = STEERING | _SHARED | _WITH_WORDS | _PROMPTS
_LONGEST = 100


def split_command(text: str) -> "tuple[str, str] | None":
    """Return the name and the arguments of what has the form of a slash command, else None.

    The form alone makes no command: `is_command` looks whether the host has the name.
    """
    start = text.lstrip()
    if not start.startswith("/"):
        return None
    parts = start[1 : _LONGEST + 2].split(None, 1)
    name = parts[0] if parts and not start[1].isspace() else ""
    plain = name.replace("_", "").replace(":", "").replace(".", "").replace("-", "")
    if not plain.isalnum() or not name[0].isalnum() or not name[-1].isalnum() or len(name) > _LONGEST:
        return None
    return name, start[len(name) + 1 :].strip()


def is_steering(name: str, arguments: str, *, ran_in_host: bool = True) -> bool:
    """Say whether ``/name arguments`` only does something to the host; `name` is without its slash.

    `ran_in_host` is unset when it is known that the command was passed on to the assistant, as a person's own
    command may be, though the host has its name as well.
    """
    known = name.lower()
    steers = known in STEERING or (ran_in_host and known in _SHARED)
    return steers or (known in _WITH_WORDS and not arguments)


def is_command(text: str, cwd: str = "") -> bool:
    """Say whether `text` calls a command that the host has, in a session in the directory `cwd`.

    Besides the host's own, that is one with a file in a folder of commands or skills, and any name with a
    colon or of an MCP server: those come from plugins and servers, and no sentence begins like that.
    """
    parts = split_command(text)
    if parts is None:
        return False
    name = parts[0]
    if name.lower() in _KNOWN or ":" in name or name.startswith("mcp__"):
        return True
    return any(_has_file(folder, name) for folder in _folders(cwd))


def _folders(cwd: str) -> "list[str]":
    """Return the folders that may hold commands and skills: the person's own, and those above `cwd`."""
    found = [config_dir()]
    here = cwd
    while here and os.path.isabs(here):
        found.append(here + "/.claude")
        parent = os.path.dirname(here)
        here = "" if parent == here else parent
    return found


def _has_file(folder: str, name: str) -> bool:
    if os.path.exists(f"{folder}/skills/{name}/SKILL.md") or os.path.exists(f"{folder}/commands/{name}.md"):
        return True
    try:
        inner = os.listdir(folder + "/commands")
    except (OSError, ValueError):
        return False
    return any(os.path.exists(f"{folder}/commands/{sub}/{name}.md") for sub in inner)
