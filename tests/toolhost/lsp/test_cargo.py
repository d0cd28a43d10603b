"""`cargo check` as a checker: of the whole project as it is on disk."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.contracts.evidence import Answer
from bot.toolhost.lsp.report import Report, text
from tests.support.language_servers import LONG
from tests.support.workspaces import eventually
from tests.toolhost.lsp.test_service import Looked

FAKE = """
import json, os, pathlib, sys, time
if "--version" in sys.argv:
    sys.exit(print("cargo 1.2.3"))
with open(os.environ["CARGO_TARGET_DIR"] + ".calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
print("what a build script prints")
for path in sorted(pathlib.Path(".").glob("*.rs")):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for level in ("error", "warning", "note"):
            if level in line:
                span = {"file_name": str(path), "line_start": number, "column_start": 5, "is_primary": True}
                message = {"level": level, "message": line + "\\nmore", "code": {"code": "E0"}}
                message["spans"] = [span | {"text": [{"text": line}]}]
                print(json.dumps({"reason": "compiler-message", "message": message}))
        if "slow" in line:
            time.sleep(0.5)
        if "broken" in line:
            sys.exit("error: no matching package named `serde` found")
"""


@pytest.fixture
def looked(tmp_path: Path) -> Iterator[Looked]:
    fake = tmp_path / "cargo.py"
    fake.write_text(FAKE)
    made = Looked(tmp_path, LONG, 1 << 40, {})
    command = shlex.join([sys.executable, "-I", "-S", str(fake)])
    made.session.settings.servers["cargo"] = {"command": command}  # type: ignore[index]  # a dict
    yield made
    made.session.end()


def said(report: Report | None) -> list[str]:
    assert report is not None
    return text(report).splitlines()


def test_what_a_change_breaks_is_new_in_the_files_that_use_it_too(looked: Looked) -> None:
    looked.read("lib.rs", "mod a;\nold error\n")
    looked.read("a.rs", "fn a() {}\n")
    assert said(looked.change("a.rs", "an error here\na warning\na note\n")) == [
        "Diagnostics (cargo; complete): 2 new, 1 earlier one hidden",
        "a.rs:1:5 error cargo:E0 an error here",
        "     1 | an error here",
        "a.rs:2:5 warning cargo:E0 a warning",
        "     2 | a warning",
    ]
    calls = (looked.folder / "tmp" / "cargo-target.calls").read_text().splitlines()
    assert set(calls) == {"check --quiet --message-format=json --offline --locked"}


def test_what_a_new_error_hides_is_not_fixed(looked: Looked) -> None:
    looked.read("a.rs", "an error\n")
    assert said(looked.change("a.rs", "another error\n"))[0] == "Diagnostics (cargo; complete): 1 new"
    assert said(looked.change("a.rs", "fn a() {}\n")) == ["Diagnostics: no new problems (cargo), 1 fixed"]


def test_a_file_that_was_not_read_before_is_held_against_the_first_look(looked: Looked) -> None:
    (looked.root / "b.rs").write_text("error in b\n")
    looked.base["b.rs"] = "error in b\n"
    looked.read("a.rs", "fn a() {}\n")
    assert said(looked.change("b.rs", "error in b\nanother error\n"))[1].startswith("b.rs:2:5 error")


def test_where_a_change_came_first_it_looks_at_the_commit_before_it(looked: Looked) -> None:
    looked.base |= {"a.rs": "old error\n", "b.rs": "an error in b\n"}
    (looked.root / "b.rs").write_text("an error in b\n")
    lines = said(looked.change("a.rs", "old error\nnew error\n"))
    assert lines[0] == "Diagnostics (cargo; complete): 1 new, 1 earlier one hidden"
    assert lines[1].startswith("a.rs:2:5 error")
    assert said(looked.change("b.rs", "an error in b\n\n")) == ["Diagnostics: no new problems (cargo)"]


@pytest.mark.slow
def test_a_change_that_overtakes_the_first_look_is_no_end_of_it(looked: Looked) -> None:
    """As in any project that takes longer to check than a model to read a file."""
    looked.base["a.rs"] = "slow\n"
    (looked.root / "a.rs").write_text("slow\n")
    looked.session.read("a.rs", "slow\n")
    assert eventually((looked.folder / "tmp" / "cargo-target.calls").exists)
    assert said(looked.change("a.rs", "slow\nerror\n"))[1].startswith("a.rs:2:5 error")


def test_where_the_commit_before_cannot_be_had_nothing_is_said_to_be_new(looked: Looked) -> None:
    looked.exports = False
    looked.base["a.rs"] = "fn a() {}\n"
    lines = said(looked.change("a.rs", "error\n"))
    assert lines == [
        "Diagnostics: cargo is off for the rest of the run: a file was changed before it had looked at the project"
    ]


@pytest.mark.slow
def test_what_is_slow_is_told_late(looked: Looked) -> None:
    looked.session.settings = type(looked.session.settings)(0.1, looked.session.settings.servers)
    looked.read("a.rs", "fn a() {}\n")
    report = looked.change("a.rs", "slow\nerror\n")
    assert report is not None
    assert report.tools == (("cargo", Answer.TIMED_OUT),)
    late: list[Report] = []
    assert eventually(lambda: bool(late.extend(filter(None, [looked.session.late_report()])) or late))
    assert [problem.line for problem in late[0].change.new] == [2]


def test_a_project_that_cannot_be_checked_is_no_clean_one(looked: Looked) -> None:
    looked.read("a.rs", "broken\n")
    (line,) = said(looked.change("a.rs", "broken\nerror once more\n"))
    why = "it could not check the project: error: no matching package named `serde` found"
    assert line == f"Diagnostics: cargo is off for the rest of the run: {why}"


def test_a_build_script_that_the_run_wrote_is_not_run(looked: Looked) -> None:
    (looked.root / "build.rs").write_text("fn main() {}\n")
    looked.base["build.rs"] = "fn main() {}\n"
    for name in ("Cargo.toml", "Cargo.lock"):
        (looked.root / name).write_text("")
    path = looked.session.context.environment
    path["PATH"] = f"{looked.folder}:{path['PATH']}"  # type: ignore[index]  # a dict
    (looked.folder / "cargo").write_text("#!/bin/sh\n")
    (looked.folder / "cargo").chmod(0o755)
    looked.read("lib.rs", "fn a() {}\n")
    calls = looked.folder / "tmp" / "cargo-target.calls"
    before = calls.read_text()
    lines = said(looked.change("build.rs", "fn main() { evil() }\n"))
    assert lines == [
        "Diagnostics: cargo is off for the rest of the run: build.rs was changed in this run, and would be run"
    ]
    assert calls.read_text() == before


def test_what_is_in_the_way_of_cargo_is_named(tmp_path: Path) -> None:
    from tests.toolhost.lsp.test_registry import location, project, spec

    assert spec("cargo").find(location(tmp_path)) == "there is no Cargo.toml"
    project(tmp_path, {"Cargo.toml": ""}, ("path/cargo",))
    assert spec("cargo").find(location(tmp_path)) == "there is no Cargo.lock, and cargo would write one"
    project(tmp_path, {"Cargo.lock": json.dumps({})})
    assert spec("cargo").find(location(tmp_path)) != ""
