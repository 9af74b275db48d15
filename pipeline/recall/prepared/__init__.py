"""What the worker makes ready for the hooks, and reads back from what they wrote."""
