"""Which folders of a checkout are used as they are, and which never."""

import base64
import hashlib
import os
from pathlib import Path

import pytest

from bot.checkout.git import Git
from bot.workspace.dependencies import dependencies, environment_folders, links, place_folders
from bot.workspace.environment import of_dependencies
from bot.workspace.sandbox.confinement import STORE, EnvironmentFolder
from tests.support.files import write_file
from tests.support.repositories import git, make_repository

FILES = {
    ".gitignore": ".venv/\nnode_modules\n/vendor/\n",
    "pyproject.toml": "",
    "package.json": "{}",
    "web/package.json": "{}",
    "src/app.py": "",
}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repository(tmp_path.resolve() / "app", FILES)


def virtual(folder: Path) -> Path:
    write_file(folder / "pyvenv.cfg", "home = /usr/bin\n")
    return folder


def found(top: Path, **variables: str) -> dict[str, str]:
    """The folder of programs on PATH, by the place in the tree."""
    tracked = git(top, "ls-files").splitlines()
    folders = environment_folders(top, Git(top / ".git"), tracked, variables)
    return {one.path or str(one.source): one.programs for one in folders if not one.unshown}


def left_out(top: Path, **variables: str) -> dict[str, str]:
    """Why an environment is not shown, by its place."""
    folders = environment_folders(top, Git(top / ".git"), git(top, "ls-files").splitlines(), variables)
    return {one.path or str(one.source): one.unshown for one in folders if one.unshown}


def test_ignored_folders_at_the_root_and_beside_manifests_are_found(top: Path):
    virtual(top / ".venv")
    for name in ("node_modules/a", "web/node_modules/b", "vendor/c", "src/node_modules"):
        (top / name).mkdir(parents=True)
    assert found(top) == {".venv": "bin", "node_modules": ".bin", "vendor": "", "web/node_modules": ""}


def test_a_folder_that_git_does_not_ignore_is_used_only_if_it_is_marked_as_an_environment(top: Path):
    (top / ".nox").mkdir()
    assert found(top) == {}
    virtual(top / "venv")
    assert found(top) == {"venv": "bin"}


def test_nor_one_that_holds_a_file_of_the_commit(top: Path):
    (top / "vendor").mkdir()
    (top / "vendor/kept.go").touch()
    git(top, "add", "--force", "vendor/kept.go")
    assert found(top) == {}


def test_nor_a_link(top: Path, tmp_path: Path):
    (tmp_path / "secrets").mkdir()
    (top / "node_modules").symlink_to(tmp_path / "secrets")
    (top / "web/node_modules").symlink_to("../../secrets")
    virtual(top / ".venv")
    assert found(top) == {".venv": "bin"}
    reason = "it is a link, which is not followed"
    assert left_out(top) == {"node_modules": reason, "web/node_modules": reason}


def test_what_others_can_write_is_not_shown_unless_another_environment_is_active(top: Path, tmp_path: Path):
    virtual(top / ".venv").chmod(0o777)
    active = str(virtual(tmp_path.resolve() / "active"))
    assert left_out(top) == {".venv": f"others can write in {top}/.venv"}
    assert found(top, RUNNER_TEMP="/runner") == {".venv": "bin"}
    assert (found(top, VIRTUAL_ENV=active), left_out(top, VIRTUAL_ENV=active)) == ({active: "bin"}, {})
    (top / ".venv/pyvenv.cfg").unlink()
    (tmp_path / "active").chmod(0o777)
    assert left_out(top, VIRTUAL_ENV=active) == {active: f"others can write in {active}"}


def test_an_environment_in_a_place_that_is_never_shown_is_named(top: Path, monkeypatch: pytest.MonkeyPatch):
    """Its programs are first on PATH, and the system's would take their place."""
    monkeypatch.setenv("HOME", str(virtual(top.parent / "home")))
    home = str(top.parent / "home")
    assert left_out(top, VIRTUAL_ENV=home) == {home: "nothing in its place is ever shown"}


def test_nor_a_folder_of_settings_that_is_called_like_an_environment(top: Path):
    (top / ".venv").mkdir()
    assert found(top) == {}


def test_what_ignores_itself_counts(top: Path):
    write_file(top / "vendor/.gitignore", "*\n")
    (top / ".tox").mkdir()
    assert list(found(top)) == ["vendor"]


def test_the_active_environment_comes_first_and_only_one_is_on_path(top: Path):
    for name in (".venv", "venv"):
        (virtual(top / name) / ".gitignore").write_text("*\n")
    assert found(top) == {".venv": "bin", "venv": ""}
    assert found(top, VIRTUAL_ENV=str(top / "venv")) == {".venv": "", "venv": "bin"}


def test_an_environment_outside_is_used_if_there_is_none_inside(top: Path, tmp_path: Path):
    outside = virtual(tmp_path / "outside")
    assert found(top, VIRTUAL_ENV=str(outside)) == {str(outside): "bin"}
    assert found(top, CONDA_PREFIX=str(outside), CONDA_DEFAULT_ENV="base") == {}
    assert found(top, CONDA_PREFIX=str(outside), CONDA_DEFAULT_ENV="app") == {str(outside): "bin"}
    virtual(top / ".venv")
    assert found(top, VIRTUAL_ENV=str(outside)) == {".venv": "bin"}


def test_poetry_and_pdm_keep_theirs_elsewhere(top: Path, tmp_path: Path):
    mark = base64.urlsafe_b64encode(hashlib.sha256(os.fsencode(top)).digest()).decode()[:8]
    poetry = virtual(tmp_path / f"cache/pypoetry/virtualenvs/app-{mark}-py3.11")
    virtual(tmp_path / "cache/pypoetry/virtualenvs/other-AAAAAAAA-py3.11")
    assert found(top, XDG_CACHE_HOME=str(tmp_path / "cache")) == {str(poetry): "bin"}
    pdm = virtual(tmp_path / "pdm")
    (top / ".pdm-python").write_text(f"{pdm}/bin/python\n")
    assert found(top) == {str(pdm): "bin"}


def test_a_pointer_of_the_commit_or_to_no_environment_leads_nowhere(top: Path, tmp_path: Path):
    (tmp_path / "home").mkdir()
    (top / ".pdm-python").write_text(f"{tmp_path}/home/bin/python\n")
    assert found(top) == {}
    virtual(tmp_path / "pdm")
    (top / ".pdm-python").write_text(f"{tmp_path}/pdm/bin/python\n")
    git(top, "add", ".pdm-python")
    assert found(top) == {}


def test_a_submodule_that_was_fetched_is_shown_and_one_that_was_not_is_no_folder(top: Path, tmp_path: Path):
    data = make_repository(tmp_path / "data", {"a.json": "{}"})
    for name in ("tests/data", "tests/more"):
        git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(data), name)
    git(top, "submodule", "deinit", "-q", "-f", "tests/more")
    tracked = git(top, "ls-files").splitlines()
    [folder] = environment_folders(top, Git(top / ".git"), tracked, {})
    assert (folder.path, folder.programs) == ("tests/data", "")
    assert list(folder.credentials()) == [".git"]


# Editable installs


TRACKED = ("src/app/__init__.py", "libs/one/one.py", "flat/__init__.py")
FINDER = "from x import y\nMAPPING: dict[str, str] = {mapping}\nNAMESPACES: dict[str, list[str]] = {{}}\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "app/.venv/lib/python3.11/site-packages"
    folder.mkdir(parents=True)
    return folder


def imports(tmp_path: Path) -> tuple[str, ...]:
    folder = EnvironmentFolder(tmp_path / "app/.venv", ".venv", "bin")
    return dependencies([folder], [tmp_path / "app"], TRACKED).import_from


def test_lines_of_paths_lead_into_the_tree(site: Path, tmp_path: Path):
    (site / "_app.pth").write_text(f"{tmp_path}/app/src\n")
    (site / "one.egg-link").write_text(f"{tmp_path}/app/libs/one\n.")
    (site / "two.pth").write_text("../../../../libs/one\n")
    (site / "other.pth").write_text("import sys\n# a comment\n/opt/other\n")
    assert set(imports(tmp_path)) == {"src", "libs/one"}


def test_a_finder_leads_into_the_tree_if_names_and_folders_agree(site: Path, tmp_path: Path):
    app = f"{tmp_path}/app"
    mapping = {"app": f"{app}/src/app", "one": f"{app}/libs/one/one.py", "flat": f"{app}/flat"}
    (site / "__editable___app_finder.py").write_text(FINDER.format(mapping=mapping))
    (site / "__editable___odd_finder.py").write_text(FINDER.format(mapping={"odd": f"{app}/src/app"}))
    assert set(imports(tmp_path)) == {"src", "libs/one", "."}


@pytest.mark.parametrize("line", ["{top}/build/made", "{top}/.git", "{top}/src\n{top}/elsewhere"])
def test_what_the_commit_does_not_have_is_not_covered(site: Path, tmp_path: Path, line: str):
    (site / "app.pth").write_text(line.format(top=tmp_path / "app"))
    assert imports(tmp_path) == ()


def test_the_tree_comes_before_a_copy_that_is_installed(site: Path, tmp_path: Path):
    """On both back ends: a copy is the changed tree at no path."""
    for name in ("app", "tests", "other"):
        (site / name).mkdir()
        (site / name / "__init__.py").touch()
    (site / "flat").symlink_to(tmp_path)
    (site / "single.py").touch()
    folder = EnvironmentFolder(tmp_path / "app/.venv", ".venv", "bin")
    tracked = (*TRACKED, "tests/__init__.py", "single.py")
    dependencies_of_tree = dependencies([folder], [tmp_path / "app"], tracked)
    assert dependencies_of_tree.before_copies == ("src", ".")
    for moved in (True, False):
        variables = of_dependencies(dependencies_of_tree, "/tree", "/usr/bin", moved=moved)
        assert variables["PYTHONPATH"] == "/tree/src:/tree"


def test_a_link_or_a_pipe_in_its_place_is_not_opened(site: Path, tmp_path: Path):
    (tmp_path / "secret").write_text(f"{tmp_path}/app/src\n")
    (site / "app.pth").symlink_to(tmp_path / "secret")
    assert imports(tmp_path) == ()


# Where they are placed


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
