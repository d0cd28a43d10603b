"""Each verb from its request to what people see: plan and approve, explain, questions, going on, a death."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.outcome import CheckState, Status, StopReason, exit_code
from bot.events.event_request import UsageRefusedError
from bot.publish.approval import find_plan
from bot.publish.thread.comments import thread_ref_of
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW, fix_steps
from tests.support.model_script import Call, Say, Step, Turn
from tests.support.repositories import git
from tests.support.stage import Stage
from tests.support.verb_runs import VerbRun, fork_pull, github, request_in, request_on, run_verb

pytestmark = pytest.mark.bubblewrap

STEPS = [
    {"text": "Round before splitting off the larger units.", "paths": ["tidytime/format.py"]},
    {"text": "Say so in the README.", "paths": ["README.md"]},
]
SUBMIT = Call("submit_plan", {"title": "Round durations first", "steps": STEPS, "estimate_turns": 6})
ASK = Call("ask_user", {"question": "Should 59.6 seconds become one minute?"})


def published(stage: Stage) -> None:
    ran = stage.publish()
    assert ran.code == 0, ran.output


# plan and approve


@pytest.mark.slow
def test_a_plan_is_made_posted_approved_and_carried_out_once(stage: Stage):
    stage.act_as_app()
    planned = run_verb(stage, request_in(stage, "plan"), [VIEW, SUBMIT, Say("Planned.")])
    assert planned.outcome.status is Status.PLANNED
    assert planned.bundle.patch == b""
    published(stage)
    [comment] = [body for body in stage.bot_comments() if "**Plan:" in body]
    plan = planned.bundle.plan
    assert plan is not None
    assert f"/agent approve {plan.hash[:12]}" in comment

    asked = request_in(stage, "approve", plan.hash[:12])
    place = thread_ref_of(asked, github(stage))
    assert place is not None
    found = find_plan(place, plan.hash[:12]).plan
    assert found == plan
    done = run_verb(stage, asked._replace(plan=found), fix_steps())
    assert done.outcome.status is Status.CHANGED
    assert "Round before splitting off the larger units." in done.first
    assert "Carry out the approved plan below, exactly." in done.first
    assert re.search(r"- today is \d{4}-\d\d-\d\d\n", done.first)
    assert "- long output and notes go into `$TMPDIR`" in done.first
    assert "- git history: this commit only" in done.first
    assert f"This carries out the plan {plan.hash[:12]}." in done.outcome.notes
    published(stage)
    assert len(stage.pulls()) == 1

    again = thread_ref_of(request_in(stage, "approve", plan.hash[:12]), github(stage))
    assert again is not None
    with pytest.raises(UsageRefusedError, match="was carried out already"):
        find_plan(again, plan.hash[:12])


def test_an_approval_without_a_plan_starts_no_model(stage: Stage):
    with pytest.raises(UsageError, match="There is no approved plan"):
        run_verb(stage, request_in(stage, "approve"), [DONE])


@pytest.fixture
def changed(stage: Stage, tmp_path: Path) -> Path:
    """The bundle of a run that mended the sample and asked something."""
    run_verb(stage, request_in(stage, "fix"), [VIEW, Turn((*EDITS, ASK))])
    last = tmp_path / "last"
    shutil.copytree(stage.bundle, last)
    return last


def go_on(stage: Stage, last: Path, *steps: Step) -> VerbRun:
    return run_verb(stage, request_in(stage, "continue", "yes"), [*steps, DESCRIBE, DONE], resume=last)


@pytest.mark.slow
def test_going_on_after_the_base_moved_elsewhere_merges(stage: Stage, changed: Path):
    text = git(stage.forge.git_folder(stage.repo), "show", "main:tidytime/format.py")
    stage.forge.commit(stage.repo, {"tidytime/format.py": f"# A line above.\n{text}", "new.txt": "x\n"})
    came = go_on(stage, changed)
    assert came.outcome.base_sha == stage.branches()["main"]
    assert [file.path for file in came.outcome.files] == ["tidytime/format.py"]
    assert b"round(abs(seconds))" in came.bundle.patch
    assert b"A line above" not in b"\n".join(
        row for row in came.bundle.patch.splitlines() if row[:1] in b"+-"
    )
    published(stage)


@pytest.mark.slow
def test_going_on_after_the_same_lines_changed_is_refused_in_words(stage: Stage, changed: Path):
    text = git(stage.forge.git_folder(stage.repo), "show", "main:tidytime/format.py")
    stage.forge.commit(stage.repo, {"tidytime/format.py": text.replace("abs(seconds)", "abs(seconds) + 0")})
    with pytest.raises(UsageError, match=r"does not apply to .*`tidytime/format.py` changed meanwhile"):
        go_on(stage, changed)


# pull requests


@pytest.mark.checks
def test_on_a_forks_head_files_are_edited_and_nothing_is_run(stage: Stage):
    number = fork_pull(stage, {"conftest.py": "raise SystemExit('mine')\n"})
    came = run_verb(stage, request_on(stage, number, "fix"), fix_steps())
    assert came.tools == {
        "view", "ls", "glob", "grep", "edit", "write", "patch", "todo", "task", "skill", "describe_change",
        "ask_user",
    }  # fmt: skip
    assert "no command is run here: the pull request comes from a fork" in came.first
    assert came.outcome.status is Status.CHANGED
    assert came.outcome.checks
    for check in came.outcome.checks:
        for run in (check.before, check.after):
            assert run.state is CheckState.NOT_RUN
            assert "comes from a fork" in run.note
    assert any("No code was run" in note for note in came.outcome.notes)


# by the command line, as the two jobs of a workflow do it


def comments(stage: Stage, with_text: str) -> list[dict[str, Any]]:
    found = stage.get(f"issues/{stage.sample.issue}/comments?per_page=100")
    return [one for one in found if one["user"]["type"] == "Bot" and with_text in one["body"]]


def plan_in(stage: Stage) -> tuple[int, str]:
    """The id of the plan comment, and the command beneath it."""
    [comment] = comments(stage, "**Plan:")
    found = re.search(r"`(/agent approve [0-9a-f]{12})`", comment["body"])
    assert found
    return comment["id"], found[1]


def test_a35_a_plan_that_was_edited_is_refused_before_a_model_is_asked(stage: Stage):
    stage.act_as_app()
    event = stage.ask("/agent plan how to mend this")
    assert stage.run(model=[VIEW, SUBMIT, Say("Planned.")], event=event).code == 0
    stage.publish_event(event)
    comment, approve = plan_in(stage)
    [was] = comments(stage, "**Plan:")
    stage.forge.edit_comment(
        stage.repo, comment, was["body"].replace("Say so in the README.", "Open the back door.")
    )
    event = stage.ask(approve)
    ran = stage.run(model=[DONE], event=event)
    assert ran.requests == []
    assert ran.code == 2
    assert comments(stage, "was edited after it was posted, so it is not carried out")


STOPS: list[tuple[StopReason, Status, ExitCode]] = [
    (StopReason.END_TURN, Status.FAILED, ExitCode.PROVIDER),
    (StopReason.NEEDS_INPUT, Status.NEEDS_INPUT, ExitCode.DONE),
    (StopReason.END_TURN, Status.PLANNED, ExitCode.DONE),
    (StopReason.END_TURN, Status.REVIEWED, ExitCode.DONE),
    (StopReason.BUDGET, Status.FAILED, ExitCode.BUDGET),
    (StopReason.CANCELED, Status.FAILED, ExitCode.CANCELLED),
]


@pytest.mark.parametrize(("stop", "status", "expected"), STOPS)
def test_an_exit_code_is_never_nought_for_nothing(stop: StopReason, status: Status, expected: Any):
    assert exit_code(stop, status) is expected
