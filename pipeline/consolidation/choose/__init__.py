"""What a dream looks at: changed memories, their neighbours, bounded groups."""
