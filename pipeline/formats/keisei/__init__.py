"""KeiSeiKit's memory: traces of tool use, journals of time and claims, the ledger of agents."""
