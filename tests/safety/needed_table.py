"""Makes `pipeline/safety/needed_words.json`: the words that the patterns need which are asked of every text.

``python -m tests.safety.needed_table`` writes it anew; a test compares.
"""

import json
from pathlib import Path

from pipeline.extraction.offline_cues import PATTERNS
from pipeline.safety import kept_words
from pipeline.safety.needed_words import needed_words
from pipeline.safety.tongues import LOOKED_FOR, tongues

FILE = Path(kept_words.__file__).with_name(kept_words.FILE)


def patterns() -> list[str]:
    """Return every pattern whose words are kept, each once."""
    wordings = (line for tongue in tongues() for name in LOOKED_FOR for line in tongue.lines(name))
    return [*dict.fromkeys((*wordings, *PATTERNS))]


def table() -> str:
    """Return the text of the file: a line for each pattern."""
    lines = (
        f"{_written(pattern)}: {_written([sorted(words) for words in needed_words(pattern)])}"
        for pattern in patterns()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    """Write the file."""
    FILE.write_text(table(), "utf-8")


if __name__ == "__main__":
    main()
