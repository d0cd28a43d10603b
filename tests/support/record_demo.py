"""Writes the recording that `slash-agent demo` plays: the model's turns, and nothing of the machine it ran on.

    python -m tests.support.record_demo

Run it when the journal's schema or a tool's arguments change; `tests/session/test_demo.py` shows that it still plays.
"""

import json
from pathlib import Path
from typing import Any

from bot import __version__
from bot.agent.journal import Journal
from bot.contracts import journal as lines
from bot.contracts.messages import Text, ToolCall, Usage
from bot.contracts.model import ModelInfo
from bot.contracts.request import Actor, Request, RunLimits, Tier

RECORDING = Path(__file__).parents[2] / "bot" / "session" / "demo" / "recordings" / "demo.jsonl"

INFO = ModelInfo("recorded-session", 200_000, 8_000, 3.0, 15.0, 0.3, 3.75)

_ROUND_LAST = """\
        if unit.seconds == 1:
            count = round(remaining)
        else:
            count, remaining = divmod(remaining, unit.seconds)
"""
_CHANGELOG = "# Changelog\n\n## 0.4.0\n"
_NEW_CHANGELOG = """\
# Changelog

## Unreleased

- `format_duration` rounds before it splits into units: 59.7 seconds are `1m`, no longer `60s`.

## 0.4.0
"""
_TEST = '        self.assertEqual(format_duration(3599.6), "1h")\n'

_STEPS = ("Reproduce 60s", "Round before the units are split off", "Cover `parts=1`, say it in the changelog")


_DESCRIPTION = {
    "title": "Round durations before splitting them into units",
    "summary": (
        "`format_duration` rounded only the seconds, after hours and minutes had been split off, so 59.7 became `60s` "
        "and could not carry into the next unit.\n\nThe whole duration is now rounded first. `12.6` still gives "
        "`13s`, as asked in the thread. A test for `parts=1` is added, an import that nothing used is gone, and the "
        "changelog says what changed."
    ),
    "notes": "Rounding stays half-to-even, as before: 0.5 seconds are `0s`.",
}


def _todo(done: int) -> list[dict[str, str]]:
    """The list with its first steps done and the next one in progress."""
    states = ("completed",) * done + ("in_progress",) + ("pending",) * len(_STEPS)
    return [{"text": text, "status": status} for text, status in zip(_STEPS, states, strict=False)]


def _edit(path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    return "edit", {"path": path, "old": old, "new": new}


def _bash(command: str) -> tuple[str, dict[str, Any]]:
    return "bash", {"command": command}


_CODE, _TESTS = "tidytime/format.py", "tests/test_format.py"

TURNS: list[tuple[str, list[tuple[str, dict[str, Any]]]]] = [
    (
        "I'll reproduce the problem first and read the code it comes from.",
        [
            ("todo", {"items": _todo(0)}),
            _bash("python3 -m unittest 2>&1 | tail -n 15"),
            ("view", {"path": _CODE}),
        ],
    ),
    (
        (
            "Only the seconds are rounded, after the larger units were split off, so a rounded-up 60 cannot carry. "
            "Rounding the whole number first fixes that and keeps 12.6 at `13s`."
        ),
        [
            # A slip, which the language servers see where they are there.
            _edit(_CODE, "    remaining = abs(seconds)\n", "    remaining = round(abs(second))\n"),
            _edit(_CODE, _ROUND_LAST, "        count, remaining = divmod(remaining, unit.seconds)\n"),
            ("todo", {"items": _todo(1)}),
            ("view", {"path": _TESTS, "offset": 24, "limit": 12}),
            ("view", {"path": "CHANGELOG.md"}),
        ],
    ),
    (
        (
            "The argument is `seconds`, not `second`. `find` is imported there and never used, so it goes. The issue "
            "also names `parts=1`, which no test covers yet."
        ),
        [
            _edit(_CODE, "round(abs(second))", "round(abs(seconds))"),
            _edit(_CODE, "import UNITS, find", "import UNITS"),
            _edit(
                _TESTS, _TEST, f'{_TEST}        self.assertEqual(format_duration(3599.6, parts=1), "1h")\n'
            ),
            _edit("CHANGELOG.md", _CHANGELOG, _NEW_CHANGELOG),
            _bash("python3 -m unittest 2>&1 | tail -n 4; git diff --stat"),
            # The repository's policy denies it.
            _bash('git commit -am "Round durations before splitting them into units"'),
            ("todo", {"items": _todo(3)}),
        ],
    ),
    (
        "The commit is made for me, so what is left is to say what changed.",
        [("describe_change", _DESCRIPTION)],
    ),
]


def main() -> None:
    RECORDING.parent.mkdir(exist_ok=True)
    RECORDING.unlink(missing_ok=True)
    with Journal(RECORDING, lambda text: text, clock=lambda: 0.0) as journal:
        journal.write(_header())
        number = 0
        for turn, (text, calls) in enumerate(TURNS, start=1):
            parts: list[Text | ToolCall] = [Text(text)] if text else []
            for name, arguments in calls:
                number += 1
                parts.append(ToolCall(f"call_{number}", name, json.dumps(arguments)))
            # Roughly what such a session takes; a recording costs nothing.
            usage = Usage(input=400, cache_read=2_000 * turn, cache_write=600, output=180)
            journal.write(lines.Response(turn, tuple(parts), "tool_use", "tool_use", usage, INFO.cost(usage)))


def _header() -> lines.Header:
    return lines.Header(
        schema=lines.SCHEMA_VERSION,
        version=__version__,
        started_at="2026-11-21T12:00:00Z",
        model=INFO.name,
        info=INFO,
        base_sha="0" * 40,
        request=Request("fix", "this issue", Actor("mira-okafor", 0, Tier.MAINTAINER), "", "", ""),
        system="",
        tools=(),
        limits=RunLimits(),
    )


if __name__ == "__main__":
    main()
