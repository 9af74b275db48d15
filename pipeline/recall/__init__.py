"""Which memories belong to a prompt, and the text that puts them before the model.

The library is `retrieve`: ask it with a prompt and a store, and it answers with `Recollections`. Nothing is
called and nothing is written by it. `RowRecall` does the same over rows instead of a store. docs/recall.md
has the rules, the limits and what the hooks write.

Everything below runs in a hook that a person waits for, so the modules keep to the cheapest parts of the
standard library (``pipeline.hooklib``), and the names here are loaded when they are first used.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pipeline.recall.live.retrieval import retrieve
    from pipeline.recall.live.values import Budget, Considered, Recollection, Recollections
    from pipeline.recall.over_rows import RowRecall, Weighed

__all__ = ["Budget", "Considered", "Recollection", "Recollections", "RowRecall", "Weighed", "retrieve"]


def __getattr__(name: str) -> object:
    if name == "retrieve":
        from pipeline.recall.live import retrieval

        return retrieval.retrieve
    if name in ("RowRecall", "Weighed"):
        from pipeline.recall import over_rows

        return getattr(over_rows, name)
    if name in __all__:
        from pipeline.recall.live import values

        return getattr(values, name)
    raise AttributeError(name)
