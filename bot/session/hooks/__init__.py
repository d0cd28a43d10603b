"""What the supervisor tells the model between tool calls and before the run ends."""
