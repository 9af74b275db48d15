"""How often the right rule is found before a tool call: ``python -m bench.rule_moments``.

Each call of `rule_cases` is taken alone, as the first of a session: it must bring the rule it needs, or none.
"""

from bench.rule_cases import CASES, RULES
from pipeline.recall.live.before_tool import FLOOR, doing_of
from pipeline.search.moments import moments_of

ROOT = "/work"


def brought(project: str, tool: str, given: str) -> list[str]:
    """Return the names of the rules of `project` that come before the call, the surest first."""
    value = {"command": given} if tool == "Bash" else {"file_path": f"{ROOT}/{given}"}
    doing = doing_of(tool, value, ROOT, ROOT)
    assert doing
    found = [
        (doing.met(moments_of(kind, name, text, "", (), ()))[0], name) for name, kind, text in RULES[project]
    ]
    return [name for sure, name in sorted(found, reverse=True) if sure >= FLOOR]


def figures() -> tuple[int, int, int, list[str]]:
    """Return how many calls need a rule, get it, get another or one for nothing; and a line for each miss."""
    needed = right = wrong = 0
    lines = []
    for project, cases in CASES.items():
        for tool, given, rule in cases:
            names = brought(project, tool, given)
            needed += bool(rule)
            right += bool(rule) and rule in names
            wrong += len([name for name in names if name != rule])
            if names != [rule] * bool(rule):
                lines.append(
                    f"{project}: {given}: {', '.join(names) or 'nothing'} instead of {rule or 'nothing'}"
                )
    return needed, right, wrong, lines


def main() -> None:
    needed, right, wrong, lines = figures()
    print(f"{right} of {needed} rules found, {wrong} for nothing, over {sum(map(len, CASES.values()))} calls")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
