"""`slash-agent fix` from wherever somebody calls it, and asked in ways that cannot lead anywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.publish.bundle.read import read_bundle
from tests.session.conftest import Cli
from tests.support.fix_script import DONE, fix_steps, shell
from tests.support.model_script import Step
from tests.support.model_server import ModelServer
from tests.support.repositories import git, make_repository

pytestmark = pytest.mark.bubblewrap

MODEL = "anthropic/claude-sonnet-5-5"


LATIN = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize(
    "where",
    [
        "instruction",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("repository", "home", "branch", "--out")),
    ],
)
def test_bytes_that_are_not_utf8_lose_no_run(cli: Cli, repo: Path, tmp_path: Path, where: str) -> None:
    options: list[object] = []
    if where == "repository":
        repo = repo.rename(tmp_path / LATIN)
    elif where == "home":
        cli = Cli(tmp_path / LATIN)
        cli.home.mkdir()
    elif where == "branch":
        git(repo, "switch", "-q", "-c", LATIN)
    elif where == "--out":
        options = ["--out", tmp_path / LATIN / "bundle"]
        (tmp_path / LATIN).mkdir()
    instruction = f"order {LATIN}" if where == "instruction" else "x"
    with ModelServer(fix_steps()) as server:
        ran = cli("fix", "--repo", repo, "--model", MODEL, "--json", *options, instruction, model=server)
    assert ran.code == 0, ran.err
    bundle = read_bundle(Path(ran.json["bundle"]))
    assert bundle.outcome.request.instruction == instruction.replace("\udce9", "\ufffd")


@pytest.mark.slow
def test_from_a_folder_inside_the_whole_repository_is_worked_on(cli: Cli, repo: Path) -> None:
    with ModelServer([shell("pwd"), *fix_steps()[:1], DONE]) as server:
        cli("fix", "--repo", repo / "tidytime", "--model", MODEL, "x", model=server)
        first, second = (request.json["messages"] for request in server.requests[:2])
    assert f"repository root: {repo}\n" in first[0]["content"][0]["text"]
    assert second[-1]["content"][0]["content"].startswith(f"{repo}\n")


PLACES = {
    "a linked work tree": ("worktree", "add", "-q", "-b", "other"),
    "a shallow clone": ("clone", "-q", "--depth", "1", "REPO"),
    "a bare repository": ("clone", "-q", "--bare", "REPO"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", PLACES)
def test_the_branch_is_made_in(cli: Cli, repo: Path, tmp_path: Path, what: str) -> None:
    place = tmp_path / "place"
    git(repo, *(f"file://{repo}" if word == "REPO" else word for word in PLACES[what]), str(place))
    with ModelServer(fix_steps()) as server:
        ran = cli("fix", "--repo", place, "--model", MODEL, "--json", "x", model=server)
    assert git(place, "rev-parse", f"{ran.json['branch']}~1") == git(place, "rev-parse", "HEAD")


@pytest.mark.slow
def test_a_submodule_is_named_as_not_fetched(cli: Cli, repo: Path, tmp_path: Path) -> None:
    outer = make_repository(tmp_path / "outer", {"README.md": "x\n"})
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "vendor/tidy")
    git(outer, "commit", "-qm", "Add a submodule")
    steps: Sequence[Step] = [shell("echo y > README.md"), DONE]
    with ModelServer(steps) as server:
        ran = cli("fix", "--repo", outer, "--model", MODEL, "x", model=server)
    assert ran.code == 0, ran.output
    assert (
        "Submodules were not fetched: `vendor/tidy`. Commands see what a local checkout has of them."
        in ran.out
    )


@pytest.mark.parametrize(
    ("option", "where", "said"),
    [
        ("--patch", "no/x", "--patch {} cannot be written: there is no folder"),
        ("--patch", "", "--patch takes a file, and {} is a folder: name a file in it."),
        ("--out", "a-file", "--out takes a folder, and {} is a file: name another folder."),
        ("--out", "a-file/x", "--out {} cannot be written: "),
        ("--out", "/proc/x", "--out /proc/x cannot be written: "),
    ],
)
def test_a_result_that_cannot_be_written_is_refused_before_a_model_is_asked(
    cli: Cli, repo: Path, tmp_path: Path, option: str, where: str, said: str
) -> None:
    (tmp_path / "a-file").touch()
    place = tmp_path / where
    with ModelServer([DONE]) as server:
        ran = cli("fix", "--repo", repo, "--model", MODEL, option, place, "x", model=server)
        assert server.requests == []
    assert ran.code == 2
    assert said.format(place) in ran.err


def test_a_branch_named_agent_is_refused_before_a_model_is_asked(cli: Cli, repo: Path) -> None:
    git(repo, "branch", "agent")
    with ModelServer([DONE]) as server:
        ran = cli("fix", "--repo", repo, "--model", MODEL, "x", model=server)
        assert server.requests == []
    assert ran.code == 2
    assert "rename it, as in: git branch -m agent agent-old" in ran.err


def test_a_read_only_repository_is_refused_before_a_model_is_asked(repo: Path) -> None:
    code = (
        "import sys, pathlib; from bot.contracts.errors import UsageError\n"
        "from bot.session.context.preflight import check_new_branch\n"
        "try: check_new_branch(pathlib.Path(sys.argv[1]))\nexcept UsageError as error: print(error)"
    )
    inside = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(repo), str(repo)]
    argv = [*inside, sys.executable, "-P", "-c", code, str(repo)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert "Read-only file system" in done.stdout, done.stderr
    assert "Use --patch FILE to get a patch instead." in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("is_new", "note"),
    [
        (True, "Your policy .github/agent.yml is not committed and held for this run all the same."),
        (False, "Your changes to .github/agent.yml are not committed and held for this run all the same."),
    ],
)
def test_a_policy_that_is_not_committed_is_named(cli: Cli, repo: Path, is_new: bool, note: str) -> None:
    if is_new:
        git(repo, "rm", "-q", "--cached", ".github/agent.yml")
        git(repo, "commit", "-q", "-m", "No policy")
    else:
        with (repo / ".github" / "agent.yml").open("a") as policy:
            policy.write("bring: [nowhere]\n")
    with ModelServer(fix_steps()) as server:
        ran = cli("fix", "--repo", repo, "--model", MODEL, "x", model=server)
    assert note in ran.err
    if is_new:
        assert note in ran.out
    else:
        assert "brings nowhere, but there is no folder" in ran.err


@pytest.mark.slow
def test_a_git_that_is_too_old_is_named(cli: Cli, repo: Path, tmp_path: Path) -> None:
    old = tmp_path / "git"
    real = shutil.which("git")
    old.write_text(f'#!/bin/sh\n[ "$1" = version ] && echo "git version 2.34.1" && exit\nexec {real} "$@"\n')
    old.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    with ModelServer([DONE]) as server:
        ran = cli("fix", "--repo", repo, "--model", MODEL, "x", model=server, PATH=path)
        assert server.requests == []
    assert ran.code == 75, ran.output
    assert "git version 2.34.1 is too old: install git 2.39 or later" in ran.err
