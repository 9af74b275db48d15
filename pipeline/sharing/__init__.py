"""Sync between machines: revisions of memories in a git repository, and what they say where they meet."""
