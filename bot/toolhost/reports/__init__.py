"""Parse what a check left behind: test reports and runner output.

Repository code wrote all of it, so no size, name or file type is trusted. Standard library only.
"""
