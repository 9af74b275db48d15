"""The part of recall that runs in a hook: standard library only, and only its cheap parts."""
