"""The words by which people name what is done: commit, push, deploy, install, delete and others.

Words of all talk (run, add, fix) are no action: an action is a verb that names one, or a verb together with
what it is done to. What only carries such a word (*commit hash*, *push notification*) is none.
"""

from pipeline.text.shell import word_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SURE = {
    **dict.fromkeys(("committing", "committen", "amend", "amending", "squash", "squashing"), "commit"),
    **dict.fromkeys(("pushing", "pushen"), "push"),
    **dict.fromkeys(("force-push", "force-pushes", "force-pushing"), "force push"),
    **dict.fromkeys(("merging", "mergen"), "merge"),
    **dict.fromkeys(("rebase", "rebasing", "rebasen"), "rebase"),
    **dict.fromkeys(("deploy", "deploying", "deploys", "deployment", "deployments", "deployen"), "deploy"),
    **dict.fromkeys(("ausrollen", "déployer", "desplegar", "despliega"), "deploy"),
    **dict.fromkeys(("releasing", "publish", "publishing", "veröffentlichen", "publier"), "release"),
    **dict.fromkeys(("installing", "installiere", "installieren", "installer", "instalar"), "install"),
    **dict.fromkeys(("migrating",), "migrate"),
}
"""Words that name an action wherever they stand, unless `_is_part` says that they belong to another thing."""
HEADS = {
    **dict.fromkeys(("commit", "commits"), "commit"),
    "push": "push",
    "merge": "merge",
    "install": "install",
    **dict.fromkeys(("pr", "prs", "mr", "pull-request", "pull-requests", "merge-request"), "pull request"),
}
"""Words that name one only where nothing follows that makes them a part of another thing (*commit hash*)."""
PARTS = {
    "commit": word_set("""message messages subject subjects title titles body bodies text nachricht"""),
    "pull request": word_set("description descriptions title titles body bodies template text"),
    "branch": word_set("name names naming"),
}
"""What of a thing is written when it is done."""
_MAKING = word_set(
    """create creating make making open opening start starting cut cutting new add adding adds write
    writing draft drafting prepare submit before each every erstelle erstellen neue neuen neues
    neuer"""
)
_TAKING = word_set(
    """delete deleting deletes remove removing removes erase rm drop lösche lösch löschen entferne
    entfernen supprime supprimer borra borrar elimina eliminar"""
)
_RUNNING = word_set("""run running runs execute executing start rerun lass laufen lance ejecuta""")
_GETTING = _MAKING | word_set("install installing pull upgrade upgrading bump hinzufügen instala")
PAIRS: "tuple[tuple[frozenset[str], frozenset[str], str], ...]" = (
    (
        _GETTING - {"before", "each", "every", "write", "open"},
        word_set("""dependency dependencies package packages library libraries deps paket pakete"""),
        "install",
    ),
    (_RUNNING, word_set("test tests suite specs testsuite"), "test"),
    (_MAKING, frozenset({"branch", "branches"}), "branch"),
    (_MAKING | {"push", "pushing"}, frozenset({"tag", "tags"}), "release"),
    (_MAKING | {"do", "publish"}, frozenset({"release", "releases"}), "release"),
    (_MAKING | _RUNNING, word_set("migration migrations"), "migrate"),
    (
        _TAKING,
        word_set("""file files folder folders directory directories datei dateien ordner fichier"""),
        "delete",
    ),
)
"""A word, one that stands at most `_APART` words behind it, and the action that they name together."""
_APART = 4
_GOES_ON = word_set(
    """a an the this that these those my our your all any every each it them everything changes to
    for with without of in on into from at by via before after when if unless until and or but as
    so now please only again straight directly is are was be must should may can need needs use
    uses start starts have has follow follows always never not go goes get gets in what staged new
    small early often here there then und mit für auf in nach vor das die den alle mich bitte sind
    ist immer nie le la les pour avec el los needing run
    runs ask check show say alone anything nothing both either one two"""
)
"""What may follow a word of `HEADS` that names an action."""


def named(words: "list[str]") -> "Iterator[tuple[int, str]]":
    """Yield spot and name of each action that `words` (folded, of one clause) speak of."""
    for at, word in enumerate(words):
        behind = words[at + 1] if at + 1 < len(words) else ""
        action = SURE.get(word)
        if action and (word.endswith(("ing", "en")) or _goes_on(behind)):
            yield at, action
        elif word in HEADS and not _is_part(words, at):
            forced = word == "push" and words[max(0, at - 1)] == "force"
            yield at, "force push" if forced else HEADS[word]
        elif word in ("pull", "merge") and behind in ("request", "requests"):
            yield at, "pull request"
        elif word in ("branch", "branches") and behind in PARTS["branch"]:
            yield at, "branch"
        else:
            for first, second, both in PAIRS:
                if word in first and (spot := _second(words, at, second, both)):
                    yield spot, both
                    break


def _is_part(words: "list[str]", at: int) -> bool:
    """Whether the word of `HEADS` at `at` belongs to another thing, such as the *commit* of a commit hash."""
    action = HEADS[words[at]]
    behind = words[at + 1 :]
    if behind and behind[0] in PARTS.get(action, ()):
        if behind[0].endswith("s"):
            return False
        behind = behind[1:]
    if words[at] == "merge" and behind[:1] in (["request"], ["requests"]):
        return True
    return not _goes_on(behind[0] if behind else "")


def _second(words: "list[str]", at: int, second: "frozenset[str]", action: str) -> int:
    """Return where one of `second` stands close behind the word at `at`, 0 for nowhere."""
    for spot in range(at + 1, min(len(words), at + 1 + _APART)):
        word = words[spot]
        if word in second and not _has_noun(words, spot, action):
            return spot
        if action == "delete" and ("/" in word or "." in word[:-1]):
            return spot
    return 0


def _has_noun(words: "list[str]", at: int, action: str) -> bool:
    behind = words[at + 1 : at + 2]
    loose = action == "test" and behind in (["suite"], ["suites"])
    return not (loose or _goes_on(behind[0] if behind else ""))


def _goes_on(word: str) -> bool:
    """Whether `word`, "" for the end, leaves what stands before it the action that it names."""
    return not word or word in _GOES_ON or _is_object(word)


def _is_object(word: str) -> bool:
    """Whether `word` can only be what an action is done to, or how: a path, an adverb, a number, a plural."""
    return (
        word.startswith("`")
        or "/" in word
        or "." in word
        or word.isdigit()
        or word.endswith("ly")
        or word in _OBJECTS
    )


_OBJECTS = word_set(
    """prs commits pages services apps containers branches packages dependencies deps images main
    master production prod staging origin upstream left-pad work code files"""
)
