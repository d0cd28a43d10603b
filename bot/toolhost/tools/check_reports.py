"""`check_reports`: read the reports that a check wrote. Called by the supervisor only: once before a check, for the
stamps of existing files, and once after it, for the new ones."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.ecosystems.registry import ecosystems
from bot.ecosystems.test_results import ParsedTests
from bot.toolhost import test_reports
from bot.toolhost.context import Context
from bot.toolhost.open_watch import OpenWatch
from bot.toolhost.test_reports import PLACES, ReportError, Stamp


def run(
    context: Context,
    junit: Sequence[str] = (),
    places: Sequence[str] = (),
    watch: Sequence[str] = (),
    stamps: Mapping[str, Stamp] | None = None,
    spill: str = "",
    **report: Any,
) -> ToolOutcome:
    """`junit` are patterns from the policy, `places` where the tools of the check write reports. With `spill`, the
    check's output, the reports that are new since `stamps` are read. From a call with `watch`, paths of the tree, until
    the next one with `spill`, it is watched which of them are opened; `opened` is missing if that is unknown."""
    now = test_reports.find(context.root, junit or (*PLACES, *places))
    metadata: dict[str, Any] = {"stamps": now}
    if spill:
        metadata |= _opened(context)
        new = sorted(name for name, stamp in now.items() if (stamps or {}).get(name) != stamp)
        tests = _tests(context, new, junit, spill, **report)
        metadata["tests"] = tests.message() if tests else None
    if watch:
        _opened(context)
        with suppress(OSError):
            context.watch = OpenWatch(context.root, watch)
    return ToolOutcome("", metadata=metadata)


def _opened(context: Context) -> dict[str, list[str]]:
    """End the watch, if there is one."""
    watch, context.watch = context.watch, None
    return {"opened": watch.end()} if watch else {}


def _tests(
    context: Context,
    new: Sequence[str],
    junit: Sequence[str],
    spill: str,
    asked: str = "",
    sure: bool = False,
) -> ParsedTests | None:
    """The tests of a new report, else of the output. `asked` is a file in the temporary folder: the report that a
    runner was told to write; with `sure` it counts even if there were several runs."""
    drop = f"{context.real_root}/"
    printed, trouble = _output(Path(spill), context)
    notes: list[str] = []
    if asked and (context.tmp / asked).exists():
        # The one that can be told to write a report.
        runner = next(runner for one in ecosystems() for runner in one.runners if runner.name)
        if sure or (not trouble and test_reports.runs(runner.end, printed) < 2):
            tests, notes = _junit([(asked, context.tmp)], context, f"{runner.name}'s report", drop)
            if tests is not None:
                return tests
        else:
            notes = [f"{runner.name} may have run more than once, so its report is not taken"]
    if new:
        tests, trouble_in_it = _junit([(name, context.root) for name in new], context, "JUnit report", drop)
        notes += trouble_in_it
        if tests is not None:
            tests.notes += notes
            return tests
    elif junit:
        notes.append(f"no new report at {', '.join(junit)}")
    tests = test_reports.parse_output(printed, drop)
    if tests is None and (notes or trouble):
        tests = ParsedTests("", whole=False)
    if tests is not None:
        tests.notes += [*notes, *([trouble] if trouble else [])]
    return tests


def _junit(
    files: Iterable[tuple[str, Path]], context: Context, source: str, drop: str
) -> tuple[ParsedTests | None, list[str]]:
    tests, notes, count, left = ParsedTests(source), [], 0, test_reports.MOST_BYTES
    for name, folder in files:
        label = name if folder == context.root else source
        try:
            content = test_reports.read(folder / name, folder, min(test_reports.LARGEST, left))
            left -= len(content)
            tests.merge(test_reports.parse_junit(content, source, drop))
        except ReportError as error:
            notes.append(f"{label} {error}")
            tests.whole = False
            continue
        count += 1
    return (tests if count else None), notes


def _output(spill: Path, context: Context) -> tuple[str, str]:
    """The output of the check, or why it cannot be read."""
    try:
        content = test_reports.read(spill, context.spill, test_reports.LARGEST_OUTPUT)
    except ReportError as error:
        return "", f"its output {error}"
    return content.decode("utf-8", "replace"), ""
