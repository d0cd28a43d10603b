"""The work trees of one run and the workspaces started on them: the agent's own, setup, each round of checks."""
