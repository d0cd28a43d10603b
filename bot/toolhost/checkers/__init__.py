"""Run project checkers and parse their output. `bot/evidence/checkers.py` lists them; `bot/evidence/problems.py`
interprets what they report."""
