"""Procedures from real work: command sequences that ran in several sessions, put into words and proposed.

sequences   what was done in the same order in more than one session
asking      one question a dream about the newest of them; every step cites the commands it rests on
"""
