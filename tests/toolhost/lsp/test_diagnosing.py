"""`Diagnosing` without a tool host: its limits, and late requests that are sent again."""

import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.evidence import Answer, Problem, Severity
from bot.contracts.tools import Answer as Permission
from bot.contracts.tools import ToolOutcome
from bot.ecosystems.registry import servers as known_servers
from bot.toolhost.context import Context, Records
from bot.toolhost.lsp.client import LanguageServer
from bot.toolhost.lsp.diagnosing import Diagnosing, Report, in_order, new_problems
from bot.toolhost.lsp.launch import environment_of
from bot.toolhost.scan import Scanner
from tests.support.files import write_file
from tests.support.language_servers import LONG, PLAYER, item, pulls
from tests.support.workspaces import eventually

NAMES = tuple(known.name for known in known_servers())
CLEAN: list[Any] = [["items", []]]

Begin = Callable[..., "Looked"]


class Looked:
    """A session with scripted servers on a folder; the others are off."""

    def __init__(self, folder: Path, wait: object, scripts: Mapping[str, Mapping[str, Any] | str]) -> None:
        self.folder = folder
        self.root = folder / "tree"
        for name in ("tree", "tmp"):
            (folder / name).mkdir()
        servers: dict[str, dict[str, Any]] = {name: {"off": True} for name in NAMES}
        for name, what in scripts.items():
            if isinstance(what, str):
                servers[name] = {"command": what}
                continue
            (folder / f"{name}.json").write_text(json.dumps(what))
            words = [sys.executable, "-I", "-S", PLAYER, folder / f"{name}.json", folder / f"{name}.log"]
            servers[name] = {"command": shlex.join(map(str, words))}
        self.context = Context(
            root=self.root,
            tmp=folder / "tmp",
            spill=folder / "tmp",
            environment={"PATH": "/usr/bin:/bin", "HTTPS_PROXY": "http://out", "no_proxy": "x", "LANG": "C"},
            ask=lambda *asked: Permission(True),
            records=Records(),
        )
        self.base: dict[str, str] = {}
        scanner = Scanner(self.context)
        scanner.base_content = lambda path: self.base[path].encode() if path in self.base else None  # type: ignore[method-assign]
        self.session = Diagnosing(self.context, scanner, {"wait": wait, "servers": servers})

    @property
    def servers(self) -> list[LanguageServer]:
        return list(self.session._servers.values())

    def read(self, name: str, content: str) -> None:
        (self.root / name).write_text(content)
        self.session.after("view", ToolOutcome("", metadata={"path": name}))
        assert eventually(lambda: all(one.is_done(list(one.documents)) for one in self.servers))

    def change(self, name: str, content: str | None, moved_from: str = "") -> dict[str, Any]:
        """The record of an edit, with the text that the model gets."""
        (self.root / name).write_text(content) if content is not None else (self.root / name).unlink()
        moved = {"moved_from": moved_from} if moved_from else {}
        edited = ToolOutcome("", metadata={"path": name, "after_hash": "x", **moved})
        outcome = self.session.after("edit", edited)
        return {**outcome.metadata.get("diagnostics", {}), "text": outcome.content}


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    begun: list[Looked] = []

    def start(wait: object = LONG, **scripts: Mapping[str, Any] | str) -> Looked:
        begun.append(Looked(tmp_path, wait, scripts))
        return begun[-1]

    yield start
    for one in begun:
        for server in one.servers:
            server.end()


def test_what_comes_late_counts_with_the_next_change(begin: Begin):
    late: list[Any] = [["until", "go"], ["items", [item("late")]]]
    looked = begin(0.1, ty=pulls(CLEAN, CLEAN, late, CLEAN, [["items", [item("late")]]]))
    looked.read("a.py", "a\n")
    looked.read("b.py", "b\n")
    assert looked.change("a.py", "aa\n")["text"] == "Diagnostics: ty did not answer in 0.1 s; state unknown"
    (looked.root / "go").touch()
    [server] = looked.servers
    assert eventually(lambda: server.is_done(["a.py"]))
    looked.session._settings = replace(looked.session._settings, wait=LONG)
    new = looked.change("b.py", "bb\n")["new"]
    assert [(one["path"], one["message"]) for one in new] == [("a.py", "late")]


def test_one_that_does_not_answer_is_waited_for_once(begin: Begin):
    looked = begin(0.2, ty=pulls([["until", "ready"], ["items", []]], [["items", [item("wrong")]]]))
    (looked.root / "a.py").write_text("a\n")
    looked.session.after("view", ToolOutcome("", metadata={"path": "a.py"}))
    unknown = "Diagnostics: ty did not answer in 0.2 s; state unknown"
    assert looked.change("a.py", "b\n")["text"] == unknown
    began = time.monotonic()
    assert looked.change("a.py", "c\n")["text"] == ""  # said once
    assert time.monotonic() - began < LONG


def test_what_is_not_there_is_said_once_and_no_other_server_runs(begin: Begin):
    looked = begin(ty=pulls(CLEAN), gopls="/no/such/server")
    missing = "Diagnostics: gopls is not available: it could not be started: No such file or directory"
    assert [looked.change("m.go", text)["text"] for text in ("package a", "package b")] == [missing, ""]
    looked.change("notes.md", "x")
    assert not (looked.folder / "ty.log").exists()


def test_a_fault_of_its_own_costs_the_diagnostics_and_is_said_once(begin: Begin):
    looked = begin("no number", ty=pulls(CLEAN))
    said = [looked.change("a.py", text)["text"] for text in ("a", "b")]
    assert said[0].startswith("\nDiagnostics are off for the rest of the run: TypeError: ")
    assert said[1] == ""


def test_one_server_of_a_kind_serves_all_projects(begin: Begin):
    looked = begin(ty=pulls(CLEAN, CLEAN, [["items", [item("new")]]]))
    for folder in ("a", "b"):
        write_file(looked.root / folder / "pyproject.toml", "")
        looked.read(f"{folder}/x.py", "a\n")
    assert looked.change("b/x.py", "b\n")["tools"] == [["ty", "complete"]]
    log = [json.loads(line) for line in (looked.folder / "ty.log").read_text().splitlines()]
    roots = [line["params"]["rootUri"] for line in log if line.get("method") == "initialize"]
    assert [Path(root).name for root in roots] == ["a"]


def test_ten_other_files_that_were_read_are_looked_at_with_a_change(begin: Begin):
    looked = begin(ty=pulls(CLEAN))
    for number in range(12):
        looked.read(f"{number}.py", "a\n")
    before = (looked.folder / "ty.log").read_text().count('textDocument/diagnostic"')
    assert looked.change("0.py", "b\n")["text"] == "Diagnostics: no new problems (ty)"
    asked = (looked.folder / "ty.log").read_text().count('textDocument/diagnostic"')
    assert (before, asked) == (12, 12 + 1 + 10)


def test_a_file_that_was_moved_keeps_what_was_in_it_before(begin: Begin):
    looked = begin(ty=pulls([["items", [item("old")]]]))
    looked.read("a.py", "a\n")
    (looked.root / "a.py").unlink()
    report = looked.change("b.py", "a\nb\n", moved_from="a.py")
    assert report["text"] == "Diagnostics: no new problems (ty)"


def test_a_file_changed_before_it_was_read_is_held_against_what_the_run_began_with(begin: Begin):
    looked = begin(ty=pulls([["items", [item("old")]]], [["items", [item("old"), item("new", 1)]]]))
    looked.base["a.py"] = "before\n"
    new = looked.change("a.py", "after\nmore\n")["new"]
    assert [problem["message"] for problem in new] == ["new"]
    log = (looked.folder / "ty.log").read_text()
    assert log.index('"text": "before') < log.index("after")


def test_nothing_that_leads_out_is_in_a_server_s_environment(begin: Begin):
    looked = begin()
    gopls = next(known for known in known_servers() if known.name == "gopls")
    environment = environment_of(gopls, looked.context)
    assert not [name for name in environment if "proxy" in name.lower() and name != "GOPROXY"]
    assert environment["GOPROXY"] == "off"
    assert environment["GOCACHE"] == f"{looked.folder}/tmp/go"
    assert environment["LANG"] == "C"


BOTH = {"ty": Answer.COMPLETE, "ruff": Answer.COMPLETE}
LATE = {"ty": Answer.TIMED_OUT}
NO_ANSWER = "ty did not answer in 2 s; state unknown"


def problem(message: str = "wrong", line: int = 1, *, snippet: str = "x", **more: str) -> Problem:
    given = {"tool": "ty", "path": "src/a.py", "code": "bad", "severity": "error"} | more
    severity = Severity(given["severity"])
    return Problem(given["tool"], given["path"], line, 5, severity, given["code"], message, snippet=snippet)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([problem(), problem("other", 2)], [problem(line=8), problem("other", 9)]),
        ([problem(snippet="f(1)")], [problem(snippet="f(1, 2)")]),
        ([problem("redefined, see line 12")], [problem("redefined, see line 14")]),
    ],
    ids=["moved", "line edited", "line in the message"],
)
def test_an_old_problem_is_not_new(before: list[Problem], now: list[Problem]):
    assert new_problems(before, now) == []


def test_the_same_once_more_is_new_and_it_is_the_right_one():
    now = [problem(line=1, snippet="new()"), problem(line=5, snippet="old()")]
    assert new_problems([problem(snippet="old()")], now) == [now[0]]


@pytest.mark.parametrize("differs", [{"code": "d"}, {"tool": "ruff"}, {"severity": "warning"}])
def test_another_code_tool_or_severity_is_another_problem(differs: dict[str, str]):
    assert new_problems([problem()], [problem(**differs)]) == [problem(**differs)]


def test_errors_come_first_then_the_changed_file_and_a_position_has_one_tool():
    first, second = problem(path="b.py"), problem(path="a.py")
    warning = problem(path="b.py", severity="warning", line=2)
    every = [warning, second, first, problem(path="a.py", tool="ruff")]
    assert in_order(every, ["b.py"]) == [first, second, warning]


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (Report(BOTH, ()), "Diagnostics: no new problems (ty, ruff)"),
        (Report(LATE, (), unknown=NO_ANSWER), f"Diagnostics: {NO_ANSWER}"),
        (Report(BOTH | LATE, (), unknown=NO_ANSWER), f"Diagnostics: no new problems (ruff); {NO_ANSWER}"),
        (Report({"ty": Answer.UNAVAILABLE}, ()), ""),
        (Report({}, (), notes=["ty is not available: no"]), "Diagnostics: ty is not available: no"),
        (Report(BOTH, [problem()]), "Diagnostics (ty, ruff; complete): 1 new (1 shown before)"),
        (
            Report(BOTH, [problem("a", 12), problem("b")], [problem("a", 12, snippet="  f(x)")]),
            """\
Diagnostics (ty, ruff; complete): 2 new (1 shown before)
src/a.py:12:5 error ty:bad a
    12 |   f(x)""",
        ),
    ],
)
def test_the_text_says_what_is_known(report: Report, text: str):
    assert report.text() == text


def test_ten_problems_are_shown_and_the_rest_is_counted():
    many = [problem(str(number), snippet="") for number in range(12)]
    report = Report(BOTH, many, many)
    lines = report.text().splitlines()
    assert (len(lines), lines[-1]) == (12, "[2 more new ones are not shown]")
    record = report.record()
    assert (record["new_count"], len(record["new"])) == (12, 10)
