"""Memory formats of other programs, one module or package each, read and written on their own terms."""
