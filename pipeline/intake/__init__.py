"""The edge to Claude Code: the events that hooks left in the spool, and the transcripts that they name."""
