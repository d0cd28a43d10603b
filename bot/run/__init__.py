"""The way of a run, from request to bundle. Begin with `run.py`."""
