"""Whole-project checkers behind the wall: found, and their output read. Which there are is data of
`bot/evidence/checkers.py`; what their finds mean is decided in `bot/evidence/problems.py`."""
