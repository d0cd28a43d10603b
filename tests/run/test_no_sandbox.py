"""Machines on which no sandbox works: refused before a model is asked, unless a person says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.run.conftest import Cli
from tests.support.fix_script import mending
from tests.support.machines import with_program, without_bubblewrap
from tests.support.model_server import ModelServer
from tests.support.stage import MODEL, Ran, Stage

# Another bubblewrap around the test makes the machine on which none works.
pytestmark = pytest.mark.bubblewrap

BROKEN = """#!/bin/sh
case "$*" in *--version*) echo "bubblewrap 0.9.0"; exit 0;; esac
echo "bwrap: setting up uid map: Permission denied" >&2
exit 1
"""


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(mending()) as server:
        yield server


def program(folder: Path, text: str) -> Path:
    file = folder / "bwrap"
    file.write_text(text)
    file.chmod(0o755)
    return file


def assert_refused(ran: Ran, *said: str) -> None:
    assert ran.code == 78, ran.said
    for words in said:
        assert words in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "Traceback" not in ran.said


def test_without_bubblewrap_a_fix_is_refused_with_the_remedy(
    cli: Cli, repo: Path, model: ModelServer
) -> None:
    ran = cli("fix", "--repo", repo, "--model", MODEL, "x", model=model, inside=without_bubblewrap())
    assert_refused(ran, "bubblewrap (bwrap) is not installed", "apt-get install bubblewrap", "--sandbox off")
    assert model.requests == []


def test_a_bubblewrap_that_may_not_make_namespaces_is_refused_in_its_own_words(
    cli: Cli, repo: Path, model: ModelServer, tmp_path: Path
) -> None:
    inside = with_program(program(tmp_path, BROKEN), "/usr/bin/bwrap")
    ran = cli("fix", "--repo", repo, "--model", MODEL, "x", model=model, inside=inside)
    assert_refused(ran, "setting up uid map: Permission denied", "--sandbox off")
    assert model.requests == []


def test_a_person_may_go_without_and_the_result_says_so(cli: Cli, repo: Path, model: ModelServer) -> None:
    ran = cli(
        "fix", "--repo", repo, "--model", MODEL, "--sandbox", "off", "x", model=model, inside=without_bubblewrap()
    )  # fmt: skip
    assert ran.code == 0, ran.said
    assert "sandbox  off" in ran.out
    assert "branch   agent/" in ran.out


def test_an_event_is_refused_and_its_thread_told(stage: Stage, model: ModelServer) -> None:
    stage.inside = without_bubblewrap()
    ran = stage.run(model=model)
    assert_refused(ran, "bubblewrap (bwrap) is not installed", "setup-sandbox")
    assert model.requests == []
    comments = stage.bot_comments()
    assert any("is not installed" in body for body in comments)
    assert not any("Working on it" in body for body in comments)
    assert not [line for line in stage.asked_by_bot() if ".git/" in line], "something was fetched"


def test_one_tool_is_refused_as_well(cli: Cli, repo: Path) -> None:
    ran = cli("tool", "ls", "{}", "--root", repo, inside=without_bubblewrap())
    assert_refused(ran, "bubblewrap (bwrap) is not installed")
