"""Run checks, tests and checkers before and after the change. `bot/evidence` interprets the results."""
