"""Whose transcripts can be read in, by name."""

SOURCES = ("claude-code", "pi", "pi-converted")
"""Claude Code's, Pi's own, and Pi's as somebody made Claude Code's of them (the ledger's word for both)."""
HOSTS, PI, CONVERTED = SOURCES
