"""A day's work, one line an entry: `09:00-10:30 writing`."""

import re
from typing import NamedTuple

_LINE = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})\s+(.+)")


class Entry(NamedTuple):
    task: str
    seconds: int


def read_timesheet(text):
    """The entries of a timesheet, in order. Blank lines and `#` comments are skipped."""
    entries = []
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"line {number}: expected 'HH:MM-HH:MM task', got {line!r}")
        start = _seconds(match[1], match[2], number)
        end = _seconds(match[3], match[4], number)
        if end < start:
            # Past midnight.
            end += 24 * 3600
        entries.append(Entry(match[5].strip(), end - start))
    return entries


def total(entries):
    """Seconds by task, in order of first appearance."""
    sums = {}
    for entry in entries:
        sums[entry.task] = sums.get(entry.task, 0) + entry.seconds
    return sums


def _seconds(hours, minutes, number):
    seconds = int(hours) * 3600 + int(minutes) * 60
    if int(minutes) > 59 or seconds > 24 * 3600:
        raise ValueError(f"line {number}: {hours}:{minutes} is not a time of day")
    return seconds
