"""``reverie audit``: what is wrong with any folder of memories, found by looking only.

No model is asked and no byte is written, not even a lock; what Reverie left in a folder is not needed.
"""

from pipeline.audit.finding import ORDER, Finding, Level
from pipeline.audit.look import Audit, audit

__all__ = ["ORDER", "Audit", "Finding", "Level", "audit"]
