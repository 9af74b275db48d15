"""What is known of the files of a store without reading them: one SQLite file, never trusted over them."""
