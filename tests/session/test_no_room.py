"""A whole run whose gate cannot look, or cannot put everything in a patch: the tree stays, and the run says how to go
on from it."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from bot.contracts.errors import ExitCode
from bot.contracts.progress import Event
from bot.publish.bundle.write import BundleWriteError
from bot.run.salvage import salvage
from bot.session.event.event_context import EventOptions
from bot.session.event.run_event import run_event
from bot.session.local.fix import FixOptions, FixResult, fix
from bot.session.local.review import ReviewOptions, review
from tests.support.fix_script import DONE, EDITS, VIEW, shell
from tests.support.model_script import Step, Turn
from tests.support.model_server import ModelServer
from tests.support.repositories import commit_all, git, sample_repository
from tests.support.stage import MODEL, Stage

pytestmark = pytest.mark.bubblewrap


class Nobody:
    """Looks on, and says nothing."""

    person = None
    interrupted = None

    def tell(self, event: Event) -> None: ...

    def on_enter(self, skip: Callable[[], None] | None) -> None: ...

    def cut_off(self, text: str) -> None: ...


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """For the gate's own files alone, until it is undone."""
    make = tempfile.mkdtemp

    def full(suffix: str | None = None, prefix: str | None = None, dir: Path | None = None) -> str:
        if prefix == "gate-":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return make(suffix, prefix, dir)

    with monkeypatch.context() as patched:
        patched.setattr("bot.gate.objects.tempfile.mkdtemp", full)
        yield patched


def salvaged(runs: Path, environment: Mapping[str, str], out: Path) -> list[str]:
    [folder] = runs.iterdir()
    return [file.path for file in salvage(folder, environment, out).outcome.files]


@pytest.mark.slow
def test_a_run_without_room_for_the_gate_keeps_its_tree_and_salvage_judges_it(
    tmp_path: Path, no_room: pytest.MonkeyPatch
) -> None:
    repo = sample_repository(tmp_path / "tidytime", checks=False)
    with ModelServer([VIEW, Turn(EDITS), DONE]) as server:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **server.environment()}
        asked = FixOptions(repo, "fix it", "anthropic/claude-sonnet-5-5", out=tmp_path / "out")
        fixed = fix(asked, environment, Nobody())
    assert (fixed.exit_code, fixed.branch) == (ExitCode.UNAVAILABLE, "")
    assert "No space left on device. It is kept." in fixed.outcome.reason
    assert fixed.kept_run is not None
    no_room.undo()
    runs = tmp_path / ".local/state/slash-agent/runs"
    assert salvaged(runs, environment, tmp_path / "again") == ["tidytime/format.py"]


def test_so_does_a_run_for_an_event_and_its_comment_says_why(
    stage: Stage, tmp_path: Path, no_room: pytest.MonkeyPatch
) -> None:
    asked = EventOptions("issue_comment", stage.event_file(stage.sample.event), stage.bundle, model=MODEL)
    with ModelServer([VIEW, Turn(EDITS), DONE]) as server:
        environment = {**stage.environment(stage.sample.run_token), **server.environment()}
        ended = run_event(asked, environment, print, print)
    assert ended.exit_code == ExitCode.UNAVAILABLE
    assert "No space left on device. It is kept." in ended.reason
    [told] = stage.bot_comments()
    assert "No space left on device" in told
    no_room.undo()
    assert salvaged(stage.temp / "slash-agent", environment, tmp_path / "again") == ["tidytime/format.py"]


@pytest.mark.parametrize("verb", ["fix", "review"])
def test_an_error_at_the_end_says_where_the_work_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise BundleWriteError("No space left on device.")

    monkeypatch.setattr("bot.run.result.write_bundle", full)
    repo = sample_repository(tmp_path / "tidytime", checks=False)
    git(repo, "switch", "-q", "-c", "topic")
    (repo / "new.txt").write_text("new\n")
    commit_all(repo)
    with ModelServer([VIEW, DONE]) as server, pytest.raises(BundleWriteError) as caught:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **server.environment()}
        if verb == "fix":
            fix(FixOptions(repo, "fix it", MODEL), environment, Nobody())
        else:
            review(ReviewOptions(repo, base="main", model=MODEL), environment, Nobody())
    [folder] = (tmp_path / ".local/state/slash-agent/runs").iterdir()
    continuing = [f"go on: slash-agent fix --continue {folder}"] if verb == "fix" else []
    assert caught.value.__notes__ == [
        f"The work so far is in {folder}",
        f"its diff: slash-agent salvage {folder}",
        *continuing,
    ]


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
