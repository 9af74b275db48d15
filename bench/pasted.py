"""How often a pasted line passes for typed, and a typed one for pasted, over the table in `fixtures/pasted/`.

python -m bench.pasted
"""

from tests.support.pasted_cases import messages, wrong


def main() -> None:
    """Print both error rates of each half, and the lines that are judged wrongly."""
    for half in ("pasted", "typed"):
        missed, false, pasted, own = wrong(half)
        print(f"{half}.txt: {len(messages(half))} messages")
        print(f"  pasted lines taken for typed: {len(missed)} of {pasted}")
        print(f"  typed lines taken for pasted: {len(false)} of {own}")
        for line in (*missed, *false):
            print(f"    {line}")


if __name__ == "__main__":
    main()
