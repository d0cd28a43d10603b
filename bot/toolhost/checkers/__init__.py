"""Run project checkers and parse their output. `bot/ecosystems` lists them; `bot/evidence/problems.py`
interprets what they report."""
