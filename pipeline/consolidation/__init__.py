"""The dream: gates, selection, a plan of operations, their check, one change set, a report."""
