"""The events of Claude Code that Reverie's hooks listen to, and the variable that silences them."""

SESSION_START = "SessionStart"
SESSION_END = "SessionEnd"
PROMPT = "UserPromptSubmit"
TOOL = "PreToolUse"
TOOLS = ("Bash", "Edit", "Write", "NotebookEdit")
"""The tools before whose use a rule may be shown; Claude Code is told so, and asks for no others."""
ANSWERED = (SESSION_START, PROMPT, TOOL)
"""The events to which Reverie may answer with what it remembers."""
EVENTS = ("Stop", SESSION_END, "PreCompact", SESSION_START, PROMPT)
"""All that Reverie listens to in every installation; to `TOOL` only where ``recall.before_tools`` is set."""
SENTINEL = "REVERIE_INSIDE"
"""Set by the worker for the model processes it starts: their hooks do nothing, so nothing feeds itself."""
