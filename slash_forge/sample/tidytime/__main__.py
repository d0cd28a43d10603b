"""The command line: `python3 -m tidytime "90 min"`."""

import argparse
import sys

from tidytime import DurationError, format_duration, parse_duration, read_timesheet, total


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tidytime", description="Tidy up a duration or add up a timesheet.")
    parser.add_argument("duration", nargs="*", help="such as 1h 30m, or 90 min")
    parser.add_argument("--long", action="store_true", help="write units out: 1 hour 30 minutes")
    parser.add_argument("--timesheet", metavar="FILE", help="add up a file of 'HH:MM-HH:MM task' lines")
    options = parser.parse_args(arguments)
    style = "long" if options.long else "short"
    if options.timesheet:
        with open(options.timesheet, encoding="utf-8") as handle:
            sums = total(read_timesheet(handle.read()))
        for task, seconds in [*sums.items(), ("total", sum(sums.values()))]:
            print(f"{task:10} {format_duration(seconds, style=style)}")
        return 0
    try:
        print(format_duration(parse_duration(" ".join(options.duration)), style=style))
    except DurationError as error:
        print(f"tidytime: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
