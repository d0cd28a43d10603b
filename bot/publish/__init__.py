"""From a bundle, which the run wrote, to GitHub, which people read. `publish.py` is where to begin."""
