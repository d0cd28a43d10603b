"""Whole runs of `slash-agent fix` on a checkout with an environment, on both back ends."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.session.conftest import Cli
from tests.support.fix_script import DONE
from tests.support.model_script import Step
from tests.support.model_server import ModelServer
from tests.support.workspaces import EACH_BACK_END

MODEL = "anthropic/claude-sonnet-5-5"
both = pytest.mark.parametrize("sandbox", EACH_BACK_END)


def fixed(cli: Cli, repo: Path, sandbox: str, *steps: Step, options: Sequence[str] = ()) -> dict[str, Any]:
    with ModelServer([*steps, DONE, DONE]) as server:
        chosen = "auto" if sandbox == "bubblewrap" else sandbox
        given = ("--repo", repo, "--model", MODEL, "--sandbox", chosen, "--json", *options)
        ran = cli("fix", *given, "x", model=server)
    assert ran.code == 0, ran.output
    outcome: dict[str, Any] = ran.json["outcome"]
    assert sandbox == "auto" or outcome["sandbox"].lower().startswith(sandbox)
    return outcome


def states(outcome: dict[str, Any]) -> list[str]:
    [check] = outcome["checks"]
    return [check["before"]["state"], check["after"]["state"]]
