"""What we write in a thread and find again there: marks, comments, and what they record of earlier requests."""
