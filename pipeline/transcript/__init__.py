"""Reading Claude Code's session files: what was said, by whom, and how far it has been read.

Knows nothing of the ledger or the store: entries go out as `pipeline.domain.speech.Entry`.
"""

from pipeline.transcript.branch import abandoned
from pipeline.transcript.files import find, scan, survey, survey_of
from pipeline.transcript.reader import Cursor, Reading, Seen, read, skim, trace
from pipeline.transcript.records import usage_totals

__all__ = [
    "Cursor",
    "Reading",
    "Seen",
    "abandoned",
    "find",
    "read",
    "scan",
    "skim",
    "survey",
    "survey_of",
    "trace",
    "usage_totals",
]
