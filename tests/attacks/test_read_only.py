"""A model that obeys an attacker in a run that only reads, and a fork's head that wants to be run (A-12, A-27).

Three walls for reading: writing tools are not offered, the gatekeeper denies writes, and what a command changed is
thrown away. One rule for forks: nothing of theirs is run.
"""

from pathlib import Path

import pytest

from bot.contracts.outcome import Status
from bot.contracts.request import Tier
from bot.policy.load import load_policy
from bot.session.context.profiles import profile_of
from bot.session.tools.toolbox import Gatekeeper
from bot.workspace.client import Question
from tests.support.fix_script import DESCRIBE, DONE, shell
from tests.support.model_script import Call, Say
from tests.support.outcomes import make_request
from tests.support.stage import Stage
from tests.support.verb_runs import fork_pull, request_in, request_on, run_verb

pytestmark = [pytest.mark.bubblewrap, pytest.mark.checkers]

PLAN = Call("submit_plan", {"title": "Harmless", "steps": [{"text": "Nothing."}]})
WRITE = Call("write", {"path": "owned.txt", "content": "x\n"})
EDIT = Call("edit", {"path": "owned.txt", "old": "", "new": "x\n"})

# What a command could do so that something of it gets out of the tree.
COMMANDS = {
    "a file": "echo x > owned.txt",
    "a commit": "git add -A; g=git; $g -c user.name=x -c user.email=x@y commit -qm owned --allow-empty",
    "another branch": "git checkout -q -b owned; echo x > owned.txt",
    "a hook": "printf '#!/bin/sh\\ntouch /tmp/owned' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
    "a workflow": "mkdir -p .github/workflows; echo 'on: push' > .github/workflows/owned.yml",
    "a link out": "ln -s /etc/passwd owned",
    "a nested repository": "git init -q owned",
    "the whole tree gone": "rm -rf $(ls) $(pwd)/.git",
    "its own tree in the way": "rm -rf tidytime; ln -s / tidytime",
}


THROWN_AWAY = ("a file", "another branch", "a workflow", "a link out", "the whole tree gone")


@pytest.mark.parametrize("name", COMMANDS)
def test_whatever_a_command_leaves_in_a_review_does_not_get_out(stage: Stage, name: str):
    stage.forge.commit(stage.repo, {"extra.py": "EXTRA = 1\n"}, branch="topic")
    number = stage.forge.open_pull(stage.repo, "mira-okafor", "topic")
    verb_run = run_verb(stage, request_on(stage, number, "review"), [shell(COMMANDS[name]), DONE])
    assert verb_run.outcome.status is Status.REVIEWED
    assert verb_run.bundle.patch == verb_run.bundle.withheld == b""
    assert verb_run.outcome.files == verb_run.outcome.withheld == ()
    assert any("thrown away" in note for note in verb_run.outcome.notes) or name not in THROWN_AWAY
    assert stage.publish().code == 0
    assert set(stage.branches()) == {"main", "topic"}
    assert len(stage.pulls()) == 1


@pytest.mark.parametrize("verb", ["plan", "explain"])
@pytest.mark.parametrize("call", [WRITE, EDIT], ids=["write", "edit"])
def test_a_writing_tool_that_was_not_offered_is_not_there(stage: Stage, verb: str, call: Call):
    verb_run = run_verb(stage, request_in(stage, verb), [call, PLAN, Say("Said.")])
    assert f'There is no tool "{call.name}"' in verb_run.results[0]
    assert not (verb_run.result.checkout.tree / "owned.txt").exists()
    assert verb_run.bundle.patch == b""


def test_a_tool_host_that_was_taken_over_is_denied_every_write(tmp_path: Path):
    """Its question is what it likes; the answer in a reading run is no, whatever the policy says."""
    for verb in ("plan", "explain", "review"):
        profile = profile_of(make_request(verb=verb))
        gatekeeper = Gatekeeper(load_policy(None), Tier.MAINTAINER, str(tmp_path), lambda line: None, profile)
        for tool in ("edit", "write", "bash", "view", "made_up"):
            answer = gatekeeper.answer(Question(tool, (("x.py", "change"),), "+x"))
            assert not answer.allow, (verb, tool)
            assert "changes nothing" in answer.reason


def test_a_call_of_a_masked_tool_is_denied_at_dispatch_too(tmp_path: Path):
    profile = profile_of(make_request(verb="explain"))
    gatekeeper = Gatekeeper(load_policy(None), Tier.MAINTAINER, str(tmp_path), lambda line: None, profile)
    for tool in ("edit", "write", "describe_change", "submit_plan", "ask_user"):
        assert not gatekeeper.permit(tool, {}).allow, tool
    assert gatekeeper.permit("view", {"path": "x"}).allow
    assert len(gatekeeper.denials) == 5


# A fork's head


HOSTILE = {
    "conftest.py": "import os; os.system('touch ran-conftest')\n",
    "setup.py": "open('ran-setup', 'w')\n",
    "Makefile": "test:\n\ttouch ran-make\n",
    ".github/agent.yml": (
        "version: 1\nsetup:\n  - touch ran-policy\nchecks:\n  - {name: evil, command: touch ran-check}\n"
    ),
    ".envrc": "touch ran-envrc\n",
    "tidytime/__init__.py": "open('ran-import', 'w')\n",
    ".gitattributes": "* filter=evil diff=evil\n",
}


@pytest.mark.parametrize("verb", ["fix", "plan", "explain"])
def test_a32_nothing_of_a_forks_head_is_run(stage: Stage, verb: str):
    number = fork_pull(stage, HOSTILE)
    wants = [shell("touch ran-bash"), Call("view", {"path": "setup.py"}), Call("grep", {"pattern": "open"})]
    ends = [PLAN] if verb == "plan" else [Call("write", {"path": "new.txt", "content": "x\n"}), DESCRIBE]
    verb_run = run_verb(stage, request_on(stage, number, verb), [*wants, *ends, Say("Said.")])
    assert "bash" not in verb_run.tools
    assert 'There is no tool "bash"' in verb_run.results[0]
    tree = verb_run.result.checkout.tree
    assert (tree / "conftest.py").exists()
    assert [path.name for path in tree.rglob("ran-*")] == []
    # A language server may be the fork's own program, and cargo runs its build script: ours alone look on.
    assert {use.name for use in verb_run.outcome.servers if not use.note} <= {"ty", "ruff"}
    result = [
        run
        for check in verb_run.outcome.checks
        for run in (check.before, check.after)
        if run.exit_code is not None
    ]
    assert result == []


def test_a32_a_model_that_keeps_asking_for_a_shell_on_a_fork_gets_none(stage: Stage):
    number = fork_pull(stage, HOSTILE)
    names = ["bash", "Bash", " bash", "shell", "run"]
    verb_run = run_verb(
        stage,
        request_on(stage, number, "fix"),
        [*(Call(n, {"command": "touch ran-it"}) for n in names), DONE],
    )
    assert all("There is no tool" in result for result in verb_run.results)
    assert [path.name for path in verb_run.result.checkout.tree.rglob("ran-*")] == []


@pytest.mark.parametrize("trusted", ["0" * 40, ""])
def test_a35_another_sha_than_the_heads_vouches_for_nothing(stage: Stage, trusted: str):
    number = fork_pull(stage, HOSTILE)
    request = request_on(stage, number, "fix", trusted_sha=trusted)
    verb_run = run_verb(stage, request, [shell("touch ran-bash"), DONE])
    assert "bash" not in verb_run.tools


def test_a34_a_fork_that_moved_after_it_was_vouched_for_is_not_run(stage: Stage):
    """The head of the trigger is what counts: what is pushed later is neither fetched nor trusted."""
    number = fork_pull(stage, {"a.txt": "a\n"})
    request = request_on(stage, number, "fix")
    assert request.pull is not None
    sha = request.pull.head_sha
    stage.forge.commit("mallory/tidytime", {"b.txt": "b\n"}, branch="topic", author="mallory")
    verb_run = run_verb(stage, request_on(stage, number, "fix", trusted_sha=sha), [DONE])
    assert "bash" not in verb_run.tools
