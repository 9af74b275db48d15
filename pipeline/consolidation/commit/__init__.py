"""From a checked plan to a changed store, a report and REFLECTION.md, across a crash."""
