"""Display of a run at a terminal or for a program, and the questions to a person."""
