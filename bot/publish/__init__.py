"""Publish the bundle of a run on GitHub. Begin with `publish.py`."""
