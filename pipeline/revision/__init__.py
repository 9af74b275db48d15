"""The one door for a change of memories: each is checked, written with a generation, and can be undone.

Whoever asks (extraction, a dream, the inbox, a person) hands over old text, new text and the source of each
sentence, and gets the same checks: `compose` makes new texts out of sentences, `door` judges and writes them.
"""

from pipeline.revision.compose import Removal, Replacement, amended, lost_between, merged, without
from pipeline.revision.door import Door

__all__ = ["Door", "Removal", "Replacement", "amended", "lost_between", "merged", "without"]
