"""`DiagnosticsService` without a tool host: its limits, and late requests that are sent again."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.evidence import Answer
from bot.ecosystems.registry import servers as known_servers
from bot.toolhost.context import Answer as Permission
from bot.toolhost.context import Context
from bot.toolhost.file_history import FileHistory
from bot.toolhost.lsp.launch import Settings, environment_of
from bot.toolhost.lsp.report import Report, text
from bot.toolhost.lsp.service import DiagnosticsService
from bot.toolhost.records import Records
from tests.support.language_servers import LONG, PLAYER, PULL, item, pulls, script
from tests.support.workspaces import eventually

NAMES = tuple(known.name for known in known_servers())
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
        settings = Settings(wait, servers, since=time.time_ns())
        self.session = DiagnosticsService(context, settings, self.base.get, self._now, self._began_with)

    def _began_with(self, name: str) -> bytes | None:
        return None if name not in self.base else self.base[name].encode()

    def read(self, name: str, content: str) -> None:
        (self.root / name).write_text(content)
        self.session.read(name, content)
        started = self.session._started.values()
        assert eventually(lambda: all(one.off_reason or one.is_ready(list(one.documents)) for one in started))

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


def test_what_comes_late_counts_with_the_next_change(begin: Begin) -> None:
    late: list[Any] = [["until", "go"], ["items", [item("late")]]]
    looked = begin(0.1, ty=pulls(CLEAN, CLEAN, late, CLEAN, [["items", [item("late")]]]))
    looked.read("a.py", "a\n")
    looked.read("b.py", "b\n")
    assert said(looked.change("a.py", "aa\n")) == "Diagnostics: ty did not answer in 0.1 s; state unknown"
    (looked.root / "go").touch()
    [server] = looked.session._started.values()
    assert eventually(lambda: server.is_ready(["a.py"]))
    looked.session.settings = replace(looked.session.settings, wait=LONG)
    report = looked.change("b.py", "bb\n")
    assert report is not None
    assert [(one.path, one.message) for one in report.change.new] == [("a.py", "late")]


def test_one_that_does_not_answer_is_waited_for_once(begin: Begin) -> None:
    looked = begin(0.2, ty=pulls([["until", "ready"], ["items", []]], [["items", [item("wrong")]]]))
    looked.session.read("a.py", "a\n")
    unknown = "Diagnostics: ty did not answer in 0.2 s; state unknown"
    assert said(looked.change("a.py", "b\n")) == unknown
    began = time.monotonic()
    assert said(looked.change("a.py", "c\n")) == unknown
    assert time.monotonic() - began < 10 * LONG
    assert not looked.session.uses()[0].note


def test_one_server_of_a_kind_serves_all_projects(begin: Begin) -> None:
    looked = begin(ty=pulls(CLEAN, CLEAN, [["items", [item("new")]]]))
    for folder in ("a", "b"):
        (looked.root / folder).mkdir()
        (looked.root / folder / "pyproject.toml").write_text("")
        looked.read(f"{folder}/x.py", "a\n")
    report = looked.change("b/x.py", "b\n")
    assert report is not None
    assert report.tools == (("ty", Answer.COMPLETE),)
    log = [json.loads(line) for line in (looked.folder / "ty.log").read_text().splitlines()]
    roots = [line["params"]["rootUri"] for line in log if line.get("method") == "initialize"]
    assert [Path(root).name for root in roots] == ["a"]


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


def test_an_import_of_what_may_not_be_installed_is_no_news(begin: Begin) -> None:
    gone = item("Cannot resolve imported module `gone`", code="import-not-found")
    looked = begin(ty=pulls(CLEAN, [["items", [gone, item("other")]]]))
    looked.read("a.py", "\n")
    lines = said(looked.change("a.py", "import gone\n")).splitlines()
    assert lines[0] == "Diagnostics (ty; complete): 1 new"
    assert "other" in lines[1]


def test_nothing_that_leads_out_is_in_a_server_s_environment(begin: Begin) -> None:
    looked = begin()
    gopls = next(known for known in known_servers() if known.name == "gopls")
    environment = environment_of(gopls, looked.session.context)
    assert not [name for name in environment if "proxy" in name.lower() and name != "GOPROXY"]
    assert environment["GOPROXY"] == "off"
    assert environment["GOCACHE"] == f"{looked.folder}/tmp/go"
    assert environment["LANG"] == "C"
