"""Whole runs of `slash-agent fix` on a checkout with an environment, on both back ends."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.session.conftest import Cli
from tests.support.fix_script import DONE
from tests.support.model_script import Step
from tests.support.workspaces import EACH_BACK_END

both = pytest.mark.parametrize("sandbox", EACH_BACK_END)


def fixed(cli: Cli, repo: Path, sandbox: str, *steps: Step, options: Sequence[str] = ()) -> dict[str, Any]:
    chosen = "auto" if sandbox == "bubblewrap" else sandbox
    ran = cli.on(repo, "fix", "--sandbox", chosen, "--json", *options, "x", model=[*steps, DONE, DONE])
    assert ran.code == 0, ran.output
    outcome: dict[str, Any] = ran.json["outcome"]
    assert sandbox == "auto" or outcome["sandbox"].lower().startswith(sandbox)
    return outcome


def states(outcome: dict[str, Any]) -> list[str]:
    [check] = outcome["checks"]
    return [check["before"]["state"], check["after"]["state"]]
