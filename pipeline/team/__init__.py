"""A team's memories in PostgreSQL: who is in it, and the revisions its members share. Extra ``team``.

Nothing here is imported unless a team was joined: one machine with SQLite needs none of it.
"""
