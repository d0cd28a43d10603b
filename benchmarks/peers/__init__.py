"""Ours beside other agents that are run from a command line, on one repository and one scripted model."""
