"""`RunContext`, the conversation, the result of a run and its bundle."""
