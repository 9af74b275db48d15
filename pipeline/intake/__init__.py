"""The edge to Claude Code: reading the events that the hooks left in the spool, and registering the hooks."""
