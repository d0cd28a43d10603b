"""Whole runs of `slash-agent fix` on a checkout with an environment, on both back ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.workspace.sandbox.landlock import OLDEST, version
from tests.session.conftest import Cli
from tests.support.fix_script import DONE
from tests.support.model_script import Step
from tests.support.model_server import ModelServer

MODEL = "anthropic/claude-sonnet-5-5"
BACK_ENDS = [
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param(
        "landlock", marks=pytest.mark.skipif(version() < OLDEST, reason="this kernel has no Landlock")
    ),
]
both = pytest.mark.parametrize("sandbox", BACK_ENDS)


def fixed(cli: Cli, repo: Path, sandbox: str, *steps: Step, options: Sequence[str] = ()) -> dict[str, Any]:
    with ModelServer([*steps, DONE, DONE]) as server:
        chosen = "auto" if sandbox == "bubblewrap" else sandbox
        ran = cli(
            "fix",
            "--repo",
            repo,
            "--model",
            MODEL,
            "--sandbox",
            chosen,
            "--json",
            *options,
            "x",
            model=server,
        )
    assert ran.code == 0, ran.output
    outcome: dict[str, Any] = ran.json["outcome"]
    assert sandbox == "auto" or outcome["sandbox"].lower().startswith(sandbox)
    return outcome


def states(outcome: dict[str, Any]) -> list[str]:
    [check] = outcome["checks"]
    return [check["before"]["state"], check["after"]["state"]]
