"""`check_reports`: what a check left that says more than its exit code. The supervisor's own question and no tool of
the model's: asked once before a check for what is there already, and once after it for what is new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.toolhost.context import Context
from bot.toolhost.reports import coverage, files, junit, runner_output
from bot.toolhost.reports.files import ReportError, Stamp
from bot.toolhost.reports.test_results import ParsedTests

PLACES = (
    "junit.xml",
    "test-results.xml",
    "test-results/*.xml",
    "reports/junit.xml",
    "target/surefire-reports/TEST-*.xml",
    "build/test-results/**/TEST-*.xml",
    "target/nextest/**/junit.xml",
)
"""Where reporters leave JUnit XML unless told otherwise: read where a check has just written it."""

_DATABASE = ".coverage"


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    """`junit` and `coverage` are patterns that policy names. With `spill`, the check's output, the tests are read that
    are new since `stamps`; with `lines`, the new coverage of those. `asked` and `converted` are files in the temporary
    folder: the report that pytest was asked for, and coverage that was converted."""
    junit_patterns = [str(one) for one in arguments.get("junit", ())]
    coverage_patterns = [str(one) for one in arguments.get("coverage", ())]
    stamps_found = files.find(context.root, junit_patterns or PLACES)
    measured = files.find(context.root, coverage_patterns or (*coverage.PLACES, _DATABASE))
    before = arguments.get("stamps", {})
    measured_now = _new(measured, before)
    metadata: dict[str, Any] = {"stamps": {**stamps_found, **measured}, "measured": bool(measured_now)}
    if arguments.get("spill"):
        tests = _tests(_new(stamps_found, before), junit_patterns, arguments, context)
        metadata["tests"] = tests.message() if tests else None
    if lines := arguments.get("lines"):
        metadata["coverage"] = _coverage(measured_now, lines, arguments.get("converted"), context)
    return ToolOutcome("", metadata=metadata)


def _new(stamps_found: Mapping[str, Stamp], before: Mapping[str, Stamp]) -> list[str]:
    return sorted(name for name, stamp in stamps_found.items() if before.get(name) != stamp)


def _tests(
    new: Iterable[str], junit_patterns: Iterable[str], arguments: Mapping[str, Any], context: Context
) -> ParsedTests | None:
    """By a report if there is a new one, else by the output."""
    drop = f"{context.real_root}/"
    printed, trouble = _output(Path(str(arguments["spill"])), context)
    notes = []
    pytest_report = str(arguments.get("asked") or "")
    if pytest_report and (context.tmp / pytest_report).exists():
        once = not trouble and runner_output.sessions_of_pytest(printed) < 2
        if once or arguments.get("sure") is True:
            tests, trouble_in_it = _junit([(pytest_report, context.tmp)], "pytest's report", drop)
            if tests is not None:
                return tests
            notes += trouble_in_it
        else:
            notes.append("pytest may have run more than once, so its report is not taken")
    if reports := [(name, context.root) for name in new]:
        tests, trouble_in_it = _junit(reports, "JUnit report", drop)
        notes += trouble_in_it
        if tests is not None:
            tests.notes += notes
            return tests
    elif junit_patterns:
        notes.append(f"no new report at {', '.join(junit_patterns)}")
    tests = runner_output.parse(printed, drop)
    if tests is None and (notes or trouble):
        tests = ParsedTests("", whole=False)
    if tests is not None:
        tests.notes += [*notes, *([trouble] if trouble else [])]
    return tests


def _junit(
    reports: Iterable[tuple[str, Path]], source: str, drop: str
) -> tuple[ParsedTests | None, list[str]]:
    tests, notes, read, left = ParsedTests(source), [], 0, files.MOST_BYTES
    for name, folder in reports:
        label = name if source != "pytest's report" else source
        part = ParsedTests(source)
        try:
            content = files.read(folder / name, folder, min(files.LARGEST, left))
            left -= len(content)
            junit.parse(content, part, drop)
        except ReportError as error:
            notes.append(f"{label} {error}")
            tests.whole = False
            continue
        tests.merge(part)
        read += 1
    return (tests if read else None), notes


def _output(spill: Path, context: Context) -> tuple[str, str]:
    """What the check printed, and why it is not read where it is not."""
    try:
        content = files.read(spill, context.spill, runner_output.LARGEST)
    except ReportError as error:
        return "", f"its output {error}"
    return ("", "") if b"\0" in content[:4096] else (content.decode("utf-8", "replace"), "")


def _coverage(
    new: Iterable[str], lines: Mapping[str, Any], converted: object, context: Context
) -> dict[str, Any]:
    wanted = {path: [line for line in some if type(line) is int] for path, some in lines.items()}
    measured = coverage.Measured(context.root, wanted)
    for name in new:
        if name != _DATABASE:
            measured.take(name)
    if isinstance(converted, str) and converted:
        measured.take(_DATABASE, context.tmp / converted)
    return {**measured.message(), "database": not measured.sources and _DATABASE in new}
