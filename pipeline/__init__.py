"""Reverie: background memory for Claude Code. Start at pipeline/README.md."""
