"""What every layer stands on: errors, ids, the clock, files and locks, processes, paths under the home."""
