"""A store of schema v3 as its document shows it: the solution, its problem, a procedure and an edge."""

from __future__ import annotations

from pathlib import Path

REDIS = "a1b2c3d4-e5f6-7890-abcd-ef1234567890"
DROPS = "def789ab-0000-4000-8000-000000000002"
DEPLOY = "c0ffee12-0000-4000-8000-000000000003"
EDGE = "e1d2c3b4-0000-4000-8000-000000000004"
SOLUTION_PATH = "graph/solutions/fixed-redis-connection-timeouts-a1b2c3.md"
PROBLEM_PATH = "graph/problems/redis-connection-drops-under-load-def789.md"
PROCEDURE_PATH = "graph/procedures/deploy-major-domo-to-production-c0ffee.md"
EDGE_PATH = "graph/edges/fixed-redis--SOLVES--redis-drops-e1d2c3.md"

SOLUTION = f"""\
---
id: {REDIS}
type: solution
title: "Fixed Redis connection timeouts"
tags: [redis, timeout, production, homelab]
importance: 0.8
confidence: 0.8
created: 2025-12-06T16:25:58+00:00
updated: 2025-12-06T16:25:58+00:00
relations:
  - target: {DROPS}
    type: SOLVES
    direction: outgoing
    strength: 0.8
    context: "Keepalive prevents idle disconnections"
---

Added socket_keepalive=True and socket_timeout=300 to Redis connection configuration.
"""
PROBLEM = f"""\
---
id: {DROPS}
type: problem
title: "Redis connection drops under load"
tags: [redis, production]
importance: 0.7
confidence: 0.8
created: "2025-12-06T16:20:00.123456+00:00"
updated: "2025-12-06T16:20:00.123456+00:00"
relations:
  - target: {REDIS}
    type: SOLVES
    direction: incoming
    strength: 0.8
---

Idle connections are cut.
"""
PROCEDURE = f"""\
---
id: {DEPLOY}
type: procedure
title: "Deploy Major Domo to production"
tags: [major-domo, deploy, docker]
importance: 0.8
confidence: 0.8
steps:
  - "Run tests"
  - "Build docker image"
preconditions:
  - "All tests pass"
created: 2026-02-13T12:00:00+00:00
updated: 2026-02-13T12:00:00+00:00
---

Standard deploy workflow for the Major Domo Discord bot.
"""
EDGE_TEXT = f"""\
---
id: {EDGE}
type: SOLVES
from_id: {REDIS}
from_title: "Fixed Redis connection timeouts"
to_id: {DROPS}
to_title: "Redis connection drops under load"
strength: 0.8
created: "2025-12-06T16:30:00+00:00"
updated: "2025-12-06T16:30:00+00:00"
---

The keepalive fix directly resolves the idle disconnection problem because...
"""
LINKED = {"edge_id": EDGE}


def lay_out(root: Path, *, edge: bool = True) -> Path:
    """Write that store at `root`; with `edge` its relation has the file of an edge."""
    for path, text in ((SOLUTION_PATH, SOLUTION), (PROBLEM_PATH, PROBLEM), (PROCEDURE_PATH, PROCEDURE)):
        write(root, path, with_edge(text) if edge else text)
    if edge:
        write(root, EDGE_PATH, EDGE_TEXT)
    return root


def with_edge(text: str) -> str:
    """Return the text of a memory with the id of the edge at its relation."""
    return (
        text.replace('disconnections"\n', f'disconnections"\n    edge_id: {EDGE}\n')
        if "outgoing" in text
        else text.replace("    strength: 0.8\n", f"    strength: 0.8\n    edge_id: {EDGE}\n")
    )


def write(root: Path, path: str, text: str) -> None:
    """Write one file of the store."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, "utf-8")
