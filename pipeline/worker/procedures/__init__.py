"""Procedures from real work: command sequences that ran in several sessions, put into words and proposed.

looking     the commands of a project's latest sessions
sequences   what was done in the same order in more than one session
asking      one question for each; every step of the answer cites the commands it rests on
"""
