"""`prepare: auto`: the run installs what the checks need by itself, in the sandbox, from the lock file of the base."""

import pytest
import yaml

from tests.attacks.test_prepared_environment import BASE
from tests.session.test_event_unasked import READING
from tests.support.fix_script import fix_steps
from tests.support.runner import ACTION, ROOT
from tests.support.stage import Stage

pytestmark = pytest.mark.bubblewrap


@pytest.mark.slow
@pytest.mark.checks
def test_what_failed_is_said_with_what_to_do(stage: Stage):
    stage.forge.commit(stage.repo, BASE | {"requirements.txt": "-r there-is-no-such-file.txt\n"})
    token = stage.forge.token(permissions=READING, repo=stage.repo)
    result = stage.run(model=fix_steps(), token=token, SLASH_AGENT_PREPARE="auto")
    assert result.code == 0, result.output
    assert result.output.count("setup: [ -d .venv ]") == 1
    [note] = [one for one in stage.outcome()["notes"] if "could not be installed" in one]
    assert "ERROR: Could not open requirements file" in note
    assert "[exit code" not in note
    assert "`setup:`" in note


def test_a82_a89_no_job_that_runs_the_agent_or_publishes_restores_or_saves_a_cache():
    """What a run on another branch, or the code of a head, has written to it would run here."""
    steps = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    for file in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        for job in yaml.safe_load(file.read_text())["jobs"].values():
            steps += job.get("steps", [])
    used = {step["uses"].partition("@")[0] for step in steps if "uses" in step}
    assert "actions/upload-artifact" in used
    assert not [name for name in used if name.startswith("actions/cache")]
