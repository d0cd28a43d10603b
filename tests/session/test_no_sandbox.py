"""Machines on which no sandbox works: refused before a model is asked, unless a person says otherwise."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.session.conftest import Cli
from tests.support.fix_script import fix_steps
from tests.support.machines import without_sandbox
from tests.support.model_server import ModelServer
from tests.support.stage import MODEL, CommandResult, Stage

# Another bubblewrap around the test makes the machine on which none works.
pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(fix_steps()) as server:
        yield server


def assert_refused(ran: CommandResult, *said: str) -> None:
    assert ran.code == 78, ran.output
    for words in said:
        assert words in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "Traceback" not in ran.output


def test_without_sandbox_a_fix_is_refused_with_the_remedy(cli: Cli, repo: Path, model: ModelServer):
    ran = cli.on(repo, "fix", "x", model=model, inside=without_sandbox())
    assert_refused(
        ran, "bubblewrap (bwrap) is not installed", "has no Landlock", "apt-get install", "--sandbox off"
    )
    assert model.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("less", ["off", "landlock"])
@pytest.mark.parametrize(
    "verb",
    [
        ("fix", "x", "--model", MODEL),
        ("review", "--model", MODEL),
        ("tool", "bash", '{"command": "touch here"}'),
    ],
    ids=lambda verb: verb[0],
)
def test_in_actions_no_verb_takes_less(
    cli: Cli, repo: Path, model: ModelServer, verb: Sequence[str], less: str
):
    where = "--root" if verb[0] == "tool" else "--repo"
    ran = cli(*verb, where, repo, "--sandbox", less, model=model, GITHUB_ACTIONS="true")
    assert ran.code == 2
    assert f"--sandbox {less} is for a person at their own terminal, not for Actions" in ran.err
    assert model.requests == []
    assert not (repo / "here").exists()


@pytest.mark.slow
def test_an_event_is_refused_and_its_thread_told(stage: Stage, model: ModelServer):
    stage.inside = without_sandbox()
    ran = stage.run(model=model)
    assert_refused(ran, "bubblewrap (bwrap) is not installed", "setup-sandbox")
    assert model.requests == []
    comments = stage.bot_comments()
    assert any("is not installed" in body for body in comments)
    assert not any("Working on it" in body for body in comments)
    assert not [line for line in stage.bot_requests() if ".git/" in line], "something was fetched"
