"""What checks mean: which ones there are, how a run of one is judged, what changed between before and after.

Pure decisions over text and numbers. Nothing here runs anything: `bot/run/checks.py` does.
"""
