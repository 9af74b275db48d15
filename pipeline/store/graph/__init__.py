"""How memories are joined: relations in front matter, a file for each edge, and what keeps them in step.

The markdown is the truth: a relation stands at both of its ends, and where it has an ``edge_id`` the file of
that edge has the last word about it. Source: schema v3, checklist C-04 to C-08.
"""
