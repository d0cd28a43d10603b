"""Maintenance tasks: Markdown files in `.github/agent/`, their schedules, and whether they run now."""
