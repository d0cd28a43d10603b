"""Runs checks, tests and checkers before and after the change. `bot/evidence` says what the results mean."""
