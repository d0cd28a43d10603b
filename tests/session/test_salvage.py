"""What `salvage` knows of a run that died: all that its journal says, and nothing that it does not."""

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.outcome import Status
from bot.contracts.writes import Write, Writes
from bot.publish.bundle.read import read_bundle
from bot.run.salvage import salvage
from tests.session.conftest import Cli, command
from tests.support import warm
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW, shell
from tests.support.model_script import Call, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.repositories import commit_all
from tests.support.stage import Stage
from tests.support.verb_runs import VerbRun, request_in, run_verb

pytestmark = pytest.mark.bubblewrap

MODEL = "anthropic/claude-sonnet-5-5"


def salvaged(cli: Cli, repo: Path, steps: Sequence[Step], until: str = "sleep 600") -> Any:
    """The outcome of a run that is killed once the checks before the change have run and its journal has `until`: in
    its last call, if nothing else is said."""
    with ModelServer([*steps, shell("sleep 600")]) as server:
        warm.run_with_signal(
            command("fix", "--repo", repo, "--model", MODEL, "x"),
            cli.environment(**server.environment()),
            signal.SIGKILL,
            lambda: '"type":"check"' in cli.journal and until in cli.journal,
        )
    out = cli.home / "bundle"
    ran = cli("salvage", "--newest", "--out", out)
    assert ran.code == 0, ran.err
    return json.loads((out / "outcome.json").read_text())


@pytest.mark.slow
@pytest.mark.checks
def test_a_check_that_ran_before_the_change_is_told_and_one_after_it_is_not_made_up(
    cli: Cli, repo: Path
) -> None:
    [check] = salvaged(cli, repo, [VIEW, Turn(EDITS)])["checks"]
    assert (check["before"]["state"], check["after"]["state"]) == ("failed", "not_run")
    assert check["after"]["note"] == "the run ended before"


@pytest.mark.slow
def test_the_description_that_was_handed_over_is_kept(cli: Cli, repo: Path) -> None:
    (repo / ".github" / "agent.yml").write_text(
        "version: 1\nchecks: ['git diff --quiet || exec sleep 600']\n"
    )
    commit_all(repo)
    outcome = salvaged(cli, repo, [VIEW, Turn(EDITS), DESCRIBE], until='"type":"session_ended"')
    assert outcome["description"]["title"] == "Round durations before splitting them"


@pytest.mark.slow
def test_what_was_denied_is_kept(cli: Cli, repo: Path) -> None:
    (repo / ".github" / "agent.yml").write_text(
        "version: 1\nchecks: ['true']\nrules:\n  - {effect: deny, paths: [README.md], reason: by hand only}\n"
    )
    commit_all(repo)
    outcome = salvaged(cli, repo, [Call("write", {"path": "README.md", "content": "x"}), *[VIEW]])
    assert [denial["tool"] for denial in outcome["denials"]] == ["write"]


SUBMIT = Call("submit_plan", {"title": "Round first", "steps": [{"text": "Round first."}]})


def died(came: VerbRun, out: Path) -> Path:
    """The run's folder as a kill before its end leaves it: the journal stops after the last result."""
    lines = came.folder.journal.read_text().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if '"type":"result"' in line)
    came.folder.journal.write_text("".join(lines[: last + 1]))
    return out


def test_a_plan_that_was_handed_over_is_kept(stage: Stage, tmp_path: Path) -> None:
    came = run_verb(stage, request_in(stage, "plan"), [VIEW, SUBMIT, DONE])
    salvaged = salvage(came.folder.root, {}, died(came, tmp_path / "out"))
    bundle = read_bundle(tmp_path / "out")
    assert bundle.plan == came.bundle.plan is not None
    assert bundle.patch == b""
    assert salvaged.outcome.status is Status.PLANNED


@pytest.mark.slow
def test_a_question_that_was_asked_is_kept_beside_the_change(stage: Stage, tmp_path: Path) -> None:
    ask = Call("ask_user", {"question": "Which?"})
    came = run_verb(stage, request_in(stage, "fix"), [VIEW, Turn((*EDITS, ask))])
    salvage(came.folder.root, {}, died(came, tmp_path / "out"))
    bundle = read_bundle(tmp_path / "out")
    assert bundle.outcome.question == "Which?"
    assert bundle.patch == came.bundle.patch != b""


@pytest.mark.slow
def test_what_was_proposed_is_kept(stage: Stage, tmp_path: Path) -> None:
    policy = {".github/agent.yml": "writes: { verbs: [explain], labels: [needs tests] }\n"}
    stage.forge.commit(stage.repo, policy)
    asked = request_in(stage, "explain")
    assert asked.thread is not None
    label = {"kind": "add_label", "number": asked.thread.number, "label": "needs tests"}
    came = run_verb(stage, asked, [Call("propose_write", label), DONE])
    assert came.bundle.outcome.status is Status.ANSWERED
    salvage(came.folder.root, {}, died(came, tmp_path / "out"))
    bundle = read_bundle(tmp_path / "out")
    assert bundle.outcome.status is Status.PARTIAL
    proposed = Write("add_label", asked.thread.number, label="needs tests")
    assert bundle.writes == came.bundle.writes == Writes((proposed,))
