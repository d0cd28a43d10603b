"""Durations for people: read them, write them, add them up."""

from tidytime.format import format_duration
from tidytime.parse import DurationError, parse_duration
from tidytime.timesheet import Entry, read_timesheet, total

__all__ = ["DurationError", "Entry", "format_duration", "parse_duration", "read_timesheet", "total"]
