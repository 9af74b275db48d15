"""What is made from the memories alone and can be made again: MEMORY.md, `_index.json`, CORE.md, counts."""
