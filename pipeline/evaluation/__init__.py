"""How good it is: sessions with gold lists scored, and the demonstration."""
