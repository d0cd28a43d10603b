"""The verbs of `/agent`: one file each. To add one, read the recipe in `registry.py`."""
