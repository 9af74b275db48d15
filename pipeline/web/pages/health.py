"""Health: worker, queue, what is held and what mends it, live; doctor and audit where a person asks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from pipeline.app import state_words
from pipeline.app.status import mends
from pipeline.core import paths
from pipeline.core.errors import InputError, UsageError
from pipeline.core.home import Home
from pipeline.domain.finding import Finding
from pipeline.text.humanize import ago, count
from pipeline.web import live
from pipeline.web.visit import Visit

_MOST_ROWS = 100
_MOST_ERRORS = 3
TONES = {"error": "bad", "warning": "warn", "note": "", "ok": "good"}
"""The look of each level of a finding."""


def health(visit: Visit) -> Response:
    """Return the state of everything, and below it what doctor or audit found, where that was asked for."""
    look = visit.asked("look")
    if look not in ("", "doctor", "audit"):
        raise UsageError(f"nothing looks at {look!r}", fix="Take a link on the page.")
    return visit.page(
        "health.html",
        "health",
        "Health",
        state=_state(visit),
        look=look,
        examined=_examined(visit) if look == "doctor" else None,
        audited=_audited(visit) if look == "audit" else None,
    )


def state(visit: Visit) -> Response:
    """Return the part that changes by itself."""
    return visit.part("health_state.html", state=_state(visit))


def examination(visit: Visit) -> Response:
    """Return what doctor finds, as a part."""
    return visit.part("health_findings.html", found=_examined(visit))


def trouble(visit: Visit) -> Response:
    """Return the errors that doctor finds, as a part; a line where there is none."""
    errors = [finding for finding in _doctor(visit) if finding.level == "error"]
    return visit.part("health_trouble.html", errors=errors, most=_MOST_ERRORS)


def stream(visit: Visit) -> Response:
    """Return the events that tell of a change."""
    app = visit.app
    return live.stream(live.files_of(app.home, app.store_path))


def _state(visit: Visit) -> dict[str, Any]:
    value = visit.app.status()
    now = datetime.fromtimestamp(value["at"], UTC)
    held = [{**each, "mends": mends(each["state"])} for each in value["obstacles"]]
    known = {f"{each['jobs']}: {each['cause']}" for each in value["obstacles"]}
    provider = value["provider"]
    named = f"{provider['name']} {provider['model']}"
    down = provider["down"]
    return {
        "at": now,
        "worker": value["worker"],
        "mode": value["mode"],
        "model": "no model, by rules" if provider["name"] == "offline" else named,
        "down": f"{down['reason']} {down['fix']}; asked again {ago(down['ends_at'], now)}" if down else "",
        "queue": state_words.queue_words(value, now),
        "inbox": value["inbox"],
        "sync": state_words.sync_words(value["sync"], now) if value["sync"] else "",
        "team": state_words.sync_words(value["team_sync"], now) if value["team_sync"] else "",
        "hook": state_words.hook_words(value, now),
        "read": state_words.read_words(value),
        "to_come": state_words.to_come(value["to_come"]) if value["to_come"]["turns"] else "",
        "kept": state_words.kept_words(value["dialogue"]),
        "unread": [f"{reason}: {number:,}" for reason, number in value["unread"].items()],
        "dream": state_words.dream_words(value, now),
        "adopt": state_words.to_adopt(value["to_adopt"]) if value["to_adopt"] else "",
        "held": held,
        "troubles": [text for text in state_words.troubles(value) if text not in known],
        "jobs": [_job(job, now) for job in value["jobs"][:_MOST_ROWS]],
        "more_jobs": max(0, len(value["jobs"]) - _MOST_ROWS),
        "runs": [_run(run, now) for run in value["runs"]],
        "next": value["next"],
        "store": value["store"],
    }


def _job(job: dict[str, Any], now: datetime) -> dict[str, Any]:
    due = job["run_after"] <= now.timestamp()
    when = {"waiting": "due now" if due else ago(job["run_after"], now), "leased": "at work"}
    return {
        "kind": job["kind"].replace("_", " "),
        "key": job["key"],
        "state": job["state"],
        "when": when.get(job["state"], "given up"),
        "tries": job["attempts"],
    }


def _run(run: dict[str, Any], now: datetime) -> dict[str, Any]:
    outcome = "undone" if run["undone"] else run["outcome"] or "under way"
    return {
        "id": run["id"],
        "kind": run["kind"],
        "when": ago(run["started_at"], now),
        "project": run["project"],
        "strategy": run["strategy"],
        "outcome": outcome,
        "bad": outcome.startswith("failed"),
        "reason": run["reason"],
        "changes": len(run["actions"]),
    }


def _examined(visit: Visit) -> dict[str, Any]:
    return _findings(_doctor(visit), "things looked at", worst_first=False)


def _doctor(visit: Visit) -> list[Finding]:
    """Return what doctor finds, by stores of its own: it reads them whole, and other pages wait for none."""
    from pipeline.diagnostics import doctor

    return doctor.examine(visit.apart)


def _audited(visit: Visit) -> dict[str, Any]:
    from pipeline.diagnostics.audit import audit

    app = visit.app
    # Whose project another folder belongs to, it says itself.
    project = None if visit.choice.key else paths.project_root(visit.setting.folder)
    try:
        found = audit(app.store_path, now=app.clock.now(), project=project, ledger=Home(app.home).ledger)
    except InputError as error:
        return _findings([Finding("error", "folder", str(error), error.fix)], "things found")
    return _findings(found.findings, f"things found in {count(found.memories, 'memory', 'memories')}")


def _findings(found: Sequence[Finding], of_what: str, *, worst_first: bool = True) -> dict[str, Any]:
    levels = ("error", "warning", "note", "ok")
    numbers = {level: sum(finding.level == level for finding in found) for level in levels}
    rows = list(found)
    if not worst_first:
        # What is all right is told last, however early it was looked at.
        rows.sort(key=lambda finding: levels.index(finding.level))
    words = [count(numbers[level], level) for level in ("error", "warning", "note") if numbers[level]]
    return {
        "rows": rows[:_MOST_ROWS],
        "more": max(0, len(rows) - _MOST_ROWS),
        "summary": ", ".join(words) or "nothing wrong",
        "of_what": f"{len(rows):,} {of_what}",
        "tones": TONES,
        "clean": not words,
    }
