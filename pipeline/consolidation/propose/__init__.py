"""What could be done: operations proposed by a model, and by rules that need none."""
