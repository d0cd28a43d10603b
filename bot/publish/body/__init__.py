"""Render an outcome as the title and text of a pull request. Pure."""
