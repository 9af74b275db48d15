"""The ledger: one SQLite file that holds the truth about work, money and what was said.

Every statement of SQL is in this package. A function takes the open Ledger first; times are aware
datetimes or epoch seconds, as the caller has them, and are kept as epoch seconds.
"""

from pipeline.ledger.connection import Ledger, look_at_ledger, open_ledger, read_ledger

__all__ = ["Ledger", "look_at_ledger", "open_ledger", "read_ledger"]
