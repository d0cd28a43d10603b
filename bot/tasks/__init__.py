"""Maintenance tasks: Markdown files in `.github/agent/`, when they are due, and whether they may run now."""
