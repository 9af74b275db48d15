"""Claudia's memory: its categories and sections, and the sessions of Pi that it takes in."""
