"""A plan: posted for people to read, found again when one is approved, and carried out once."""
