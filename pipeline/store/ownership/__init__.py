"""Whose a store and a file in it is, and whether code may change it."""
