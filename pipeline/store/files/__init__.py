"""Files of a store: which there are, what a valid memory file is, how one is read and written."""
