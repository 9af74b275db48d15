"""Values that every layer shares: memories, speech, jobs. No input or output happens here."""
