"""``reverie audit``: what is wrong with any folder of memories, found by looking only.

No model is asked and no byte is written, not even a lock; what Reverie left in a folder is not needed.
"""

from pipeline.diagnostics.audit.first_sight import FirstSight, first_sight
from pipeline.diagnostics.audit.run import Audit, audit

__all__ = ["Audit", "FirstSight", "audit", "first_sight"]
