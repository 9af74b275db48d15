"""The scheduled look for a dream, by the system's own scheduler."""
