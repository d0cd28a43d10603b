"""`DiagnosticsService` without a tool host: its limits, and late requests that are sent again."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.evidence import Answer
from bot.toolhost.context import Answer as Permission
from bot.toolhost.context import Context
from bot.toolhost.file_history import FileHistory
from bot.toolhost.lsp.launch import BaseCommit, LaunchPolicy, Settings, environment_of
from bot.toolhost.lsp.registry import SERVERS
from bot.toolhost.lsp.report import Report, text
from bot.toolhost.lsp.service import DiagnosticsService
from bot.toolhost.records import Records
from tests.support.language_servers import LONG, PLAYER, PULL, item, pulls, script
from tests.support.workspaces import eventually

NAMES = tuple(known.name for known in SERVERS)
CLEAN: list[Any] = [["items", []]]

Begin = Callable[..., "Looked"]


class Looked:
    """A session with scripted servers on a folder; the others are off."""

    def __init__(self, folder: Path, wait: float, scripts: Mapping[str, Mapping[str, Any]]) -> None:
        self.folder = folder
        self.root = folder / "tree"
        for name in ("tree", "tmp", "history"):
            (folder / name).mkdir()
        self.base: dict[str, str] = {}
        servers: dict[str, dict[str, Any]] = {name: {"off": True} for name in NAMES}
        for name, what in scripts.items():
            (folder / f"{name}.json").write_text(json.dumps(what))
            words = [sys.executable, "-I", "-S", PLAYER, folder / f"{name}.json", folder / f"{name}.log"]
            servers[name] = {"command": shlex.join(map(str, words))}
        context = Context(
            root=self.root,
            tmp=folder / "tmp",
            spill=folder / "tmp",
            environment={"PATH": "/usr/bin:/bin", "HTTPS_PROXY": "http://out", "no_proxy": "x", "LANG": "C"},
            ask=lambda *asked: Permission(True),
            records=Records(),
            history=FileHistory(folder / "history"),
        )
        launch_policy = LaunchPolicy(since=time.time_ns())
        settings = Settings(wait, servers, launch_policy=launch_policy)
        self.session = DiagnosticsService(
            context, settings, self.base.get, self._now, BaseCommit(self._began_with)
        )

    def _began_with(self, name: str) -> bytes | None:
        return None if name not in self.base else self.base[name].encode()

    def read(self, name: str, content: str) -> None:
        (self.root / name).write_text(content)
        self.session.read(name, content)
        self.session.settle(time.monotonic() + LONG)

    def change(self, name: str, content: str, **moved: str) -> Report | None:
        (self.root / name).write_text(content)
        return self.session.changed([name], moved, time.monotonic())

    def _now(self, name: str) -> str | None:
        path = self.root / name
        return path.read_text() if path.exists() else None


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    begun: list[Looked] = []

    def start(wait: float = LONG, **scripts: Mapping[str, Any]) -> Looked:
        begun.append(Looked(tmp_path, wait, scripts))
        return begun[-1]

    yield start
    for one in begun:
        one.session.end()


def said(report: Report | None) -> str:
    assert report is not None
    return text(report)


def test_no_more_than_six_servers_are_started_in_many_projects(begin: Begin) -> None:
    looked = begin(ty=pulls(CLEAN))
    for number in range(7):
        (looked.root / str(number)).mkdir()
        (looked.root / str(number) / "pyproject.toml").write_text("")
        looked.read(f"{number}/a.py", "a\n")
    assert "no new problems (ty)" in said(looked.change("5/a.py", "b\n"))
    assert "ty is not available: there are 6 servers already" in said(looked.change("6/a.py", "b\n"))


def test_what_is_late_of_another_file_is_told_when_it_comes(begin: Begin) -> None:
    late: list[Any] = [["until", "go"], ["items", [item("late")]]]
    looked = begin(0.1, ty=pulls(CLEAN, CLEAN, late, [["items", [item("at once")]]]))
    looked.read("a.py", "a\n")
    looked.read("b.py", "b\n")
    assert "state unknown" in said(looked.change("a.py", "aa\n"))
    assert looked.session.late_report() is None
    assert "state unknown" in said(looked.change("b.py", "bb\n"))
    (looked.root / "go").touch()
    reports: list[Report] = []
    assert eventually(lambda: bool(reports.extend(filter(None, [looked.session.late_report()])) or reports))
    assert reports[0].files == ("a.py", "b.py")
    assert [problem.message for problem in reports[0].change.new] == ["late", "at once"]
    assert looked.session.late_report() is None


def test_one_that_does_not_answer_is_waited_for_once_and_answers_later(begin: Begin) -> None:
    looked = begin(0.2, ty=pulls([["until", "ready"], ["items", []]], [["items", [item("wrong")]]]))
    looked.session.read("a.py", "a\n")
    waiting = "Diagnostics: ty is still getting ready; what is found comes with a later result"
    assert said(looked.change("a.py", "b\n")) == waiting
    began = time.monotonic()
    looked.session.settle(time.monotonic() + 10 * LONG)
    assert said(looked.change("a.py", "c\n")) == waiting
    assert time.monotonic() - began < 10 * LONG
    assert looked.session.late_report() is None
    (looked.root / "ready").touch()
    reports: list[Report] = []
    assert eventually(lambda: bool(reports.extend(filter(None, [looked.session.late_report()])) or reports))
    assert said(reports[0]).startswith("Diagnostics of a.py, changed before (ty; complete): 1 new")
    assert not looked.session.uses()[0].note


def test_what_came_late_of_a_text_that_is_no_more_is_not_told(begin: Begin) -> None:
    late: list[Any] = [["until", "go"], ["items", [item("late")]]]
    looked = begin(0.1, ty=pulls(CLEAN, late, CLEAN))
    looked.read("a.py", "a\n")
    assert "state unknown" in said(looked.change("a.py", "aa\n"))
    looked.change("a.py", "aaa\n")
    (looked.root / "go").touch()
    reports: list[Report] = []
    assert eventually(lambda: bool(reports.extend(filter(None, [looked.session.late_report()])) or reports))
    assert said(reports[0]) == "Diagnostics of a.py, changed before: no new problems (ty)"


def test_each_of_several_projects_has_a_server_of_a_kind(begin: Begin) -> None:
    looked = begin(
        ty=pulls(
            CLEAN,
            CLEAN,
            [["items", [item("new")]]],
            CLEAN,
            lives={"1": pulls(CLEAN, [["items", [item("b")]]])},
        )
    )
    for folder in ("a/src", "b"):
        (looked.root / folder).mkdir(parents=True)
        (looked.root / folder / "pyproject.toml").write_text("")
    for name in ("a/src/x.py", "a/src/y.py", "b/x.py"):
        looked.read(name, "a\n")
    for name in ("a/src/x.py", "b/x.py"):
        (looked.root / name).write_text("b\n")
    report = looked.session.changed(["a/src/x.py", "b/x.py"], {}, time.monotonic())
    assert report is not None
    assert report.tools == (("ty", Answer.COMPLETE),)
    assert [problem.path for problem in report.change.new] == ["a/src/x.py", "b/x.py"]
    assert [use.name for use in report.uses] == ["ty"]
    log = [json.loads(line) for line in (looked.folder / "ty.log").read_text().splitlines()]
    roots = [line["params"]["rootUri"] for line in log if line.get("method") == "initialize"]
    assert sorted(Path(root).name for root in roots) == ["b", "src"]


def test_ten_other_files_that_were_read_are_looked_at_with_a_change(begin: Begin) -> None:
    looked = begin(ty=pulls(CLEAN))
    for number in range(12):
        looked.read(f"{number}.py", "a\n")
    before = (looked.folder / "ty.log").read_text().count('textDocument/diagnostic"')
    assert said(looked.change("0.py", "b\n")) == "Diagnostics: no new problems (ty)"
    asked = (looked.folder / "ty.log").read_text().count('textDocument/diagnostic"')
    assert (before, asked) == (12, 12 + 1 + 10)


def test_what_is_said_of_the_changed_file_comes_first_and_of_one_line_once(begin: Begin) -> None:
    answers = {"textDocument/diagnostic": [CLEAN, CLEAN, [["items", [item("two"), item("two")]]]]}
    looked = begin(ty=script(PULL, answers))
    looked.read("a.py", "import b\n")
    looked.read("b.py", "b\n")
    report = looked.change("b.py", "bb\n")
    assert report is not None
    assert [problem.path for problem in report.change.new] == ["b.py", "a.py"]


def test_a_change_of_the_settings_is_told_to_those_whose_they_may_be(begin: Begin) -> None:
    looked = begin(ruff=pulls(CLEAN))
    log = looked.folder / "ruff.log"
    looked.read("b.py", "b\n")
    looked.base["pyproject.toml"] = "[tool.ruff]\n"
    looked.change("pyproject.toml", "[tool.ruff.lint]\n")
    assert eventually(lambda: "pyproject.toml" in log.read_text())


def test_a_file_is_made_only_once(begin: Begin) -> None:
    looked = begin(ty=pulls(CLEAN))
    log = looked.folder / "ty.log"
    looked.read("b.py", "b\n")
    for content in ("a\n", "b\n"):
        assert "no new" in said(looked.change("a.py", content))
    (looked.root / "a.py").unlink()
    looked.session.changed(["a.py"], {}, time.monotonic())
    assert "no new" in said(looked.change("a.py", "c\n"))
    state = [json.loads(line) for line in log.read_text().splitlines()]
    events = [one["params"]["changes"] for one in state if one.get("method", "").endswith("WatchedFiles")]
    assert [event["type"] for changes in events for event in changes] == [1, 3, 1]


def test_a_file_that_was_moved_keeps_what_was_in_it_before(begin: Begin) -> None:
    looked = begin(ty=pulls([["items", [item("old")]]]))
    looked.read("a.py", "a\n")
    (looked.root / "a.py").unlink()
    report = looked.change("b.py", "a\nb\n", **{"b.py": "a.py"})
    assert said(report) == "Diagnostics: no new problems (ty)"
    assert report is not None
    assert report.change.remaining == 1


def test_what_is_the_same_as_when_it_was_looked_at_is_not_looked_at_again(begin: Begin) -> None:
    looked = begin(ty=pulls(CLEAN))
    looked.read("a.py", "a\n")
    assert looked.change("a.py", "b\n") is not None
    assert looked.change("a.py", "b\n") is None
    assert looked.change("notes.md", "b\n") is None


def test_a_file_changed_before_it_was_read_is_held_against_what_the_run_began_with(begin: Begin) -> None:
    looked = begin(
        ty=pulls(
            [
                ["items", [item("old")]],
            ],
            [["items", [item("old"), item("new", 1)]]],
        )
    )
    looked.base["a.py"] = "before\n"
    report = looked.change("a.py", "after\nmore\n")
    assert report is not None
    assert [problem.message for problem in report.change.new] == ["new"]
    log = (looked.folder / "ty.log").read_text()
    assert log.index('"text": "before') < log.index("after")


def test_a_server_that_died_is_not_started_again_as_another_program(begin: Begin) -> None:
    looked = begin(ty=pulls(CLEAN, [["exit", 1]]))
    server, command = looked.root / "server.sh", looked.session.settings.servers["ty"]["command"]
    looked.base["server.sh"] = f"#!/bin/sh\nexec {command}\n"
    server.write_text(looked.base["server.sh"])
    server.chmod(0o755)
    looked.session.settings.servers["ty"]["command"] = "./server.sh"  # type: ignore[index]  # a dict
    looked.read("a.py", "a\n")
    server.write_text("#!/bin/sh\ntouch canary\n")
    lines = said(looked.change("a.py", "b\n"))
    assert (
        "ty is off for the rest of the run: could not be started: server.sh was changed in this run" in lines
    )
    why = "could not be started: server.sh was changed in this run, and would be run"
    assert looked.session.uses()[0].note == why
    assert not (looked.root / "canary").exists()


def test_a_package_that_a_file_missed_before_is_no_news_in_another(begin: Begin) -> None:
    """With an environment to look in: breaks bot/toolhost/lsp/baseline.py "module in self._known or"."""
    missing = item("Cannot resolve imported module `gone`", code="unresolved-import")
    other = item("Cannot resolve imported module `typo`", code="unresolved-import")
    looked = begin(
        ty=pulls([["items", [missing]]], CLEAN, [["items", [missing, other]]], [["items", [missing]]])
    )
    (looked.root / ".venv").mkdir()
    (looked.root / ".venv" / "pyvenv.cfg").write_text("")
    looked.read("a.py", "import gone\n")
    looked.read("b.py", "\n")
    lines = said(looked.change("b.py", "import gone, typo\n")).splitlines()
    assert lines[0].endswith(
        "1 new, 1 earlier one hidden, 1 import of what is not installed here not counted"
    )
    assert "`typo`" in lines[1]


def test_nothing_that_leads_out_is_in_a_server_s_environment(begin: Begin) -> None:
    looked = begin()
    gopls = next(known for known in SERVERS if known.name == "gopls")
    environment = environment_of(gopls, looked.session.context)
    assert not [name for name in environment if "proxy" in name.lower() and name != "GOPROXY"]
    assert environment["GOPROXY"] == "off"
    assert environment["GOCACHE"] == f"{looked.folder}/tmp/go"
    assert environment["LANG"] == "C"
