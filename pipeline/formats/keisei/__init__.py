"""KeiSeiKit's traces: what a session's tools did, as lines that jq, awk and pandas read without us."""
