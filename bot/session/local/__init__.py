"""The verbs of a local checkout: `fix`, `review`, `tool`, `policy explain`, and the trial of checks."""
