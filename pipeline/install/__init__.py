"""Putting Reverie into Claude Code and taking it out again without a trace; the mode."""
