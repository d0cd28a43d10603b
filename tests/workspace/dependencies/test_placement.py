"""How environment folders come into a tree that commands may have had before."""

import os
from pathlib import Path

import pytest

from bot.workspace.dependencies import links, place_folders
from bot.workspace.sandbox.confinement import STORE, EnvironmentFolder

BOTH = pytest.mark.parametrize("moves", [True, False])


@pytest.fixture
def node(tmp_path: Path) -> EnvironmentFolder:
    """A workspace with one package of its own, one of a scope, two links and a cache."""
    top = tmp_path / "app"
    for name in ("left/index.js", "@scope/right/index.js", ".cache/x", ".bin/x"):
        (top / "node_modules" / name).parent.mkdir(parents=True, exist_ok=True)
        (top / "node_modules" / name).touch()
    (top / "node_modules/own").symlink_to("../packages/own")
    (top / "node_modules/@scope/own").symlink_to(top / "packages/own")
    (top / "node_modules/.bin/left").symlink_to("../left/index.js")
    (top / "node_modules/out").symlink_to("../../secrets")
    return EnvironmentFolder(top / "node_modules", "node_modules")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree/packages/own").mkdir(parents=True)
    (tmp_path / "tree/.git/info").mkdir(parents=True)
    return tmp_path / "tree"


def links_in(tree: Path) -> dict[str, str]:
    found = {
        os.path.relpath(os.path.join(folder, name), tree): os.readlink(os.path.join(folder, name))
        for folder, folders, files in os.walk(tree)
        for name in (*folders, *files)
        if os.path.islink(os.path.join(folder, name))
    }
    return dict(sorted(found.items()))


@BOTH
def test_links_to_packages_of_the_repository_lead_into_the_tree(
    node: EnvironmentFolder, tree: Path, moves: bool
):
    assert place_folders(tree, [node], moves=moves) == (node,)
    found = links_in(tree)
    assert found == dict(sorted(links([node], moves=moves).items()))
    assert (tree / "node_modules/own").resolve() == tree / "packages/own"
    assert (tree / "node_modules/@scope/own").resolve() == tree / "packages/own"
    store = tree / "node_modules" / STORE if moves else node.source
    ends = {path: os.path.normpath(tree / os.path.dirname(path) / end) for path, end in found.items()}
    assert ends["node_modules/left"] == str(store / "left")
    # As package-json-from-dist does, a package looks for itself below the last `node_modules` of its real path.
    assert ends["node_modules/left"].rpartition("/node_modules/")[2] == "left"
    assert ends["node_modules/@scope/right"] == str(store / "@scope/right")
    assert found["node_modules/.bin/left"] == "../left/index.js"
    assert not any(name in path for path in found for name in ("out", ".cache"))


@BOTH
def test_a_link_on_the_way_is_never_followed(tmp_path: Path, tree: Path, moves: bool):
    (tmp_path / "home").mkdir()
    (tree / "web").symlink_to(tmp_path / "home")
    (tree / "venv").symlink_to(tmp_path / "home")
    for path in ("web/node_modules", "venv"):
        (tmp_path / "app" / path / "a").mkdir(parents=True)
        folder = EnvironmentFolder(tmp_path / "app" / path, path)
        assert place_folders(tree, [folder], moves=moves) == (() if moves or "web" in path else (folder,))
    assert list((tmp_path / "home").iterdir()) == []


def test_what_stands_in_the_place_of_a_link_stays(tmp_path: Path, tree: Path):
    (tree / ".venv").mkdir()
    folder = EnvironmentFolder(tmp_path / "app/.venv", ".venv")
    place_folders(tree, [folder], moves=False)
    assert not (tree / ".venv").is_symlink()


def test_a_place_without_its_parent_is_left_out(tmp_path: Path, tree: Path):
    folder = EnvironmentFolder(tmp_path / "app/gone/node_modules", "gone/node_modules")
    assert place_folders(tree, [folder], moves=True) == ()
    assert not (tree / "gone").exists()


def test_git_of_the_tree_does_not_see_them_and_its_own_word_stays(tmp_path: Path, tree: Path):
    folder = EnvironmentFolder(tmp_path / "app/.venv", ".venv")
    place_folders(tree, [folder], moves=False)
    assert (tree / ".git/info/exclude").read_text() == "/.venv\n"
    (tree / ".git/info/exclude").write_text("mine\n")
    place_folders(tree, [folder], moves=False)
    assert (tree / ".git/info/exclude").read_text() == "mine\n"


@BOTH
def test_no_names_are_read_through_a_link(tmp_path: Path, node: EnvironmentFolder, tree: Path, moves: bool):
    (tmp_path / "home/id_rsa").mkdir(parents=True)
    (node.source / "@keys").symlink_to(tmp_path / "home")
    (node.source / ".bin2").symlink_to("../../home")
    assert not any("keys" in path or "id_rsa" in path for path in links([node], moves=moves))
