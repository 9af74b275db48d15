"""Use cases: what commands, and later servers, ask for; answers are plain values."""
