"""Replay a run, restore a file from it, salvage a run that died."""
