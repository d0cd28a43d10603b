"""What `salvage` knows of a run that died: all that its journal says, and nothing that it does not."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.session.conftest import Cli, command
from tests.support import warm
from tests.support.fix_script import DESCRIBE, EDITS, VIEW, shell
from tests.support.model_script import Call, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.repositories import commit_all

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
