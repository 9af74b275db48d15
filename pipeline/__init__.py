"""Reverie: background memory for Claude Code. Start at pipeline/README.md."""

__version__ = "0.1.0"
