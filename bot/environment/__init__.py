"""Detect from its files how a repository is installed and checked."""
