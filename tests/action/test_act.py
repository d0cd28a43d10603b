"""The workflows that `init` writes, executed by act: whether a runner that is not ours reads jobs, conditions, outputs,
artifacts and the action's own steps as we mean them. What each step does is in `test_workflow.py`, which is faster."""

import json

import pytest

from bot.doctor.init_files import propose
from bot.environment.detect import detect
from tests.support.act import Act
from tests.support.fix_script import fix_steps
from tests.support.model_server import ModelServer
from tests.support.stage import Stage
from tests.support.warm import warm_venv

pytestmark = [pytest.mark.act, pytest.mark.bubblewrap, pytest.mark.node]

KEY = "sk-canary-7be2"


def test_what_init_writes_prepares_in_a_job_of_its_own_and_what_a_push_kept_is_restored(stage: Stage):
    """The key of what is kept has the commit: for another one the steps run. act's machines have another path each, so
    that a run cannot use what another job installed, and says that."""
    steps = [{"run": "mkdir installed && echo the step ran"}, {"run": "python -m unittest"}]
    ci = {"on": "pull_request", "jobs": {"test": {"runs-on": "ubuntu-24.04", "steps": steps}}}
    files = {".github/workflows/ci.yml": json.dumps(ci), ".gitignore": "installed\n"}
    stage.forge.commit(stage.repo, files)
    proposed = propose(detect({**files, "test_a.py": ""}, files.get), "anthropic", tasks=False)
    texts = {one.path.rpartition("/")[2]: one.text for one in proposed}
    push = {"ref": "refs/heads/main", "repository": stage.sample.event["repository"]}
    with ModelServer([*fix_steps(), *fix_steps()]) as server:
        act = Act(stage, {"ANTHROPIC_API_KEY": KEY}, {"ANTHROPIC_BASE_URL": server.url}, warm_venv())
        first = act.run(texts["agent.yml"], stage.sample.event)
        assert server.requests[0].headers["x-api-key"] == KEY
        kept = act.run(texts["agent-environment.yml"], push, "push")
        again = act.run(texts["agent.yml"], stage.ask("/agent fix it once more"))
    for ran in (first, again):
        assert ran.jobs == dict.fromkeys(("gate", "prepare", "run", "publish"), "success"), ran.log
        assert "slash-agent-environment.tar" in {name.partition(".zip")[0] for name in ran.artifacts}, (
            ran.artifacts
        )
        assert "What the job `prepare` left is not used: this job has other workspace" in ran.log
        assert KEY not in ran.log
    assert (kept.jobs, kept.artifacts) == ({"keep": "success"}, set()), kept.log
    assert ["the step ran" in ran.log for ran in (first, kept, again)] == [True, True, False]
    assert len(stage.pulls()) == 1
