"""Watching a tree of transcripts: each that changes is read on soon after, by one queue and one worker."""
