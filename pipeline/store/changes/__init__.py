"""Changes planned without touching a file, then made as one, across a crash."""
