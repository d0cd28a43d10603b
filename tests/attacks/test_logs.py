"""What a child of the run prints, in a step's log: no command to the runner (A-19), nothing for a terminal (A-50)."""

import re
from pathlib import Path

import pytest

from tests.session.conftest import Cli
from tests.support.attacks import fix_with
from tests.support.fix_script import shell
from tests.support.model_script import Call, Say
from tests.support.repositories import make_repository
from tests.support.runner_log import FORMS, commands

pytestmark = pytest.mark.bubblewrap

PRINT = "cat <<'X'\n" + "\n".join(FORMS) + "\nX\n"
HARMLESS = re.compile("::(add-mask|warning|notice|error|group|endgroup) ?")
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def carried_out(log: str) -> list[str]:
    """The commands in a log that a run of ours does not give itself."""
    return [
        line
        for line in commands(log)
        if any(form.strip() in line for form in FORMS) or not HARMLESS.match(line)
    ]


def test_a19_a50_what_a_run_prints_is_no_command_and_no_sequence(cli: Cli, repo: Path):
    """Commands, paths, titles and answers are shown in the log."""
    everything = "\n".join(FORMS)
    steps = [
        PRINT,
        Call("view", {"path": everything}),
        Call("describe_change", {"title": "Say more", "summary": everything}),
        shell(f"echo 'print(2)' > src/app.py; {PRINT} exit 3"),
        Say(everything),
    ]
    attack = fix_with(cli.home, repo, steps, cli.environment(GITHUB_ACTIONS="true"), cold=False)
    assert attack.result.code == 0, attack.result.output
    for log in (attack.result.out, attack.result.err):
        assert carried_out(log) == []
        assert RAW.findall(log) == []


@pytest.mark.slow
def test_a19_what_a_failed_setup_printed_is_no_command(cli: Cli, tmp_path: Path):
    """Quoted in the reason."""
    files = {"forms": "\n".join(FORMS), ".github/agent.yml": "version: 1\nsetup: [cat forms && exit 3]\n"}
    repo = make_repository(tmp_path / "app", files)
    attack = fix_with(cli.home, repo, [], cli.environment(GITHUB_ACTIONS="true"), cold=False)
    assert (attack.result.code, "set-env" in attack.result.output) == (75, True)
    for log in (attack.result.out, attack.result.err):
        assert carried_out(log) == []


@pytest.mark.slow
def test_a19_nothing_of_a_policy_that_is_checked_is_a_command(cli: Cli, tmp_path: Path):
    """Whoever checks the policy of a pull request reads a stranger's file."""
    policy = tmp_path / "agent.yml"
    policy.write_text('version: 1\n"##[set-env name=PATH;]/evil": 1\n')
    for options in ((), ("--json",)):
        result = cli("policy", "check", policy, *options, GITHUB_ACTIONS="true")
        assert result.code == 2
        assert commands(result.output) == []
        assert "/evil" in result.output
