"""`slash-agent fix` from wherever somebody calls it, and asked in ways that cannot lead anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.run.conftest import Cli
from tests.support.fix_script import DONE, mending, shell
from tests.support.model_script import Step
from tests.support.model_server import ModelServer
from tests.support.repositories import git, make_repository

pytestmark = pytest.mark.bubblewrap

MODEL = "anthropic/claude-sonnet-4-5"


def runs_of(cli: Cli) -> list[Path]:
    return list((cli.home / ".local/state/slash-agent/runs").glob("*"))


def test_from_a_folder_inside_the_whole_repository_is_worked_on(cli: Cli, repo: Path) -> None:
    with ModelServer([shell("pwd"), *mending()[:1], DONE]) as server:
        cli("fix", "--repo", repo / "tidytime", "--model", MODEL, "x", model=server)
        first, second = (request.json["messages"] for request in server.requests[:2])
    assert f"repository root: {repo}\n" in first[0]["content"][0]["text"]
    assert second[-1]["content"][0]["content"].startswith(f"{repo}\n")


def test_a_linked_work_tree_gets_the_branch(cli: Cli, repo: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(repo, "worktree", "add", "-q", "-b", "other", str(linked))
    with ModelServer(mending()) as server:
        ran = cli("fix", "--repo", linked, "--model", MODEL, "--json", "x", model=server)
    assert git(repo, "rev-parse", f"{ran.json['branch']}~1") == git(linked, "rev-parse", "other")
    assert git(linked, "status", "--porcelain") == ""


def test_a_shallow_clone_gets_the_branch(cli: Cli, repo: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", str(shallow))
    with ModelServer(mending()) as server:
        ran = cli("fix", "--repo", shallow, "--model", MODEL, "--json", "x", model=server)
    assert git(shallow, "rev-parse", f"{ran.json['branch']}~1") == git(shallow, "rev-parse", "HEAD")


def test_a_detached_head_stays_detached(cli: Cli, repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    with ModelServer(mending()) as server:
        ran = cli("fix", "--repo", repo, "--model", MODEL, "--json", "x", model=server)
    assert ran.json["branch"].startswith("agent/")
    assert git(repo, "rev-parse", "--abbrev-ref", "HEAD") == "HEAD"


def test_a_bare_repository_gets_the_branch(cli: Cli, repo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(bare))
    with ModelServer(mending()) as server:
        ran = cli("fix", "--repo", bare, "--model", MODEL, "--json", "x", model=server)
    assert git(bare, "rev-parse", f"{ran.json['branch']}~1") == git(bare, "rev-parse", "HEAD")


def test_a_submodule_is_named_as_not_fetched(cli: Cli, repo: Path, tmp_path: Path) -> None:
    outer = make_repository(tmp_path / "outer", {"README.md": "x\n"})
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "vendor/tidy")
    git(outer, "commit", "-qm", "Add a submodule")
    steps: Sequence[Step] = [shell("echo y > README.md"), DONE]
    with ModelServer(steps) as server:
        ran = cli("fix", "--repo", outer, "--model", MODEL, "x", model=server)
    assert ran.code == 0, ran.said
    assert "Submodules were not fetched; their folders are empty: `vendor/tidy`." in ran.out


@pytest.mark.parametrize("nothing", ["", "  \n "])
def test_nothing_to_do_is_refused_before_a_model_is_asked(cli: Cli, repo: Path, nothing: str) -> None:
    with ModelServer([DONE]) as server:
        ran = cli("fix", "--repo", repo, "--model", MODEL, nothing, model=server)
        assert server.requests == []
    assert ran.code == 2
    assert "Say what to do" in ran.err


def test_a_patch_without_a_folder_to_be_in_is_refused_before_a_model_is_asked(
    cli: Cli, repo: Path, tmp_path: Path
) -> None:
    with ModelServer([DONE]) as server:
        ran = cli(
            "fix", "--repo", repo, "--model", MODEL, "--patch", tmp_path / "no" / "x", "x", model=server
        )
        assert server.requests == []
    assert ran.code == 2
    assert f"There is no folder {tmp_path / 'no'}" in ran.err


def test_a_patch_that_cannot_be_written_names_where_the_change_is(
    cli: Cli, repo: Path, tmp_path: Path
) -> None:
    out = tmp_path / "bundle"
    with ModelServer(mending()) as server:
        ran = cli(
            "fix", "--repo", repo, "--model", MODEL, "--out", out, "--patch", tmp_path, "x", model=server
        )
    assert ran.code == 2
    assert ran.err.splitlines()[-1].endswith(f"The change is kept as {out / 'changes.patch'}.")
    git(repo, "apply", "--check", str(out / "changes.patch"))


def test_a_branch_that_cannot_be_made_names_where_the_change_is(cli: Cli, repo: Path, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    git(repo, "branch", "agent")
    with ModelServer(mending()) as server:
        ran = cli("fix", "--repo", repo, "--model", MODEL, "--out", out, "x", model=server)
    assert ran.code == 2
    assert "rename it" in ran.err
    assert ran.err.splitlines()[-1].endswith(f"The change is kept as {out / 'changes.patch'}.")


def test_a_run_that_does_not_begin_leaves_nothing_behind(cli: Cli, repo: Path) -> None:
    ran = cli("fix", "--repo", repo, "--model", MODEL, "x")
    assert ran.code == 2
    assert "ANTHROPIC_API_KEY" in ran.err
    assert runs_of(cli) == []


def test_salvage_passes_over_a_run_that_never_began(cli: Cli) -> None:
    folder = cli.home / ".local/state/slash-agent/runs/20261121-101500-ab12cd"
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").touch()
    ran = cli("salvage", "--newest")
    assert ran.code == 2
    assert "There is no run to salvage" in ran.err
