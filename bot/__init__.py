"""Slash Agent: from `/agent fix this` to a small, tested, explained draft pull request."""

__version__ = "0.1.0"
