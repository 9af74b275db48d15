"""What the recall hooks need before anything else, made of the cheapest parts of the standard library.

A person waits while these hooks run, so every module here imports only what costs next to nothing: ``json``
alone would double the time of a bare interpreter start, ``pathlib`` and ``re`` do it too. The rest of the
program uses the same functions, so that no rule exists twice.
"""
