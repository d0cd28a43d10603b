"""What became of each step of an approved plan, by the files that it names. People judge whether it is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.contracts.outcome import ChangedFile, Outcome, WithheldFile
from bot.contracts.plan import MAX_STEPS, PlanStep
from bot.publish.text.shown import shown_code, shown_line

_TEXT = 1_000
_NAMED = 5


def steps(
    outcome: Outcome, files: Sequence[ChangedFile], withheld: Sequence[WithheldFile], room: float
) -> list[str]:
    """One line of Markdown for each step."""
    plan = outcome.request.plan
    if plan is None:
        return []
    changed, held = [file.path for file in files], [file.path for file in withheld]
    lines = [_line(step, changed, held, int(_TEXT * room)) for step in plan.steps[: int(MAX_STEPS * room)]]
    left = len(plan.steps) - len(lines)
    return [*lines, *([f"and {left} more"] if left else [])]


def untouched(outcome: Outcome, files: Sequence[ChangedFile]) -> Iterator[tuple[int, list[str]]]:
    """The number of each step that names files which the change does not touch, and those files."""
    changed = [file.path for file in files]
    for number, step in enumerate(outcome.request.plan.steps if outcome.request.plan else (), 1):
        if missing := [path for path in step.paths if not _touched(path, changed)]:
            yield number, missing


def named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(shown_code(path, 120) for path in paths[:_NAMED]) + more


def _line(step: PlanStep, changed: Sequence[str], held: Sequence[str], limit: int) -> str:
    text = shown_line(step.text, limit)
    if not step.paths:
        return f"{text} (names no file)"
    parts = {
        "changed": [path for path in step.paths if _touched(path, changed)],
        "held back": [path for path in step.paths if not _touched(path, changed) and _touched(path, held)],
    }
    parts["not touched"] = [path for path in step.paths if path not in parts["changed"] + parts["held back"]]
    told = "; ".join(f"{word}: {named(paths)}" for word, paths in parts.items() if paths)
    mark = "✅" if len(parts["changed"]) == len(step.paths) else "⚠️"
    return f"{mark} {text} ({told})"


def _touched(path: str, paths: Sequence[str]) -> bool:
    """A step may name a folder."""
    return any(one == path or one.startswith(f"{path.rstrip('/')}/") for one in paths)
