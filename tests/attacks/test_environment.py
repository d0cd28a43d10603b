"""The environment of a checkout is shown to commands that an attacker chose (A-13, A-45). On both back ends."""

import os
from pathlib import Path

import pytest

from bot.workspace.sandbox.landlock import OLDEST, version
from tests.session.conftest import Cli
from tests.support.files import write_file
from tests.support.fix_script import DONE, shell
from tests.support.repositories import make_repository

both = pytest.mark.parametrize(
    "sandbox",
    [
        pytest.param("auto", marks=pytest.mark.bubblewrap),
        pytest.param("landlock", marks=pytest.mark.skipif(version() < OLDEST, reason="this kernel has no Landlock")),
    ],
)  # fmt: skip

SECRETS = (".venv/pip.conf", ".venv/.config/gh/hosts.yml", "node_modules/.npmrc", "vendor/.netrc")


def printed(cli: Cli, repo: Path, sandbox: str, command: str) -> str:
    result = cli.on(repo, "fix", "--sandbox", sandbox, "--json", "x", model=[shell(command), DONE, DONE])
    assert result.code == 0, result.output
    return str(result.requests[1].json["messages"][-1]["content"][0]["content"])


@both
def test_a13_credentials_in_the_environment_of_a_checkout_stay_hidden(cli: Cli, tmp_path: Path, sandbox: str):
    repo = make_repository(tmp_path / "app", {".gitignore": ".venv\nnode_modules\nvendor\n", "a": "a\n"})
    for name in (".venv/pyvenv.cfg", ".venv/lib/fine", "node_modules/fine/index.js", "vendor/fine", *SECRETS):
        write_file(repo / name, "planted-credential\n" if name in SECRETS else "as it is\n")
    (repo / ".venv/hosts").symlink_to(".config/gh/hosts.yml")
    files = " ".join((*SECRETS, ".venv/hosts", *(f"{repo}/{name}" for name in SECRETS)))
    output = printed(
        cli, repo, sandbox,
        f"for file in {files} .venv/lib/fine node_modules/fine/index.js vendor/fine; do cat $file; done; "
        "grep -r planted-cred .venv/ node_modules/ vendor/ node_modules/.slash-agent/ | wc -l",
    )  # fmt: skip
    assert "planted" not in output
    assert output.count("as it is") == 3
    assert "\n0\n" in output


@both
def test_a45_a_folder_that_setup_swapped_for_a_link_shows_nothing(cli: Cli, tmp_path: Path, sandbox: str):
    """A program that git itself starts, after the last setup command. Two lines stand against it: the one that
    test_folders.py breaks, and git, which names no path beyond a link."""
    secrets = tmp_path / "secrets"
    write_file(secrets / "key", "planted-credential\n")
    swap = f"#!/bin/sh\\nmv .venv away && ln -s {secrets} .venv\\n"
    policy = (
        "version: 1\ndiagnostics: {checkers: []}\nsetup:\n"
        "  - mkdir .venv && touch .venv/pyvenv.cfg\n"
        f"  - printf '{swap}' > swap && chmod +x swap && git config core.fsmonitor ./swap\n"
    )
    repo = make_repository(
        tmp_path / "app", {".gitignore": ".venv\nswap\naway\n", ".github/agent.yml": policy}
    )
    output = printed(cli, repo, sandbox, "ls -ld .venv away swap; cat .venv/* .venv/.slash-agent/*; true")
    assert "swap" in output
    assert "planted" not in output


@pytest.mark.slow
@both
def test_a114_what_is_not_shown_is_said_to_the_person_and_to_the_model(
    cli: Cli, tmp_path: Path, sandbox: str
):
    """A folder of PATH, an environment that only its variable names, and a version that a manager does not have."""
    tools, venv = tmp_path / "shared/bin", tmp_path / "shared/venv"
    for folder in (tools, venv / "bin", cli.home / ".pyenv/shims", cli.home / ".pyenv/versions/3.12.1"):
        folder.mkdir(parents=True)
    write_file(tools / "planted", "#!/bin/sh\necho planted-program\n", 0o755)
    (venv / "pyvenv.cfg").write_text("planted-environment")
    (tmp_path / "shared").chmod(0o777)
    repo = make_repository(tmp_path / "app", {".python-version": "3.9.1\n"})
    path = f"{tools}:{cli.home}/.pyenv/shims:{os.environ['PATH']}"
    result = cli.on(
        repo, "fix", "--sandbox", sandbox, "x",
        model=[shell(f"planted; cat {venv}/pyvenv.cfg"), DONE, DONE], PATH=path, VIRTUAL_ENV=str(venv),
    )  # fmt: skip
    first, second = (str(request.json["messages"]) for request in result.requests[:2])
    assert "planted-" not in second
    said = (
        f"{tools} of PATH is not shown to commands: others can write in {tmp_path}/shared.",
        f"{venv} is not shown to commands: others can write in {tmp_path}/shared.",
        "pyenv has no version for this repository",
    )
    for sentence in said:
        assert sentence in first
        assert "".join(sentence.split()) in "".join(result.output.split())  # the terminal breaks lines
