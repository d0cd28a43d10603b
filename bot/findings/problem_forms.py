"""The new problems of a run as other programs read them: reviewdog's diagnostics and JUnit XML. SARIF is in
`bot/findings/sarif.py`. Pure; the same for the same problems."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from bot.contracts.problems import Compared, Problem

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_rdjsonl(diagnostics: Iterable[Compared]) -> str:
    """Reviewdog Diagnostic Format, a line each; empty where nothing is new."""
    problems = (problem for one in diagnostics if one.complete for problem in one.new)
    return "".join(json.dumps(_diagnostic(problem)) + "\n" for problem in problems)


def to_junit(diagnostics: Sequence[Compared]) -> str:
    """A suite for each checker: a failed case for each new problem, a passed one where there is none, a skipped one
    where it has no answer. Problems that the outcome does not list are one case with their number."""
    root = ElementTree.Element("testsuites", name="new problems")
    for one in diagnostics:
        _suite(root, one)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _diagnostic(problem: Problem) -> dict[str, object]:
    location: dict[str, object] = {"path": problem.path}
    if problem.line > 0:
        start: dict[str, int] = {"line": problem.line}
        # There a column counts bytes, here characters, so without the line's text there is none.
        if 0 < problem.column <= len(problem.snippet) + 1:
            start["column"] = len(problem.snippet[: problem.column - 1].encode(errors="replace")) + 1
        location["range"] = {"start": start}
    told: dict[str, object] = {
        "message": problem.message,
        "location": location,
        "severity": problem.severity.name,
        "source": {"name": problem.tool},
    }
    if problem.code:
        told["code"] = {"value": problem.code}
    return told


def _suite(root: ElementTree.Element, one: Compared) -> None:
    listed = one.new if one.complete else ()
    unlisted = max(one.new_count - len(one.new), 0) if one.complete else 0
    cases = max(len(listed) + bool(unlisted), 1)
    suite = _add(
        root, "testsuite", name=one.tool + one.where, tests=str(cases), failures=str(len(listed) + bool(unlisted)),
        errors="0", skipped=str(int(not one.complete)), time=f"{one.after.duration:.3f}",
    )  # fmt: skip
    for problem in listed:
        case = _add(suite, "testcase", classname=f"{one.tool}.{problem.path}", name=_name(problem), time="0")
        case.set("file", _text(problem.path))
        if problem.line > 0:
            case.set("line", str(problem.line))
        failure = _add(case, "failure", type=problem.code or problem.severity.value, message=problem.message)
        failure.text = _text(f"{problem.path}:{problem.line}: {problem.message}\n{problem.snippet}".rstrip())
    if unlisted:
        case = _add(suite, "testcase", classname=one.tool, name=f"{unlisted} more new problems", time="0")
        _add(case, "failure", type="more", message=f"{unlisted} more new problems, not listed")
    if not listed and not unlisted:
        case = _add(suite, "testcase", classname=one.tool, name="no new problems", time="0")
        if not one.complete:
            note = one.before.note or one.after.note or "no answer on both sides"
            _add(case, "skipped", message=note)


def _name(problem: Problem) -> str:
    return f"{problem.code or problem.tool} {problem.path}:{problem.line}"


def _add(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, {name: _text(value) for name, value in attributes.items()})


def _text(text: str) -> str:
    """What XML cannot hold in any form becomes a question mark."""
    return _NOT_XML.sub("?", text)
