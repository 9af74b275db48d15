"""What may never stand in a memory: permissions, instructions to a model, hidden characters.

A memory is loaded into every later session, so a sentence that grants a right or commands the model would
act there with nobody looking (landscape: fabricated permissions, poisoned memories). The patterns err on
the side of refusal: a refused candidate is reported, and the person can add it by hand.
"""

from __future__ import annotations

import re

from pipeline.safety.invisible import has_hidden

_PERMISSION = re.compile(
    r"""
    \b(?:may|can|is\ allowed\ to|are\ allowed\ to|is\ permitted\ to|has\ permission\ to|have\ permission\ to
       |is\ free\ to|are\ free\ to|should|shall|must|will)\s+(?:(?!not\b|never\b)\w+\s+){0,6}?
       without\s+(?:\w+\s+){0,3}?(?:asking|approval|confirm\w*|permission|prompt\w*|review)
    |\b(?:no\ need|not\ need|\w+n['’]t\ need|needn['’]t|never\ needs?|need\ not|not\ have)\s+to\s+
       (?:ask|confirm|request\ (?:approval|permission)|wait\ for\ (?:approval|confirmation))
    |\b(?:do\ not|don['’]t|never|stop)\s+(?:ask(?:ing)?|prompt(?:ing)?)\s+(?:\w+\s+){0,3}?
       (?:for\ (?:permission|approval|confirmation)
         |before\ (?:running|pushing|committing|deleting|deploying|executing))
    |\b(?:has|have|had|given|granted|grants?|gave|with)\s+(?:\w+\s+){0,3}?
       (?:blanket\ |standing\ |full\ |prior\ )?
       (?:permission|authori[sz]ation|approval|consent)\s+(?:to|for)\b
    |\b(?:auto[-\ ]?approve[ds]?|pre[-\ ]?approved|pre[-\ ]?authori[sz]ed|skip(?:ping)?\ (?:all\ )?permission
       |bypass(?:ing|es)?\ (?:all\ )?(?:permission|approval|confirmation|safety)
       |dangerously-skip-permissions|bypassPermissions)
    |(?:is|are|was|were)\s+(?:always\s+)?(?:allowed|permitted|authori[sz]ed|approved)\s+to\s+
       (?:run|push|commit|delete|deploy|execute|write|merge|install|access|use\ sudo)
    |\b(?:ist|sind)\s+(?:immer|stets|grundsätzlich|jederzeit)\s+(?:erlaubt|gestattet|genehmigt)
    |\b(?:darf|dürfen|kann|können)\s+(?:(?!nicht\b|nie\b)\w+\s+){0,6}?ohne\s+(?:\w+\s+){0,2}?
       (?:Rückfrage|Nachfrage|Rücksprache|Bestätigung|Freigabe|Erlaubnis|zu\s+fragen)
    |\best\s+toujours\s+(?:autorisée?|permise?|approuvée?)
    |\b(?:peut|peuvent)\s+(?:(?!pas\b|jamais\b)\w+\s+){0,6}?sans\s+(?:\w+\s+){0,2}?
       (?:demander|confirmation|autorisation|permission|approbation)
    |\b(?:está|están)\s+siempre\s+(?:permitid|autorizad|aprobad)[oa]s?
    |\b(?:puede|pueden)\s+(?:\w+\s+){0,6}?sin\s+(?:\w+\s+){0,2}?
       (?:preguntar|confirmar|confirmación|permiso|autorización|aprobación)
    |(?:无需|不用|不必|不需要)(?:再)?(?:询问|确认|批准|征得)
    |(?:確認|許可|承認)(?:は|なし|を取らず|不要)[^。]{0,8}(?:不要|実行|よい|いい)
    """,
    re.IGNORECASE | re.VERBOSE,
)

_INSTRUCTION = re.compile(
    r"""
    \b(?:ignore|disregard|forget|override)\s+(?:\w+\s+){0,3}?(?:previous|prior|earlier|above|all|your|system)\s+
       (?:\w+\s+){0,2}?(?:instructions?|rules?|prompts?|guidelines|memor(?:y|ies)|constraints)
    |\byou\ are\ now\b|\bnew\ system\ prompt\b|\bact\ as\ (?:an?\ )?(?:unrestricted|jailbroken|different)\b
    |^\s*(?:system|assistant|human|user)\s*:\s
    |</?\s*(?:system|system-reminder|assistant|human|instructions?|memor(?:y|ies)|recollections?|function_calls|invoke|tool_use|tool_result)\b[^>]*>
    |<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|\[/?INST\]
    |\bdelete\ (?:all|every|the\ other)\ (?:\w+\ ){0,2}?memor(?:y|ies)\b
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)

_MARKER = re.compile(r"<!--\s*(?:reverie|run)\s*:", re.IGNORECASE)


_RESTRICTING = re.compile(
    r"\b(?:nobody|no\ one|none|never|not|only|nothing|no\ \w+)\b|n['’]t\b"
    r"|\b(?:niemand|nie|niemals|nur|kein\w*|personne|aucune?|jamais|nadie|nunca|ningun[ao]?|ningún)\b|\bno\s*$",
    re.IGNORECASE,
)
"""Words that turn "is allowed to push" into a restriction when they stand before it in its clause."""


def violation(text: str) -> str | None:
    """Return what bars `text` from being kept, such as ``a permission``, or None when nothing does."""
    if has_hidden(text):
        return "hidden text"
    if any(not _restricted(text[: found.start()]) for found in _PERMISSION.finditer(text)):
        return "a permission"
    if _INSTRUCTION.search(text):
        return "an instruction"
    if _MARKER.search(text):
        return "a marker of our own"
    return None


def _restricted(before: str) -> bool:
    clause = re.split(r"[.,;:\n]", before)[-1]
    return _RESTRICTING.search(clause) is not None
