"""What was: generations kept for undo, what left for the archive, the daily log."""
