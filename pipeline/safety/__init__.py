"""What may be stored, shown and sent: no secrets, permissions, instructions or invisible characters."""
