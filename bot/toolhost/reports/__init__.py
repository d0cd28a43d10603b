"""Parse what a check left behind: test reports, runner output, coverage.

Repository code wrote all of it, so no size, name or file type is trusted. Standard library only.
"""
