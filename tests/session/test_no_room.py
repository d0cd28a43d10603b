"""A whole run whose gate cannot look, or cannot put everything in a patch: the tree stays, and the run says how to go
on from it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.contracts.errors import ExitCode
from bot.contracts.progress import Event
from bot.run.salvage import salvage
from bot.session.local.fix import FixOptions, FixResult, fix
from tests.support.fix_script import DONE, EDITS, VIEW, shell
from tests.support.model_script import Step, Turn
from tests.support.model_server import ModelServer
from tests.support.repositories import sample_repository

pytestmark = pytest.mark.bubblewrap


class Nobody:
    """Looks on, and says nothing."""

    person = None
    interrupted = None

    def tell(self, event: Event) -> None: ...

    def on_enter(self, skip: Callable[[], None] | None) -> None: ...

    def cut_off(self, text: str) -> None: ...


STRAY = shell(
    "head -c 6M /dev/urandom > core; mkfifo pipe; ln -s /etc/passwd users; git init -q inner; > $'a\\xff'"
)


def fix_with(tmp_path: Path, *steps: Step) -> tuple[FixResult, list[str]]:
    """The run, and the bodies of its requests."""
    repo = sample_repository(tmp_path / "tidytime", checks=False)
    with ModelServer([VIEW, Turn(EDITS), STRAY, *steps]) as server:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **server.environment()}
        fixed = fix(FixOptions(repo, "fix it", "anthropic/claude-sonnet-5-5"), environment, Nobody())
        return fixed, [request.body.decode() for request in server.requests]


def test_a79_stray_entries_are_withheld_the_rest_goes_out_and_the_tree_stays(tmp_path: Path) -> None:
    fixed, sent = fix_with(tmp_path, DONE, DONE)
    assert fixed.exit_code == ExitCode.DONE
    assert [file.path for file in fixed.outcome.files] == ["tidytime/format.py"]
    assert [row.path for row in fixed.outcome.withheld] == ["a\\xff", "core", "inner", "pipe", "users"]
    assert fixed.branch
    assert fixed.kept_run is not None
    assert (fixed.kept_run.tree / "core").stat().st_size == 6 << 20
    assert "- 'core': over the limit of 5242880 bytes a file" in sent[-1]
    assert sum("no patch can hold these files" in body for body in sent) == 1
    again = salvage(fixed.kept_run.root, {}, tmp_path / "again").outcome
    assert (again.files, again.withheld) == (fixed.outcome.files, fixed.outcome.withheld)


@pytest.mark.slow
def test_the_model_may_mend_what_the_gate_would_leave_out(tmp_path: Path) -> None:
    fixed, _ = fix_with(tmp_path, DONE, shell("rm -r core pipe users inner $'a\\xff'"), DONE)
    assert fixed.exit_code == ExitCode.DONE
    assert [file.path for file in fixed.outcome.files] == ["tidytime/format.py"]
    assert (fixed.outcome.withheld, fixed.kept_run) == ((), None)
