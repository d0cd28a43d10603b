"""How many API calls an event costs: counted by the forge, since it cannot be fooled by a second client."""

from __future__ import annotations

import re
import sys

import pytest

from tests.support.fix_script import fix_steps
from tests.support.model_server import ModelServer
from tests.support.runner import ROOT
from tests.support.stage import MODEL, Stage

FIRST = ROOT / ".github" / "action" / "first.py"
WORKFLOW = ".github/workflows/agent.yml"
MOST_OF_A_FIX = 16


def api_calls(stage: Stage, since: int = 0) -> list[str]:
    return [line for line in stage.bot_requests()[since:] if " /api/" in line]


def is_progress_edit(line: str) -> bool:
    return line.startswith("PATCH ") and "/issues/comments/" in line


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_a_whole_fix_costs_at_most_sixteen_calls_besides_progress_edits(stage: Stage) -> None:
    """The first answer, the run and the publishing, as the three jobs do them."""
    run = stage.forge.add_run(stage.repo, workflow=WORKFLOW, event="issue_comment", conclusion=None)
    file = stage.event_file(stage.sample.event)
    actions = {
        "GITHUB_EVENT_NAME": "issue_comment",
        "GITHUB_EVENT_PATH": str(file),
        "GITHUB_RUN_ID": str(run),
        "GITHUB_WORKFLOW_REF": f"{stage.repo}/{WORKFLOW}@refs/heads/main",
    }
    with ModelServer(fix_steps()) as server:
        more = {**actions, **server.environment(), "SLASH_AGENT_MODEL": MODEL}
        output = stage.folder / "output"
        own = {"SLASH_AGENT_GITHUB_TOKEN": stage.sample.run_token, "GITHUB_OUTPUT": str(output)}
        step = stage.environment(**{**actions, **own, "GITHUB_ACTIONS": "true"})
        first = stage.call([sys.executable, "-I", str(FIRST)], {**step, "SLASH_AGENT_MODE": "gate"})
        found = re.search(r"gate<<\S+\ngo (\d+)\n", output.read_text())
        assert found, first.output
        before = len(api_calls(stage))
        again = stage.call(
            [sys.executable, "-I", str(FIRST)], {**step, "SLASH_AGENT_GATE": f"go {found.group(1)}"}
        )
        assert (again.code, len(api_calls(stage))) == (0, before), again.output
        ran = stage.run(**more, SLASH_AGENT_COMMENT=found.group(1))
    assert (first.code, ran.code) == (0, 0), first.output + ran.output
    published = stage.publish(**actions)
    assert published.code == 0, published.output
    assert len(stage.pulls()) == 1
    assert len(stage.bot_comments()) == 1
    calls = [line for line in api_calls(stage) if not is_progress_edit(line)]
    assert len(calls) <= MOST_OF_A_FIX, "\n".join(calls)
