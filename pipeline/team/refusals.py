"""What a person is told where a team's database refuses: in plain English, with what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.errors import TeamError

if TYPE_CHECKING:
    import psycopg

_PASSWORD_FIX = (
    "Put the password into ~/.pgpass (mode 0600), which the background worker reads too:"
    " HOST:PORT:DATABASE:LOGIN:PASSWORD. PGPASSWORD counts in this shell alone."
)
_ENTRY = "Ask whoever runs the server to let this login into the database; look at login and address."
_AT_THE_DOOR = (
    ("no password supplied", "the database wants a password, and none was found", _PASSWORD_FIX),
    ("password authentication failed", "the database does not take the password", _PASSWORD_FIX),
    ('" does not exist', "the database does not let you in", _ENTRY),
    ("not permitted to log in", "the database does not let you in", _ENTRY),
    ("pg_hba.conf", "the database does not let you in", _ENTRY),
    ("permission denied for database", "the database does not let you in", _ENTRY),
)
"""Words of a refused connection, which carries no SQLSTATE: where the server speaks another language than
English, and no password is missing, it counts as one that can't be reached."""

_DENIED = (
    (
        "function found_team",
        "this login may not found a team in that database",
        "Ask to be invited to one that is there. Or who set the database up lets it:"
        " GRANT EXECUTE ON FUNCTION reverie_team.found_team(text, text) TO LOGIN.",
    ),
    (
        "for database",
        "this login may not set that database up for teams",
        "Who runs it does so first, or lets it: GRANT CREATE ON DATABASE NAME TO LOGIN.",
    ),
)
"""Words of PostgreSQL's own refusals, and what each means to a person."""
_FAULT = "This should not happen; tell it to whoever looks after Reverie."
_GONE = ("there is no such team in the database any more", "Ask whoever keeps the database.")
_ANOTHER = "Name another one with --as."
_TWICE = ("that is there already", "Try again; nothing was changed.")
_SPENT = ("what a call of a model cost does not fit the team's records", _FAULT)
_LENGTH = ("a name or text is longer than the team's database takes", "Make it shorter.")
CONSTRAINTS = {
    "team_name_key": (
        "a team of that name is in this database already",
        "Choose another name, or ask who founded it to invite you.",
    ),
    "team_name_check": (
        "that can't be a team's name",
        "Take a-z, 0-9 and dashes, 60 at most, with a letter or a digit first.",
    ),
    "member_team_person_key": ("somebody in the team is called that already", _ANOTHER),
    "member_person_check": ("a person's name has 1 to 80 characters", _ANOTHER),
    "member_state_check": ("the state of a member is not one that there is", _FAULT),
    "member_pkey": ("that login is in the team already", "`reverie team status` shows who is."),
    "revision_digest_check": ("a revision's name is not one that there is", _FAULT),
    "revision_memory_check": _LENGTH,
    "revision_machine_check": _LENGTH,
    "revision_parents_check": (
        "a text has come about from more than 64 others at once",
        "`reverie team sync` on another machine joins some of them first.",
    ),
    "revision_body_check": (
        "a memory is larger than the million bytes that a team takes",
        "Take something out of it, or keep it to yourself: `reverie forget --team NAME`.",
    ),
    "machine_machine_check": _LENGTH,
    "machine_waiting_check": ("a number of memories that wait is below zero", _FAULT),
    "batch_id_check": _LENGTH,
    "batch_machine_check": _LENGTH,
    "batch_provider_check": _LENGTH,
    "batch_provider_id_check": _LENGTH,
    "batch_provider_login_check": _LENGTH,
    "batch_item_custom_id_check": _LENGTH,
    "batch_item_work_check": _LENGTH,
    "cap_dollars_check": ("a cap can't be below zero dollars", "Name zero or more."),
    "cap_amount_check": ("that is more than a cap can be", "Name fewer dollars, or `none`."),
    "call_amounts_check": _SPENT,
    "cap_span_check": ("a cap is for a day or a month", "Name one of them."),
    "call_state_check": _SPENT,
    "call_reserved_check": _SPENT,
    "call_dollars_check": _SPENT,
    "call_machine_check": _LENGTH,
    "call_project_check": _LENGTH,
    "call_purpose_check": _LENGTH,
    "call_work_check": _LENGTH,
    "lease_name_check": _LENGTH,
    "outage_provider_check": _LENGTH,
    "outage_reason_check": _LENGTH,
    "reading_key_check": _LENGTH,
    "reading_outcome_check": _LENGTH,
    "reading_project_check": _LENGTH,
}
"""What each rule of the tables means to a person, and what they can do, by the rule's name."""


def refused(error: psycopg.Error) -> TeamError:
    """Return what a person is told of a thing that the database refused."""
    from psycopg import errors

    text = (error.diag.message_primary or str(error)).strip()
    if isinstance(error, errors.IntegrityError):
        reason, fix = _broken(error.diag.constraint_name or "")
        return TeamError(reason or f"the database says: {text}", fix=fix or _FAULT)
    if isinstance(error, errors.InsufficientPrivilege):
        if found := next((row for row in _DENIED if row[0] in text), None):
            return TeamError(found[1], fix=found[2])
        return TeamError(f"the database refuses: {text}", fix="Ask who founded the team for it.")
    if isinstance(error, errors.UndefinedTable | errors.InvalidSchemaName | errors.UndefinedFunction):
        return TeamError(
            "the database holds no teams yet",
            fix="Who may make a schema there runs `reverie team init NAME --database URL` first.",
        )
    return TeamError(f"the database says: {text}", fix="`reverie team status` shows what it knows of you.")


def _broken(rule: str) -> tuple[str, str]:
    if rule in CONSTRAINTS:
        return CONSTRAINTS[rule]
    if rule.endswith("_fkey"):
        return _GONE
    return _TWICE if rule.endswith(("_pkey", "_key")) or rule in ("reply_of_work", "asked_once") else ("", "")


def turned_away(error: psycopg.Error) -> TeamError | None:
    """Return what a person is told where the server answered and let them not in, None for another trouble.

    Trying again gets no other answer.
    """
    text = str(error)
    found = next((row for row in _AT_THE_DOOR if row[0] in text), None)
    if error.sqlstate is not None:
        return None
    if found is None and error.pgconn is not None and error.pgconn.needs_password:
        found = _AT_THE_DOOR[0]
    if found is None:
        return None
    words, reason, fix = found
    answer = (
        text.rpartition("FATAL:")[2].strip() if "FATAL:" in text and words != "no password supplied" else ""
    )
    return TeamError(f"{reason}: {answer}" if answer else reason, fix=fix)
