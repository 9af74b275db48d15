"""The dream: gates, selection, a plan of operations, their check, the changes, a report."""
