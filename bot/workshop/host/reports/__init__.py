"""What a check left behind, read inside the wall: test reports, a runner's own words, coverage.

Repository code wrote all of it, so nothing here trusts a size, a name or a kind of file. Standard library only.
"""
