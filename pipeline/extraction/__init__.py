"""Extraction: from what was said to candidate memories, screened by code and written as one change set."""
