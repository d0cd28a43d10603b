"""`slash-agent fix` from wherever somebody calls it, and asked in ways that cannot lead anywhere."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bot.contracts.errors import PublishError
from bot.publish.bundle.read import read_bundle
from bot.run import result as run_result
from bot.session.context.run import RunResult
from bot.session.local.fix import FixOptions, FixResult, fix
from tests.session.conftest import Cli
from tests.session.test_no_room import Nobody
from tests.support.fix_script import DONE, fix_steps, shell
from tests.support.model_script import ScriptRequest, Step
from tests.support.model_server import ModelServer
from tests.support.repositories import git, make_repository, sample_repository

pytestmark = pytest.mark.bubblewrap

MODEL = "anthropic/claude-sonnet-5-5"


def runs_of(cli: Cli) -> list[Path]:
    return list((cli.home / ".local/state/slash-agent/runs").glob("*"))


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
    assert f"repository root: {repo}, a git repository\n" in first[0]["content"][0]["text"]
    assert second[-1]["content"][0]["content"].startswith(f"{repo}\n")


@pytest.mark.slow
def test_a_linked_work_tree_gets_the_branch(cli: Cli, repo: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(repo, "worktree", "add", "-q", "-b", "other", str(linked))
    with ModelServer(fix_steps()) as server:
        ran = cli("fix", "--repo", linked, "--model", MODEL, "--json", "x", model=server)
    assert git(repo, "rev-parse", f"{ran.json['branch']}~1") == git(linked, "rev-parse", "other")
    assert git(linked, "status", "--porcelain") == ""


@pytest.mark.slow
def test_a_shallow_clone_gets_the_branch(cli: Cli, repo: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", str(shallow))
    with ModelServer(fix_steps()) as server:
        ran = cli("fix", "--repo", shallow, "--model", MODEL, "--json", "x", model=server)
    assert git(shallow, "rev-parse", f"{ran.json['branch']}~1") == git(shallow, "rev-parse", "HEAD")


@pytest.mark.slow
def test_a_bare_repository_gets_the_branch(cli: Cli, repo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(bare))
    with ModelServer(fix_steps()) as server:
        ran = cli("fix", "--repo", bare, "--model", MODEL, "--json", "x", model=server)
    assert git(bare, "rev-parse", f"{ran.json['branch']}~1") == git(bare, "rev-parse", "HEAD")


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


@pytest.mark.parametrize("nothing", ["", "  \n "])
def test_nothing_to_do_is_refused_before_a_model_is_asked(cli: Cli, repo: Path, nothing: str) -> None:
    with ModelServer([DONE]) as server:
        ran = cli("fix", "--repo", repo, "--model", MODEL, nothing, model=server)
        assert server.requests == []
    assert ran.code == 2
    assert "Say what to do" in ran.err


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
def test_a_patch_that_cannot_be_written_at_the_end_names_where_the_change_is(
    cli: Cli, repo: Path, tmp_path: Path
) -> None:
    out, patch = tmp_path / "bundle", tmp_path / "folder" / "x.patch"
    patch.parent.mkdir()

    def remove_folder(asked: ScriptRequest) -> Step:
        shutil.rmtree(patch.parent, ignore_errors=True)
        return fix_steps()[{0: 0, 1: 1, 3: 2}.get(len(asked.results), 3)]

    with ModelServer(remove_folder) as server:
        ran = cli("fix", "--repo", repo, "--model", MODEL, "--out", out, "--patch", patch, "x", model=server)
    assert ran.code == 6
    assert ran.err.splitlines()[-1].endswith(f"The change is kept as {out / 'changes.patch'}.")
    git(repo, "apply", "--check", str(out / "changes.patch"))


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


@pytest.mark.parametrize(("version", "code"), [("2.34.1", 75), ("2.39.0", 0)])
@pytest.mark.slow
def test_a_git_that_is_too_old_is_named(
    cli: Cli, repo: Path, tmp_path: Path, version: str, code: int
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    real = shutil.which("git")
    (programs / "git").write_text(
        f'#!/bin/sh\n[ "$1" = version ] && echo "git version {version}" && exit\nexec {real} "$@"\n'
    )
    (programs / "git").chmod(0o755)
    with ModelServer(fix_steps()) as server:
        ran = cli(
            "fix",
            "--repo",
            repo,
            "--model",
            MODEL,
            "x",
            model=server,
            PATH=f"{programs}:{os.environ['PATH']}",
        )
    assert ran.code == code, ran.output
    assert ("git version 2.34.1 is too old: install git 2.39 or later" in ran.err) == (code == 75)


@pytest.mark.slow
def test_salvage_passes_over_a_run_that_never_began(cli: Cli) -> None:
    folder = cli.home / ".local/state/slash-agent/runs/20261121-101500-ab12cd"
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").touch()
    ran = cli("salvage", "--newest")
    assert ran.code == 2
    assert "There is no run to salvage" in ran.err


def _fix_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: Callable[[Path], object]) -> FixResult:
    """A run in whose repository something is damaged just before its branch is made."""
    repo, make = sample_repository(tmp_path / "tidytime", checks=False), run_result.make_branch

    def after_damage(path: Path, result: RunResult) -> str:
        damage(path)
        return make(path, result)

    monkeypatch.setattr(run_result, "make_branch", after_damage)
    with ModelServer(fix_steps()) as server:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **server.environment()}
        return fix(FixOptions(repo, "fix it", MODEL), environment, Nobody())


def test_a_branch_that_was_made_is_named_though_the_index_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = _fix_with(monkeypatch, tmp_path, lambda repo: (repo / ".git/index").write_bytes(b"damaged"))
    assert (fixed.exit_code, fixed.branch) == (0, "agent/round-durations-before-splitting-them")
    assert fixed.note.startswith("Uncommitted files could not be counted: git cannot read the state of")


def test_where_no_branch_can_be_made_the_last_line_applies_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PublishError, match="The change is kept as") as caught:
        _fix_with(monkeypatch, tmp_path, lambda repo: shutil.rmtree(repo / ".git/objects"))
    label, words = caught.value.__notes__[-1].split(": ", 1)
    assert label == "apply it"
    subprocess.run(shlex.split(words), check=True)
    assert "round(abs(seconds))" in (tmp_path / "tidytime/tidytime/format.py").read_text()
