"""The slash commands of the host: which text is one, and which of them only steer the host.

Only a name that the host has is a command: “/tmp must stay clean” is a sentence, and the host passes it on as
one. The lists are the client's own (2.1.332, and what earlier versions had).
"""

import os

from pipeline.hooklib.places import config_dir

STEERING = frozenset(
    """access add-dir advisor agents allowed-tools android app approved-tools artifacts auto-mode-setup
    autocompact background bashes bg branch break-reminder breaks brief bug cd checkpoint checkup chrome clear
    cloud-plugins color compact config context continue control copy cost daemon debug-tool-call
    design-consent design-login design-revoke desktop diff doctor effort exit export extra-usage fast feedback
    files focus fork heapdump help hooks ide import install install-github-app install-slack-app ios
    keybindings list-agents login logout marketplace mcp memory memory-pause migrate-installer mobile model
    new output-style passes pause-memory peers permissions plugin plugins powerup privacy-settings
    pro-trial-expired project quit radio rate-limit-options rc recap release-notes reload-plugins
    reload-skills remote remote-control remote-env rename reset restart resume rewind sandbox scroll-speed
    session settings setup-bedrock setup-cowork setup-vertex share skill-doctor skills stats status statusline
    stickers stop subtask tag tasks teleport terminal-setup theme think-back thinkback todos toggle-memory tui
    undo update upgrade usage usage-credits use-case version vim voice web-setup wellbeing workflows""".split()
)
"""Names of commands that do something to the host and say nothing to the assistant."""
_WITH_WORDS = frozenset({"btw", "goal", "plan", "ultraplan"})
"""Commands that steer the host when they stand alone, while what is typed behind them is for the assistant."""
_PROMPTS = frozenset(
    """autofix-pr batch claude-api commit commit-push-pr debug init insights loop pr-comments pr_comments
    proactive review routines schedule security-review ship simplify team-onboarding ultrareview verify""".split()
)
"""Commands of the host's own that give the assistant something to do."""
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


def is_steering(name: str, arguments: str) -> bool:
    """Say whether ``/name arguments`` only does something to the host; `name` is without its slash."""
    known = name.lower()
    return known in STEERING or (known in _WITH_WORDS and not arguments)


def is_command(text: str, cwd: str = "") -> bool:
    """Say whether `text` calls a command that the host has, in a session in the directory `cwd`.

    Besides the host's own, that is one with a file in a folder of commands or skills, and any name with a
    colon or of an MCP server: those come from plugins and servers, and no sentence begins like that.
    """
    parts = split_command(text)
    if parts is None:
        return False
    name = parts[0]
    if name.lower() in STEERING | _WITH_WORDS | _PROMPTS or ":" in name or name.startswith("mcp__"):
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
