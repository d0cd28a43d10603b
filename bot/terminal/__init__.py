"""What a person at a terminal, or a program that reads our output, sees of a run, and how the person is asked."""
