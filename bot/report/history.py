"""What became of each file from version to version, with the step that made it and the command that brings it back."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from bot.agent.versions import Version, Versions
from bot.report.story import Call, VersionRow

Steps = Mapping[str, Mapping[tuple[int, str], Call]]
"""The calls of each agent, by turn and id; the run's own under the empty name."""

_Places = dict[str, dict[str, int]]


def file_versions(history: Versions, steps: Steps) -> dict[str, Sequence[VersionRow]]:
    places: _Places = {}
    return {path: [_row(version, steps, places) for version in found] for path, found in history.items()}


def _row(version: Version, steps: Steps, places: _Places) -> VersionRow:
    restore = (
        f"slash-agent restore journal.jsonl --path {shlex.quote(version.path)} --version {version.number}"
    )
    call = steps.get(version.agent, {}).get((version.turn, version.call_id)) if version.call_id else None
    if call is None:
        return VersionRow(version, restore=restore)
    if call.key not in places:
        shown = enumerate(call.changes, start=1)
        places[call.key] = {change.path: place for place, change in shown if change.diff}
    place = places[call.key].get(version.path)
    return VersionRow(version, call.key, f"{call.key}-diff-{place}" if place else "", restore)
