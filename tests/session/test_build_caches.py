"""What was built on the base need not be built again with the change; and what a changed tree or the model leaves in a
cache reaches no other round. On both back ends."""

import subprocess
from pathlib import Path

import pytest

from bot.ecosystems.registry import checkers
from bot.session.workspaces import build_caches
from bot.session.workspaces.build_caches import BuildCache, command_for
from tests.session.conftest import Cli
from tests.support.environment_runs import both, fixed, states
from tests.support.files import write_file
from tests.support.fix_script import DONE, shell
from tests.support.model_script import Step
from tests.support.repositories import make_repository

# What a compiler would do, by the version of the tree: each round looks for what others left in the caches.
CHECK = """\
version=$(cat version.txt)
caches="$HOME/.cache/go-build $HOME/.gradle/caches $HOME/.cache/mypy target/debug"
for cache in $caches; do
  ls $cache 2>&1
  mkdir -p $cache
  [ ! -e $cache/poison ] || exit 3
  case $version in
    base) touch $cache/built ;;
    poison) touch $cache/poison; [ -e $cache/built ] || exit 4 ;;
    *) [ -e $cache/built ] || exit 5 ;;
  esac
done
[ $version != poison ]
"""
FILES = {
    ".gitignore": "target\n",
    ".github/agent.yml": "version: 1\ndiagnostics: {checkers: []}\nchecks: ['sh check.sh # cargo']\n",
    "Cargo.toml": "",
    "check.sh": CHECK,
    "version.txt": "base\n",
}


def change_to(version: str) -> Step:
    return shell(f"echo {version} > version.txt")


PLANT = shell(
    "for c in ~/.cache/go-build ~/.gradle/caches ~/.cache/mypy target/debug; do mkdir -p $c; touch $c/poison; done"
)


@both
@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([change_to("changed")], [0, 0], id="the base builds", marks=pytest.mark.slow),
        pytest.param([PLANT, change_to("changed")], [0, 0], id="the model plants"),
        pytest.param([change_to("poison")], [0, 1], id="a changed tree fails", marks=pytest.mark.slow),
        pytest.param(
            [change_to("poison"), DONE, change_to("changed")],
            [0, 0],
            id="and a second change is checked",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a27_a_round_starts_from_what_the_base_built_and_from_nothing_else(
    cli: Cli, tmp_path: Path, sandbox: str, steps: list[Step], expected: list[int]
):
    repo = make_repository(tmp_path / "app", FILES)
    [check] = fixed(cli, repo, sandbox, *steps)["checks"]
    assert [check[side]["exit_code"] for side in ("before", "after")] == expected, check


@both
@pytest.mark.slow
def test_what_the_checkout_has_built_is_copied_and_never_written(cli: Cli, tmp_path: Path, sandbox: str):
    check = "[ -e target/debug/old ] && echo new > target/debug/old && touch target/debug/more"
    repo = make_repository(tmp_path / "app", {**FILES, "check.sh": check})
    debug = repo / "target/debug"
    write_file(debug / "old", "old\n")
    outcome = fixed(cli, repo, sandbox, change_to("changed"))
    assert states(outcome) == ["passed", "passed"], outcome["checks"]
    assert {one.name: one.read_text() for one in debug.iterdir()} == {"old": "old\n"}


@both
@pytest.mark.slow
def test_a45_a_link_in_the_place_of_a_cache_shows_nothing(cli: Cli, tmp_path: Path, sandbox: str):
    outside = tmp_path / "outside"
    write_file(outside / "secret", "hidden")
    check = (
        "[ $(cat version.txt) = base ] && { mkdir ~/.cache; ln -s OUT ~/.cache/go-build; ln -s OUT target; exit 0; }\n"
        "cat ~/.cache/go-build/secret target/secret OUT/secret\n"
        "! grep -rq hidden ~/.cache target OUT 2>/dev/null"
    ).replace("OUT", str(outside))
    repo = make_repository(tmp_path / "app", {**FILES, "check.sh": check})
    outcome = fixed(cli, repo, sandbox, change_to("changed"))
    assert states(outcome) == ["passed", "passed"], outcome["checks"]


def test_mypy_writes_its_cache_where_the_next_round_gets_a_copy():
    [mypy] = [one for one in checkers() if one.name == "mypy"]
    folder = mypy.arguments[mypy.arguments.index("--cache-dir") + 1]
    assert folder.replace("{tmp}/home", "~") in build_caches._IN_HOME


def test_a_repository_of_maven_that_is_too_large_is_linked_and_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(build_caches, "_LARGEST_COPY", 1)
    source, home = tmp_path / "source", tmp_path / "home"
    for folder in (source, home):
        folder.mkdir()
    (source / "a.jar").write_bytes(b"x" * 2_000_000)
    command = command_for([BuildCache(source, "~/.m2/repository", linked=True)])
    subprocess.run(
        ["bash", "-c", command], env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, check=True, cwd=tmp_path
    )
    assert (home / ".m2/repository").is_symlink()
    assert (home / ".m2/repository/a.jar").exists()
