"""The second key: a reader that sees only what is in question says whether it holds."""
